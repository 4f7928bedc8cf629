//! Reading text: what of it is the user's own words, and where its sentences end.

mod mask;
mod segment;
mod words;

pub(crate) use segment::{Language, Sentence, sentences};
pub(crate) use words::{capitalised, cut_chars, fold, lower_first};
