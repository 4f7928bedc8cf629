//! The rules of single values, in pydantic's lax mode: numbers may come as text, booleans as `"yes"` or 1,
//! but a number is never taken for text.

mod choices;
mod composite;
mod numbers;
mod text;

pub use choices::{Choice, choice, literal, source_label};
pub use composite::{json_object, list, nullable, texts, valid_json_object};
pub use numbers::{Bounds, POSITIVE, UNIT_INTERVAL, boolean, integer, number};
pub use text::{
    IDENTIFIER_CHARS_MAX, any_text, borrowed, bounded, digest, identifier, non_blank, non_blank_bounded,
    pattern_mismatch, prompt, sanitized, sized, text,
};
