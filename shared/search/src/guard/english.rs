//! The English opt-out: a request to leave aside (`ignore`, `do not use`, `without`) what is known (`my
//! profile`, `what you know about me`, `personalization`).

/// A list of words, separated by single spaces.
struct Words(&'static str);

impl Words {
    fn contains(&self, word: &str) -> bool {
        self.0.split(' ').any(|known| known == word)
    }
}

const POSSESSIVES: Words = Words("my our");
const ADJECTIVES: Words = Words(
    "own saved stored past previous prior earlier personal user known remembered learned existing usual \
    old chat conversation custom",
);
/// What may be known about a user; singular, since a plural `s` is taken off first.
const KNOWN: Words = Words(
    "profile preference memory memories history personalization personalisation habit taste like data \
    information info background",
);
const PERSONALISATION: Words = Words(
    "personalization personalisation personalized personalised personalizing personalising personalize \
    personalise",
);
/// What may follow a personalised something.
const PERSONALISED_THINGS: Words = Words(
    "the these my your results answers answer responses response context memory memories suggestions \
    recommendations this it anything content",
);
/// A noun followed by another word than these is the beginning of a longer name (`my profile settings page`).
const AFTER: Words = Words(
    "for when while in and or here now this today please on at to but just from into as with if because \
    since then entirely completely altogether instead thanks you that during anymore again only about \
    i so by unless even until except any whatsoever",
);
const FILLERS: Words = Words("any all of the in on from at to for anything everything");
const USING: Words = Words(
    "use using consider considering apply applying rely relying look looking take taking refer \
    referring reference referencing access accessing consult consulting read reading include including \
    check checking search searching incorporate incorporating assume load mention factor factoring \
    involve",
);
const IGNORING: Words = Words(
    "ignore ignoring disregard disregarding exclude excluding omit omitting bypass bypassing skip \
    forget",
);
/// Words before a request that leave it one.
const LEADS: Words = Words(
    "please kindly just and but then so also now instead ok okay hey hi hello simply always time once \
    today question query request pls",
);
const MODALS: Words = Words("can could would will should must may might to");
/// A clause that begins so tells or asks about something.
const REPORTS: Words = Words(
    "why how does did doesn't didn't is are was were it it's they he she who where which when whether \
    what has have had",
);

pub(super) fn opts_out(query: &str) -> bool {
    // Apostrophes and hyphens stay inside words; any other mark ends a clause, and a request begins one.
    let ends_clause =
        |c: char| !(c.is_alphanumeric() || c.is_whitespace() || c == '\'' || c == '-' || c == '"');
    query.split(ends_clause).any(|clause| {
        let clause = clause.replace('"', " ");
        let words: Vec<&str> = clause.split_whitespace().collect();
        (0..words.len()).any(|object| is_known(&words[object..]) && is_left_aside(&words, object))
            || asks_for_a_stranger(&words)
    })
}

/// `pretend you don't know me`, `as if you knew nothing about me`, `a non-personalized answer`.
fn asks_for_a_stranger(words: &[&str]) -> bool {
    if words.first().is_some_and(|first| REPORTS.contains(first)) {
        return false;
    }
    let pretends = words.contains(&"pretend") || words.windows(2).any(|pair| pair == ["as", "if"]);
    let stranger = matches!(words, [.., "don't" | "didn't" | "not", "know", "me"])
        || matches!(
            words,
            [.., "know", "anything", "about", "me"] | [.., "knew" | "know", "nothing", "about", "me"]
        );
    let impersonal = |word: &&str| word.starts_with("non-personali") || word.starts_with("unpersonali");
    (pretends && stranger) || words.iter().any(impersonal)
}

/// Whether `words` begins with something known about the user.
fn is_known(words: &[&str]) -> bool {
    match words {
        [possessive, rest @ ..] if POSSESSIVES.contains(possessive) => {
            let adjectives = rest.iter().take_while(|word| ADJECTIVES.contains(word)).count();
            let Some((noun, after)) = rest[adjectives..].split_first() else { return false };
            let singular = noun.strip_suffix('s').unwrap_or(noun);
            (KNOWN.contains(noun) || KNOWN.contains(singular)) && ends(after)
        }
        [word, rest @ ..] if PERSONALISATION.contains(word) => {
            ends(rest) || rest.first().is_some_and(|thing| PERSONALISED_THINGS.contains(thing))
        }
        [
            "what" | "whatever" | "everything" | "anything" | "all" | "things" | "information" | "info"
            | "data" | "memory" | "memories" | "knowledge" | "context",
            rest @ ..,
        ] => is_about_me(rest),
        _ => false,
    }
}

/// `you know about me`, `that you have learned about me`, `stored about me`, `about me`.
fn is_about_me(words: &[&str]) -> bool {
    let verbs = [
        "that",
        "you",
        "you've",
        "have",
        "had",
        "already",
        "know",
        "knew",
        "learned",
        "learnt",
        "remember",
        "remembered",
        "saved",
        "stored",
        "gathered",
        "collected",
        "may",
        "might",
        "we",
        "about",
    ];
    let about = words.iter().take_while(|word| verbs.contains(word)).count();
    about > 0 && words[about - 1] == "about" && words.get(about) == Some(&"me")
}

fn ends(after: &[&str]) -> bool {
    after.first().is_none_or(|word| AFTER.contains(word))
}

/// Whether what stands before the known thing asks to leave it aside.
fn is_left_aside(words: &[&str], object: usize) -> bool {
    let before = &words[..object];
    let asks = !words.first().is_some_and(|first| REPORTS.contains(first));
    let why = words.contains(&"why");
    let verb = trimmed(before);
    match verb {
        [.., "without" | "sans"] | [.., "regardless" | "irrespective" | "independent"] => !why,
        [start @ .., "forget" | "ignore" | "stop" | "disable" | "don't" | "dont"]
            if words[object].starts_with("personali") =>
        {
            asks && begins_request(start)
        }
        [.., "don't" | "dont" | "not", "want" | "need"] if words[object].starts_with("personali") => !why,
        [start @ .., "do" | "please", "not"] if words[object].starts_with("personali") => {
            asks && begins_request(start)
        }
        [start @ .., "no" | "not"] if before.len() == verb.len() => {
            asks && words[object].starts_with("personali")
                && (start.is_empty() || start.last() == Some(&"please"))
        }
        [start @ .., "turn" | "switch", "off"] | [start @ .., "opt", "out"] => {
            asks && (begins_request(start) || start.last() == Some(&"to"))
        }
        [start @ .., "set" | "leave" | "put", "aside" | "out"] => asks && begins_request(start),
        [start @ .., verb] if IGNORING.contains(verb) => asks && begins_request(start),
        _ => asks_not_to_use(verb, asks, why),
    }
}

/// `do not use`, `stop using`, `without looking at`, `don't base this on`.
fn asks_not_to_use(verb: &[&str], asks: bool, why: bool) -> bool {
    let based = verb.iter().rposition(|word| matches!(*word, "base" | "basing" | "tailor" | "tailoring"));
    let using = match verb.split_last() {
        Some((last, start)) if USING.contains(last) => start,
        _ => match based {
            Some(at) => &verb[..at],
            None => return false,
        },
    };
    match using {
        [.., "without"] | [.., "don't" | "dont" | "not", "want" | "need", "you", "to"] => !why,
        [.., "rather", "you", "didn't" | "don't"] => true,
        [start @ .., "do" | "should" | "must" | "need", "not"] => asks && begins_request(start),
        [start @ .., "don't" | "dont" | "never" | "not" | "stop" | "avoid"] => asks && begins_request(start),
        [start @ .., "refrain", "from"] => asks && begins_request(start),
        _ => false,
    }
}

/// `words` without the small words at its end.
fn trimmed<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    let fillers = words.iter().rev().take_while(|word| FILLERS.contains(word)).count();
    let trimmed = &words[..words.len() - fillers];
    match trimmed {
        [start @ .., "forget", "about"] => &trimmed[..=start.len()],
        _ => trimmed,
    }
}

/// Whether a verb right after `words` is a request: at the beginning, or after `please`, `can you`, `you must`.
fn begins_request(words: &[&str]) -> bool {
    match words {
        [] => true,
        [.., modal, "you" | "we"] if MODALS.contains(modal) => true,
        [.., "you" | "we", modal] if MODALS.contains(modal) => true,
        [.., last] => LEADS.contains(last),
    }
}
