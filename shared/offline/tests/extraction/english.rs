//! English sentences and what must be read from them.

use crate::common::{check, facts, playbooks_of, rules};

/// Sentence, expected facts in order. The sentences are said on Wednesday 2025-06-11.
const FACTS: &[(&str, &[&str])] = &[
    // Who.
    ("Hi, my name is Oluwaseun Adeyemi.", &["Name is Oluwaseun Adeyemi"]),
    ("Please call me Bea.", &["Prefers to be called Bea"]),
    ("My pronouns are they/them.", &["Pronouns are they/them"]),
    ("I'm 41 years old and my birthday is on March 3rd.", &["Is 41 years old", "Birthday is on March 3rd"]),
    ("By the way, my customer number is K-20931.", &["Customer number is K-20931"]),
    // Work.
    ("I work as a pediatric nurse at St. Vincent's.", &["Works as a pediatric nurse at St. Vincent's"]),
    ("I'm a structural engineer.", &["Is a structural engineer"]),
    ("I work nights, so mornings are hard for me.", &["Works nights"]),
    ("We use Jira and Confluence at the office.", &["Uses Jira and Confluence at the office"]),
    ("My job title is head of logistics.", &["Job title is head of logistics"]),
    ("I joined Globex last month.", &["Joined Globex in 2025-05"]),
    ("I no longer work at Initech.", &["No longer works at Initech"]),
    // Where.
    ("I live in Porto, but I grew up in Recife.", &["Lives in Porto", "Grew up in Recife"]),
    ("My home airport is OSL.", &["Home airport is OSL"]),
    ("I usually fly out of Gatwick.", &["Usually flies out of Gatwick"]),
    ("We moved to Utrecht two weeks ago.", &["Moved to Utrecht on 2025-05-28"]),
    // Family and animals.
    ("My daughter Lea is allergic to peanuts.", &["Daughter Lea is allergic to peanuts"]),
    ("I have two cats and a tortoise.", &["Has two cats and a tortoise"]),
    ("My dog's name is Biscuit.", &["Dog's name is Biscuit"]),
    ("I'm a single father of three.", &["Is a single father of three"]),
    // Body and food.
    ("I'm allergic to penicillin.", &["Is allergic to penicillin"]),
    ("I don't eat pork or shellfish.", &["Does not eat pork or shellfish"]),
    ("I have type 1 diabetes.", &["Has type 1 diabetes"]),
    ("I've been vegan for six years.", &["Has been vegan for six years"]),
    ("I'm lactose intolerant, can you suggest a dessert?", &["Is lactose intolerant"]),
    // Tastes.
    ("I prefer aisle seats.", &["Prefers aisle seats"]),
    ("I really love hiking in the Dolomites.", &["Loves hiking in the Dolomites"]),
    ("I can't stand cilantro!", &["Cannot stand cilantro"]),
    ("My favourite colour is teal.", &["Favourite colour is teal"]),
    ("I'd rather not fly at night.", &["Would rather not fly at night"]),
    ("I don't like horror films.", &["Does not like horror films"]),
    ("I'm a huge fan of brutalist architecture.", &["Likes brutalist architecture"]),
    // Languages, contact, money.
    ("I speak Tagalog and some Spanish.", &["Speaks Tagalog and some Spanish"]),
    ("My native language is Basque.", &["Native language is Basque"]),
    ("Please email me instead of calling.", &["Wants to be emailed instead of calling"]),
    ("Don't call me before 10 am.", &["Does not want to be called before 10 am"]),
    ("My budget is 900 euros.", &["Budget is 900 euros"]),
    ("I can't spend more than $400 on it.", &["Cannot spend more than $400 on it"]),
    ("As a Platinum member, do I get lounge access?", &["Is a Platinum member"]),
    ("I always pay with PayPal.", &["Always pays with PayPal"]),
    ("Please charge my Visa ending in 4242.", &["Wants to pay with their Visa"]),
    // Tools.
    ("I use Neovim on Arch Linux.", &["Uses Neovim on Arch Linux"]),
    ("I switched from Slack to Zulip.", &["Switched from Slack to Zulip"]),
    // Dates.
    ("I'm flying to Oslo next Friday.", &["Is flying to Oslo on 2025-06-13"]),
    ("I have a dentist appointment tomorrow.", &["Has a dentist appointment on 2025-06-12"]),
    ("My lease ends on August 31.", &["Lease ends on 2025-08-31"]),
    ("I'm planning to visit Ghent in two weeks.", &["Plans to visit Ghent on 2025-06-25"]),
    (
        "I leave for Oulu on July 3rd and come back on July 10th.",
        &["Leaves for Oulu on 2025-07-03 and comes back on 2025-07-10"],
    ),
    ("My cousin is staying with us until next Sunday.", &["Cousin is staying with them until 2025-06-15"]),
    // Sloppy, and several at once.
    ("im gluten free", &["Is gluten free"]),
    (
        "I'm Radu, a tax lawyer from Cluj, and I mostly use LibreOffice.",
        &["Name is Radu", "Is a tax lawyer from Cluj", "Mostly uses LibreOffice"],
    ),
    ("I'm based in Tartu and work remotely for a bank.", &["Is based in Tartu", "Works remotely for a bank"]),
    ("Can you remember that I prefer dark mode?", &["Prefers dark mode"]),
    // Corrections.
    ("Actually my name is spelled Kathryn, not Katherine.", &["Name is Kathryn"]),
    ("I swim on Mondays. Scratch that, I swim on Tuesdays.", &["Swims on Tuesdays"]),
    ("Actually, I live in Braga.", &["Lives in Braga"]),
    ("No, my flight is from BOS.", &["Flight is from BOS"]),
    // Lists and conditions.
    ("- I'm left-handed", &["Is left-handed"]),
    ("When I travel, I prefer trains.", &["Prefers trains when they travel"]),
];

/// Sentences that say nothing lasting about the user.
const NO_FACTS: &[&str] = &[
    "Do you know whether I like figs?",
    "What if I lived in Rome?",
    "If I were vegan, what would I cook?",
    "Suppose I work at a bank.",
    "I wish I lived by the sea.",
    "I used to live in Lima.",
    "Oh great, I just love waiting on hold.",
    "Yeah right, I love paying extra fees.",
    "My sister's friend says I like jazz too much.",
    "She said I prefer tea.",
    "Can you help me with my booking?",
    "I have a question about my invoice.",
    "I need help with this.",
    "I like that.",
    "I like the second option better.",
    "I love it, thanks!",
    "Thanks, that's all I needed.",
    "I don't remember the code.",
    "My password is hunter2 and I use it everywhere.",
    "My card number is 4111 1111 1111 1111.",
    "My order number is wrong.",
    "I'm sorry, I'm not sure.",
    "I might move to Malta.",
    "Don't cancel my flight.",
    "Let's pretend I'm a pirate who loves rum.",
    "In my novel, I live on Mars.",
    "Translate this: I live in Rome and I love pasta.",
    "He told me \"I really love living in Rome these days\".",
    "I'm looking for a restaurant.",
    "I'm wondering about the weather.",
    "I thought I had paid.",
    "I think I prefer the blue one.",
    "I want to go home.",
    "I'm calling about my order 12345.",
    "I love how fast you are!",
];

#[test]
fn english_statements_become_facts() {
    check(FACTS.iter().map(|(sentence, expected)| {
        let expected: Vec<String> = expected.iter().map(|fact| (*fact).to_owned()).collect();
        ((*sentence).to_owned(), facts(sentence), expected)
    }));
}

#[test]
fn english_sentences_without_a_statement_yield_nothing() {
    check(NO_FACTS.iter().map(|sentence| ((*sentence).to_owned(), facts(sentence), Vec::new())));
}

/// Sentence, trigger, rule.
const RULES: &[(&str, &str, &str)] = &[
    ("From now on, quote prices in euros.", "When answering this user", "Quote prices in euros."),
    (
        "Always double-check the return date.",
        "When double-checking the return date for this user",
        "Always double-check the return date.",
    ),
    (
        "Please never book red-eye flights.",
        "When booking red-eye flights for this user",
        "Never book red-eye flights.",
    ),
    ("Please don't use emojis.", "When answering this user", "Do not use emojis."),
    (
        "Stop sending me newsletters.",
        "When sending the user newsletters",
        "Avoid sending the user newsletters.",
    ),
    (
        "Next time, ask me before you change anything.",
        "When answering this user",
        "Ask the user before you change anything.",
    ),
    (
        "Whenever I paste a stack trace, explain the root cause first.",
        "Whenever the user pastes a stack trace",
        "Explain the root cause first.",
    ),
    (
        "If you are not sure, say so instead of guessing.",
        "If you are not sure",
        "Say so instead of guessing.",
    ),
    (
        "Keep your answers under three sentences.",
        "When answering this user",
        "Keep your answers under three sentences.",
    ),
    ("Please reply in Portuguese.", "When answering this user", "Reply in Portuguese."),
    ("I prefer short answers.", "When answering this user", "Give short answers."),
    (
        "Our app runs on Linux, please never suggest Windows tools.",
        "When suggesting Windows tools for this user",
        "Never suggest Windows tools.",
    ),
    ("Before deploying, run the smoke tests.", "Before deploying", "Run the smoke tests."),
    ("I'd appreciate it if you used simple words.", "When answering this user", "Use simple words."),
    ("Could you stop using emojis?", "When answering this user", "Avoid using emojis."),
    ("I'd rather you didn't apologize so much.", "When answering this user", "Do not apologize so much."),
];

/// Sentences that instruct only for the moment, or not at all.
const NO_RULES: &[&str] = &[
    "Don't worry about it.",
    "Please don't book it yet.",
    "Don't cancel my flight.",
    "I always take the bus.",
    "I never eat breakfast.",
    "Can you check my order?",
    "Please book the first one.",
    "If there's any other way, please let me know.",
    "Why do you always ask for my ID?",
    "Don't forget that I'm allergic to nuts.",
    "Please don't store my phone number.",
    "From now on I will pay by card.",
    "In the future I want to visit Peru.",
    "Always use tabs... never mind.",
];

#[test]
fn english_instructions_become_rules() {
    check(RULES.iter().map(|(sentence, trigger, content)| {
        let expected = vec![((*trigger).to_owned(), (*content).to_owned())];
        ((*sentence).to_owned(), rules(&[("user", sentence)]), expected)
    }));
    let found = playbooks_of(&[("user", RULES[0].0)]);
    assert_eq!(found[0].evidence, ["t1"]);
}

#[test]
fn english_sentences_without_an_instruction_yield_no_rule() {
    check(NO_RULES.iter().map(|sentence| ((*sentence).to_owned(), rules(&[("user", sentence)]), Vec::new())));
}

/// What the user says after an answer of the agent, and the rule.
const REACTIONS: &[(&str, &str)] = &[
    ("No, use euros.", "Use euros."),
    ("I asked for a direct flight, not a connecting one.", "Give a direct flight, not a connecting one."),
    ("You should have checked the return date first.", "Check the return date first."),
    ("Why didn't you check the calendar first?", "Check the calendar first."),
    ("That is not correct, the invoice should include VAT.", "The invoice should include VAT."),
    ("You forgot to include the tax.", "Include the tax."),
    ("That's wrong, don't round the totals.", "Do not round the totals."),
    ("I don't want to be called about this.", "Do not call the user about this unless they ask for it."),
    (
        "None of those hotels work for me because I need parking.",
        "Before making an offer, check it against what the user said: the user needs parking.",
    ),
];

#[test]
fn reactions_to_an_answer_become_rules() {
    let after =
        |sentence| [("user", "Can you find an offer?"), ("assistant", "Here it is."), ("user", sentence)];
    check(REACTIONS.iter().map(|(sentence, content)| {
        let found = rules(&after(sentence)).into_iter().map(|(_, content)| content).collect();
        ((*sentence).to_owned(), found, vec![(*content).to_owned()])
    }));
    let found = playbooks_of(&after(REACTIONS[0].0));
    assert_eq!(found[0].evidence, ["t2", "t3"]);
}
