//! Names, pronouns and account identifiers.

use domain::entities::ProfileTimeToLive::{Infinity, OneQuarter};

use crate::pattern::patterns;
use crate::profile::Fact;
use crate::text::capitalised;

const NAME: &str =
    r"(?-i:\p{Lu}[\p{L}'.-]*(?: (?:de|van|von|da|di|la|le|del|bin|al|el|der|\p{Lu}[\p{L}'.-]*)){0,3})";

patterns! {
    MY_NAME = format!(r"^my (?P<k>(?:full |first |last |legal |preferred |middle |real |nick)?name)(?:'s| is)(?: actually| now)?(?: spelled| spelt| written)? (?P<x>{NAME}|[\p{{L}}'-]{{2,20}})(?:,? not .+| now| and .+|,.*)?$");
    CALL_ME = format!(r"^(?:(?:please|you can|just|everyone|people) |i (?:go by|prefer to be called|like to be called|am called) |i'm called )+(?:calls? me )?(?P<x>{NAME})(?:,? not .+| instead| from now on)?$");
    CALL_ME_BARE = format!(r"^call me (?P<x>{NAME})(?:,? not .+| instead| from now on)?$");
    I_AM = format!(r"^(?:i'm|i am|this is) (?P<x>{NAME})(?: speaking| here|,? from .+|,? and .+)?$");
    NO_NAME = r"^(?:sorry|fine|ok|okay|good|great|happy|glad|sure|here|back|done|ready|not|so|very|also|vegan|vegetarian|kosher|halal|gold|silver|platinum|diamond|premium|american|british|english|german|french|spanish|italian|japanese|chinese|korean|indian|mexican|brazilian|canadian|australian|dutch|polish|swedish|norwegian|danish|finnish|portuguese|greek|turkish|russian|ukrainian|irish|scottish|swiss|austrian|belgian|jewish|muslim|christian|hindu|buddhist|catholic|adhd|diabetic|bored|tired|confused|interested|wrong|spelled|misspelled|missing|on|in|from|late|great|urgent|important|correct|right|wednesday|monday|tuesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december|my|your|the|an?|it|now|really|just|still|too|aa|ios|android|linux|windows|macos)\b";
    PRONOUNS = r"^my pronouns are (?P<x>[a-z]+ ?/ ?[a-z]+(?: ?/ ?[a-z]+)?)$";
    ACCOUNT = r"^(?:my|the) (?P<k>(?:user|account|customer|member(?:ship)?|employee|client|patient|student|loyalty|frequent[- ]flyer|driver)(?: ?(?:id|number|name|no\.?))|user ?name) (?:is|:|=)(?: also)? (?P<x>[\w.@-]{3,40})$";
    DOCUMENT = r"^(?:my|the) (?P<k>(?:order|reservation|booking|confirmation|ticket|case|tracking|invoice|policy)(?: (?:id|number|code|no\.?|reference))) (?:is|:|=) (?P<x>[\w-]{3,30})$";
}

/// A name or an identifier.
pub(super) fn fact(clause: &str) -> Option<Fact> {
    if let Some(found) = MY_NAME.captures(clause) {
        return named(&found["x"])
            .map(|x| Fact::lasting(format!("{} is {x}", capitalised(&found["k"].to_lowercase()))));
    }
    if let Some(found) = CALL_ME_BARE.captures(clause).or_else(|| CALL_ME.captures(clause)) {
        return named(&found["x"]).map(|x| Fact::lasting(format!("Prefers to be called {x}")));
    }
    if let Some(found) = I_AM.captures(clause) {
        return named(&found["x"]).map(|x| Fact::lasting(format!("Name is {x}")));
    }
    if let Some(found) = PRONOUNS.captures(clause) {
        return Some(Fact::lasting(format!("Pronouns are {}", &found["x"])));
    }
    let (found, ttl) = match ACCOUNT.captures(clause) {
        Some(found) => (found, Infinity),
        None => (DOCUMENT.captures(clause)?, OneQuarter),
    };
    // "My order number is wrong" names no number.
    let x = &found["x"];
    let kind = found["k"].to_lowercase().replace(" id", " ID");
    x.contains(|c: char| c.is_ascii_digit() || c == '_' || c == '@')
        .then(|| Fact::new(format!("{} is {x}", capitalised(&kind)), ttl))
}

fn named(name: &str) -> Option<String> {
    (!NO_NAME.is_match(name)).then(|| capitalised(name))
}
