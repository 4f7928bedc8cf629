//! The offline embedder: a table of token vectors, used in place.

mod table;
mod wordpiece;

pub use table::{EMBEDDING_TOKENS_MAX, OFFLINE_DIMENSIONS, StaticEmbedder, cosine};
