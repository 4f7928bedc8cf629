//! How a window is shown to a model: one text, and the map from the labels in it back to the interactions.

pub mod evidence;
pub mod labels;
pub mod reading;
pub mod text;
pub mod transcript;

pub use evidence::{EvidenceMap, EvidenceTurn, Resolved};
pub use transcript::{Transcript, Turn, transcript};
