//! "I have …", "I've been …" and what happened once: family, animals, conditions, appointments, moves.

use domain::entities::ProfileTimeToLive::{Infinity, OneMonth, OneQuarter, OneYear};

use super::{is_vague, third_person};
use crate::pattern::patterns;
use crate::profile::Fact;
use crate::profile::dates::Leaning;
use crate::text::capitalised;

patterns! {
    I_HAVE = r"^(?:i have|i've got|i've|we have|we've got|i've also got|i also have|i do have|i got) (?P<x>.+)$";
    FAMILY = r"^(?:(?:an?|one|two|three|four|five|six|no|\d{1,2}|several|twin) )?(?:[\w-]+ ){0,3}(?:kids?|children|child|sons?|daughters?|babies|baby|toddlers?|teenagers?|twins|grandchildren|grandkids|brothers?|sisters?|siblings?|dogs?|cats?|puppy|puppies|kittens?|rabbits?|parrots?|horses?|hamsters?|goldfish|tortoises?|turtles?|ferrets?|chickens|bees|pets?|greyhounds?|poodles?|labradors?|terriers?|spaniels?|wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|roommates?|nanny|car|van|motorbike|house|apartment|garden|allotment|boat|piano|degree|phd|mba|visa|green card|passport|subscription|membership|mac(?:book)?\S*|iphone|android phone|pixel|thinkpad|chromebook)\b.*$";
    CONDITION = r"^(?:(?:an?|severe|mild|bad|chronic|type \w+|a mild|a severe|a bad|a serious) )*(?:[\w-]+ )?(?:[\w-]+ allerg(?:y|ies)\b.*|allerg(?:y|ies) to .+|asthma|diabetes|celiac(?: disease)?|coeliac(?: disease)?|eczema|epilepsy|migraines?|arthritis|adhd|add|autism|dyslexia|anxiety|insomnia|hypertension|high blood pressure|sleep apn[oe]a|tinnitus|ibs|lupus|vertigo|hay fever|bad back|bad knees?|back pain|heart condition|pacemaker|food intoleranc\w+|fear of .+)$";
    STATUS = r"^(?:an? )?(?:gold|silver|platinum|diamond|bronze|premium|elite|executive|vip|titanium) (?:status|membership|card|tier)\b.*$";
    BUDGET = r"^(?:an? )?(?:[\w-]+ )?budget of .+$";
    APPOINTMENT = r"^(?:an? |my |our )?(?:[\w-]+ ){0,3}(?:meeting|appointment|interview|exam|flight|train|wedding|deadline|surgery|operation|presentation|concert|conference|trip|vacation|holiday|check-?up|class|lesson|shift|date|birthday|anniversary|call|race|marathon|dinner)s? (?:on|at|in|next|tomorrow|this|every|with|to|from|for|planned|scheduled|coming up|until|before|after|today|tonight)\b.*$";
    BEEN = r"^(?:i've|i have|we've|we have) (?:always |never )?been (?P<x>(?:(?:living|working|using|learning|studying|playing|teaching|training|running|married|vegan|vegetarian|single|divorced|sober|a member|a customer|with|at|diagnosed)\b).+|vegan|vegetarian|married)$";
    ONCE = r"^(?:i|we)(?:'ve| have)?(?: (?:just|recently|finally|already|also|both|once))? (?P<x>(?:moved|relocated|turned \d+|studied|majored in|worked (?:at|for|as)|switched|migrated|upgraded|converted|grew up|graduated|was born|were born|got married|got engaged|got divorced|got promoted|got a(?:n)? (?:new )?(?:job|dog|cat|puppy|kitten|promotion|degree)|got laid off|adopted|joined|retired|became|had a baby|had surgery|bought an? (?:new |used )?(?:house|car|apartment|flat|bike|laptop|phone|camera|boat|guitar|piano|home)|started (?:working|a new job|learning|studying|running|dating|taking|my|at|as)|quit|gave up|stopped (?:eating|drinking|smoking|using)|broke my|was diagnosed|lost my (?:job|luggage|baggage|passport|bag|suitcase|phone))\b.*)$";
    MOVED = r"\b(?:in|to|from|at|on|into|as) (?:it|this|that|the next|the other|another|plan)\b";
}

/// A fact of the form "I have …" or of something that happened.
pub(super) fn fact(clause: &str) -> Option<Fact> {
    if let Some(found) = BEEN.captures(clause) {
        return Some(Fact {
            leaning: Leaning::Past,
            ..Fact::lasting(format!("Has been {}", third_person(&found["x"])))
        });
    }
    if let Some(found) = ONCE.captures(clause) {
        let x = &found["x"];
        if MOVED.is_match(x) || is_vague(x) {
            return None;
        }
        let lower = x.to_lowercase();
        let ttl = match lower.split(' ').next() {
            Some("lost" | "broke") => OneMonth,
            Some("bought" | "upgraded") => OneYear,
            _ => Infinity,
        };
        return Some(Fact { leaning: Leaning::Past, ..Fact::new(capitalised(&third_person(x)), ttl) });
    }
    let found = I_HAVE.captures(clause)?;
    let x = &found["x"];
    let content = format!("Has {}", third_person(x));
    if APPOINTMENT.is_match(x) {
        return Some(Fact::event(content, OneMonth));
    }
    if BUDGET.is_match(x) {
        return Some(Fact::new(content, OneQuarter));
    }
    (FAMILY.is_match(x) || CONDITION.is_match(x) || STATUS.is_match(x)).then(|| Fact::lasting(content))
}
