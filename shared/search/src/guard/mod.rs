//! Queries by which a user asks to be answered as a stranger.
//!
//! Such a query takes profiles and user playbooks out of a search. It has to be a request (`please ignore my
//! preferences`), not a report or a question about the product (`why does it ignore my preferences?`): a wrong
//! yes hides what was asked for, a wrong no uses what was not to be used. English, Chinese and Japanese are read.

mod chinese;
mod english;
mod japanese;

use crate::tokenize::normalise;

/// Whether `query` asks not to use what is known about the user.
#[must_use]
pub fn opts_out_of_personalisation(query: &str) -> bool {
    let query = normalise(query);
    english::opts_out(&query) || chinese::opts_out(&query) || japanese::opts_out(&query)
}

/// `text` without the first of `beginnings` that it begins with.
fn strip_any<'a>(text: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    beginnings.iter().find_map(|beginning| text.strip_prefix(beginning))
}

/// `text` without everything in `fillers` that it begins with.
fn skip_all<'a>(mut text: &'a str, fillers: &[&str]) -> &'a str {
    while let Some(rest) = strip_any(text, fillers) {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests;
