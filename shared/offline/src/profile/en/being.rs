//! "I'm …": work, family, diet, health, membership, and where and when.

use domain::entities::ProfileTimeToLive::{Infinity, OneMonth, OneQuarter, OneWeek};

use super::{is_vague, third_person};
use crate::pattern::patterns;
use crate::profile::Fact;

const JOB: &str = r"(?:engineer|developer|programmer|designer|architect|manager|nurse|doctor|physician|surgeon|dentist|pharmacist|therapist|psychologist|teacher|professor|lecturer|tutor|student|researcher|scientist|biologist|chemist|physicist|analyst|accountant|auditor|banker|trader|broker|lawyer|attorney|paralegal|judge|journalist|reporter|writer|author|editor|translator|interpreter|artist|illustrator|photographer|musician|singer|drummer|guitarist|pianist|composer|actor|actress|dancer|director|producer|chef|cook|baker|barista|bartender|waiter|waitress|farmer|gardener|florist|carpenter|plumber|electrician|mechanic|welder|builder|contractor|driver|pilot|sailor|captain|soldier|veteran|officer|firefighter|paramedic|midwife|vet|veterinarian|librarian|consultant|advisor|administrator|admin|assistant|secretary|receptionist|clerk|cashier|salesperson|salesman|marketer|recruiter|founder|co-founder|ceo|cto|cfo|entrepreneur|freelancer|owner|landlord|tenant|intern|apprentice|trainee|postdoc|phd student|undergraduate|retiree|pensioner|homemaker|caregiver|carer|coach|trainer|referee|athlete|runner|cyclist|climber|swimmer|hairdresser|tailor|jeweller|potter|geologist|astronomer|economist|historian|mathematician|statistician|linguist|philosopher|priest|pastor|rabbi|imam|monk|nun|lead|technician|operator|inspector|surveyor|planner|organizer|organiser|buyer|agent|guard|detective)s?";
const PERSON: &str = r"(?:mother|mom|mum|father|dad|parent|grandmother|grandfather|grandparent|beginner|novice|expert|early bird|night owl|morning person|night person|(?:non-?)?smoker|vegan|vegetarian|pescatarian|flexitarian|carnivore|(?:light|heavy) sleeper|introvert|extrovert|homebody|perfectionist|wheelchair user|(?:native|fluent|bilingual) [a-z]+ speaker|(?:us |eu |uk |dual |[a-z]+ )?citizen|permanent resident)s?";
const DEMONYM: &str = "american|british|english|german|french|spanish|italian|japanese|chinese|korean|indian|mexican|brazilian|canadian|australian|dutch|polish|swedish|norwegian|danish|finnish|portuguese|greek|turkish|russian|ukrainian|irish|scottish|welsh|swiss|austrian|belgian|jewish|muslim|christian|hindu|buddhist|catholic|argentinian|chilean|colombian|peruvian|egyptian|moroccan|nigerian|kenyan|ethiopian|iranian|israeli|lebanese|thai|vietnamese|filipino|indonesian|malaysian|czech|hungarian|romanian|bulgarian|croatian|serbian";

patterns! {
    I_AM = r"^(?:i'm|i am|we're|we are) (?P<adv>(?:(?:now|currently|still|also|really|very|mostly|strictly|mildly|severely|deathly|highly|extremely|recently|newly|generally|usually|originally|always|actually|a little|a bit|only|both|quite|definitely|technically|severe) )*)(?P<not>not |no longer )?(?P<x>.+?)(?: now| currently| these days| at present)?$";
    ROLE = format!(r"^(?:an?|the) (?:[\w&/'-]+ ){{0,4}}(?:{JOB}|{PERSON})(?: (?:at|for|in|with|by|on|of|from|to|who|and|specializ\w+|working|based|trainee)\b.*)?$");
    MEMBER = r"^(?:an? )?(?P<tier>(?:[\w-]+ ){1,4}(?:member|subscriber|customer|cardholder|status holder))(?: .*)?$";
    TIER = r"\b(?:gold|silver|platinum|diamond|bronze|premium|pro|plus|prime|elite|vip|executive|titanium|emerald|sapphire|ruby|regular|business|enterprise|free|basic|student|lifetime|long-?time|first-?time|new|returning|loyal|team|family)\b";
    STATE = format!(r"^(?:allergic to .+|intolerant (?:to|of) .+|(?:lactose|gluten|histamine|fructose)[- ]intolerant|vegan|vegetarian|pescatarian|kosher|halal|gluten[- ]free|dairy[- ]free|nut[- ]free|diabetic(?:,? type \w+)?|asthmatic|ana?emic|celiac|coeliac|colou?r-?blind|deaf|blind|hard of hearing|dyslexic|autistic|neurodivergent|claustrophobic|epileptic|left-handed|right-handed|ambidextrous|sensitive to .+|(?:afraid|scared|terrified) of .+|married|single|divorced|engaged|widowed|in a relationship|retired|self-employed|unemployed|between jobs|freelanc\w+|bilingual|trilingual|fluent in .+|proficient in .+|native in .+|based (?:in|out of|near|at) .+|living (?:in|near|with|at) .+|located in .+|from (?-i:\p{{Lu}}).*|from [a-z]{{4,}}|born in .+|(?:\d{{1,2}}|twenty|thirty|forty|fifty|sixty|seventy|eighty)(?:-\w+)?(?: years old| y/?o)?|(?:{DEMONYM})|\d{{3}} ?cm(?: tall)?|\d['′]\d{{1,2}}\S?(?: tall)?|into (?:[a-z]+ ?){{1,5}}|keen on .+|passionate about .+|used to .+|obsessed with .+|good at .+|bad at .+|new to .+|interested in .+|on a (?:[\w-]+ ){{1,3}}diet|on (?:a (?:tight|limited|fixed|small|shoestring) budget|insulin|antibiotics|macos|windows|linux|android|ios|ubuntu|debian|fedora|medication.*|blood thinners)|in (?:marketing|sales|finance|hr|it|product|engineering|operations|logistics|consulting|education|healthcare|retail|hospitality|law|publishing|advertising)|an? (?:big |huge |massive |great )?fan of .+|an? only child|using (?-i:\p{{Lu}}).*|running (?-i:\p{{Lu}}).*|working (?:as|at|for|in|with|from|on|nights|days|part-time|full-time|remotely|freelance)\b.*|employed (?:at|by) .+|learning .+|studying .+|majoring in .+|teaching .+|training for .+|preparing for .+|saving (?:up )?for .+|building (?:an?|my|our) .+|writing an? (?:book|novel|thesis|dissertation|paper).*|recovering from .+)$");
    FAN = r"^an? (?:big |huge |massive |great )?fan of (?P<x>.+)$";
    TIMED = r"^(?:an? )?(?:travel(?:l)?ing|flying|driving|going|moving|relocating|visiting|leaving|arriving|returning|staying|meeting|starting|getting|having|running|hosting|attending|taking|launching|presenting|speaking|graduating|retiring|expecting|pregnant|due|available|free|busy|off|out of (?:the )?(?:office|town)|away|on (?:vacation|holiday|leave|parental leave|maternity leave|paternity leave|sick leave|a business trip|call)|in (?-i:\p{Lu}))\b.*$";
    ANCHORED = r"\b(?:\d{1,2}(?::\d\d)? ?(?:am|pm|a\.m|p\.m|h)?|monday|tuesday|wednesday|thursday|friday|saturday|sunday|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays|weekends?|weekdays?|mornings?|evenings?|afternoons?|nights?|tomorrow|today|tonight|next|january|february|march|april|may|june|july|august|september|october|november|december|until|till|spring|summer|autumn|fall|winter|christmas|easter)\b|(?-i:\b(?:to|in|from|for|with|at) \p{Lu})";
    SEASON = r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|fall|winter)\b";
    PASSING = r"\b(?:wondering|looking|having (?:trouble|issues?|problems?|difficulty)|getting (?:an?|the|this|some|errors?)|trying|calling|writing to|reaching|asking|confused|sorry|afraid (?:i|that|not)|working on (?:it|this|that)|going to (?:need|have|ask|check|try)|taking (?:a look|this)|interested in (?:the|this|that|your|any|getting|hearing|knowing)|(?:good|bad) at (?:this|that|it)|new to (?:this|that|it)|used to (?:it|this|that))\b";
}

/// A fact of the form "I'm …".
pub(super) fn fact(clause: &str) -> Option<Fact> {
    let found = I_AM.captures(clause)?;
    let (x, adverbs) = (&found["x"], found["adv"].to_lowercase());
    let adverbs: String = adverbs
        .split_whitespace()
        .filter(|word| !matches!(*word, "now" | "actually" | "definitely" | "really" | "also"))
        .fold(String::new(), |all, word| all + word + " ");
    let not = found
        .name("not")
        .map_or("", |not| if not.as_str().eq_ignore_ascii_case("not ") { "not " } else { "no longer " });
    if PASSING.is_match(x) {
        return None;
    }
    if let Some(fan) = FAN.captures(x) {
        let verb = if not.is_empty() { "Likes" } else { "Does not like" };
        return (!is_vague(&fan["x"])).then(|| Fact::lasting(format!("{verb} {}", third_person(&fan["x"]))));
    }
    let member = MEMBER.captures(x).is_some_and(|member| TIER.is_match(&member["tier"]));
    if member || ROLE.is_match(x) {
        let article = if x.to_lowercase().starts_with(['a', 't']) { "" } else { "a " };
        return Some(Fact::lasting(format!("Is {not}{adverbs}{article}{}", third_person(x))));
    }
    let content = format!("Is {not}{adverbs}{}", third_person(x));
    if STATE.is_match(x) {
        let passing =
            ["learning", "studying", "training", "preparing", "saving", "building", "writing", "recovering"];
        let ttl =
            if passing.iter().any(|verb| x.to_lowercase().starts_with(verb)) { OneQuarter } else { Infinity };
        let place = x.to_lowercase().starts_with("interested in").then_some(OneMonth);
        return Some(Fact::new(content, place.unwrap_or(ttl)));
    }
    let habitual =
        ["usually", "generally", "always", "only", "mostly"].iter().any(|word| adverbs.contains(word));
    if !TIMED.is_match(x) || !ANCHORED.is_match(x) || is_vague(x) {
        return None;
    }
    // A month or a season is no date to count to.
    let ttl = if SEASON.is_match(x) { OneQuarter } else { OneWeek };
    Some(if habitual { Fact::lasting(content) } else { Fact::event(content, ttl) })
}
