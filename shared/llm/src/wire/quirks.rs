//! What certain model families refuse, recognised by name.

use crate::types::ChatRequest;

/// The model's own name without the maker's, in lower case: `google/gemini-3-pro` → `gemini-3-pro`.
fn bare(model: &str) -> String {
    model.rsplit('/').next().unwrap_or(model).to_lowercase()
}

/// OpenAI's reasoning families: no temperature, and `max_completion_tokens` in place of `max_tokens`.
pub(crate) fn is_openai_reasoning(model: &str) -> bool {
    let model = bare(model);
    let mut letters = model.chars();
    let o_series = letters.next() == Some('o') && letters.next().is_some_and(|c| c.is_ascii_digit());
    model.starts_with("gpt-5") || o_series
}

/// The temperature to send: none where it is refused, 1 where nothing else is sensible.
pub(crate) fn temperature(model: &str, request: &ChatRequest) -> Option<f32> {
    if is_openai_reasoning(model) {
        None
    } else if bare(model).starts_with("gemini-3") {
        Some(1.0)
    } else {
        request.temperature
    }
}

/// Whether an embedding model can be asked for shorter vectors.
pub(crate) fn takes_dimensions(model: &str) -> bool {
    let model = bare(model);
    model.starts_with("text-embedding-3")
        || model.starts_with("gemini-embedding")
        || model.starts_with("text-embedding-v4")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_recognised_by_name_under_any_maker() {
        for model in ["gpt-5.5", "gpt-5-nano", "openai/gpt-5.4-mini", "o1", "o3-mini", "O4-mini"] {
            assert!(is_openai_reasoning(model), "{model}");
        }
        for model in ["gpt-4o", "gpt-4.1", "ollama", "opus", "qwen-plus", "claude-sonnet-4-6"] {
            assert!(!is_openai_reasoning(model), "{model}");
        }
    }

    #[test]
    fn temperature_is_left_out_or_forced_where_the_family_demands_it() {
        let request = ChatRequest::new("x", vec![]);
        assert_eq!(temperature("gpt-5.5", &request), None);
        assert_eq!(temperature("google/gemini-3-flash-preview", &request), Some(1.0));
        assert_eq!(temperature("gemini-2.5-flash", &request), Some(0.7));
    }
}
