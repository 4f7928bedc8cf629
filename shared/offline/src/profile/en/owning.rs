//! "My … is …": relatives, things, habits of contact, and dates.

use domain::entities::ProfileTimeToLive::{Infinity, OneMonth, OneQuarter};

use super::{is_vague, third_person};
use crate::pattern::patterns;
use crate::profile::Fact;
use crate::profile::dates::Leaning;
use crate::text::capitalised;

const RELATIVE: &str = r"(?:(?:older |younger |little |big |late |ex-?|eldest |youngest |oldest |new |\w+-year-old |other )?(?:wife|husband|partner|spouse|girlfriend|boyfriend|fianc[eé]e?|sons?|daughters?|kids?|child(?:ren)?|baby|toddler|mother|father|mom|mum|dad|parents|brothers?|sisters?|twins?|grandmother|grandfather|grandma|grandpa|aunt|uncle|cousin|niece|nephew|in-laws|mother-in-law|father-in-law|roommate|flatmate|dogs?|cats?|puppy|kitten|rabbit|parrot|horse|hamster|tortoise|pets?))";
const KEPT: &str = r"(?:home airport|(?:nearest|local|preferred|usual|closest) airport|e-?mail(?: address)?|phone(?: number)?|mobile(?: number)?|(?:maximum |max |total |monthly |weekly |travel )?budget|spending limit|limit|time ?zone|(?:home |billing |shipping |mailing |delivery |current |new |work )?address|zip ?code|postcode|home ?town|home city|city|country|birthday|(?:wedding )?anniversary|date of birth|pronouns|(?:native|first|second|mother|preferred|main) (?:language|tongue)|job(?: title)?|role|title|position|profession|occupation|employer|company|(?:work |personal |old |new |main |current |gaming )?(?:laptop|computer|phone|tablet|pc|machine|os|operating system|editor|ide|shell|keyboard|browser)|(?:tech )?stack|database|backend|frontend|framework|(?:programming )?language of choice|(?:shoe|shirt|dress|ring|trouser|hat) size|size|height|weight|blood type|(?:main |biggest |favou?rite )?hobb(?:y|ies)|(?:main |biggest |fitness )?goal|team|car|bike|camera|major|school|university|college|(?:working|office|business) hours|schedule|day off|days off|shift|commute|dietary (?:restrictions?|needs|preferences?|requirements?)|diet|allerg(?:y|ies)|(?:default |preferred |usual )payment method|payment method|seat preference|(?:preferred|usual|go-to|favou?rite) [\w -]{2,40}|nickname|star sign|religion|insurance|doctor|gym|bank)";
const DATED: &str = r"(?:(?:return |outbound |connecting |next |upcoming |recent |last |dental |doctor's )?(?:flight|trip|train|appointment|interview|meeting|wedding|exam|surgery|operation|vacation|holiday|deadline|due date|lease|visa|passport|subscription|contract|conference|presentation|move|graduation|check-?up|birthday party|start date|last day|hotel booking|order|package|delivery|luggage|baggage))";
const VERB: &str = r"(?:is|are|was|were|will be|has been|have been|starts?|ends?|leaves?|departs?|arrives?|begins?|expires?|runs out|got|goes|go)";

patterns! {
    FAMILY = format!(r"^my (?P<r>{RELATIVE})(?P<n>,? (?-i:\p{{Lu}}[\p{{L}}'-]+),?)? (?P<v>is|are|was|has|have|loves?|likes?|hates?|dislikes?|prefers?|lives?|works?|attends?|plays?|speaks?|eats?|drinks?|can't|cannot|doesn't|don't|turns|turned|studies|goes|go|teaches)\b(?P<x> .+)$");
    FAMILY_NAME = format!(r"^my (?P<r>{RELATIVE})'s (?P<k>name|birthday|favou?rite [\w ]{{2,20}}|diet|allergy|school|job) is (?P<x>.+)$");
    KEEPING = format!(r"^(?:my|our) (?P<k>{KEPT}) (?:(?P<v>is|are|will be|'s|has always been) )(?:also |now |actually |currently )*(?P<x>.+)$");
    FAVOURITE = r"^(?P<x>[^,]{2,60}?) (?:is|are) my (?:absolute |all-time )?(?P<k>favou?rite(?: [\w -]{2,30})?)$";
    EVENT = format!(r"^(?:my|our) (?P<k>{DATED})(?P<of> (?:to|from|with|for|at|in) [^,]{{2,40}}?)? (?P<v>{VERB}) (?P<x>.+)$");
    PASSING = r"\b(?:until|till|today|tonight|tomorrow|this (?:week|weekend|month)|next (?:week|month|\w+day))\b";
    EMPTY = r"^(?:not (?:working|showing|available|on|in|the|here)|broken|slow|wrong|missing|here|below|attached|correct|incorrect|gone|late|invalid|fine|ok|okay|good|bad|great|ready|full|empty|on file|in my|in the|to |that |still|unknown|private|listed|important|expired card|the same|different|what|confirmed|(?:really )?(?:bad|weird|annoying|stuck|acting|being)|being|getting|having|trying|asking|looking|really|so|too|very|an? (?:bit|lot|problem|mess|issue|question))\b";
    NOT_X = r",? not [^,]+$| again$";
}

/// A fact of the form "My … is …".
pub(super) fn fact(clause: &str) -> Option<Fact> {
    if let Some(found) = FAMILY_NAME.captures(clause) {
        let content =
            format!("{}'s {} is {}", capitalised(&found["r"]), &found["k"], third_person(&found["x"]));
        return usable(&found["x"]).then(|| Fact::lasting(content));
    }
    if let Some(found) = FAMILY.captures(clause) {
        let name = found.name("n").map_or("", |name| name.as_str());
        let x = third_person(&found["x"]);
        let content = format!(
            "{}{} {}{x}",
            capitalised(&found["r"]),
            name.trim_end_matches(','),
            &found["v"].to_lowercase()
        );
        let passing = PASSING.is_match(&found["x"]);
        return usable(&found["x"])
            .then(|| if passing { Fact::event(content, OneMonth) } else { Fact::lasting(content) });
    }
    if let Some(found) = EVENT.captures(clause) {
        return event(&found);
    }
    if let Some(found) = KEEPING.captures(clause) {
        let x = NOT_X.replace(&found["x"], "");
        let verb = if found["v"].to_lowercase().starts_with("are") { "are" } else { "is" };
        let content = format!("{} {verb} {}", capitalised(&found["k"].to_lowercase()), third_person(&x));
        let short = ["budget", "limit", "goal", "schedule", "shift"]
            .iter()
            .any(|word| found["k"].to_lowercase().contains(word));
        return usable(&x).then(|| Fact::new(content, if short { OneQuarter } else { Infinity }));
    }
    let found = FAVOURITE.captures(clause)?;
    let content = format!("{} is {}", capitalised(&found["k"].to_lowercase()), third_person(&found["x"]));
    (!is_vague(&found["x"])).then(|| Fact::lasting(content))
}

fn event(found: &regex::Captures<'_>) -> Option<Fact> {
    let of = found.name("of").map_or("", |of| of.as_str());
    let verb = found["v"].to_lowercase();
    let content = format!(
        "{}{} {verb} {}",
        capitalised(&found["k"].to_lowercase()),
        third_person(of),
        third_person(&NOT_X.replace(&found["x"], ""))
    );
    let past = ["was", "were", "has been", "have been", "got"].contains(&verb.as_str());
    let leaning = if past { Leaning::Past } else { Leaning::Future };
    usable(&found["x"]).then(|| Fact { leaning, ..Fact::event(content, OneMonth) })
}

fn usable(object: &str) -> bool {
    let object = object.trim();
    !EMPTY.is_match(object) && !is_vague(object)
}
