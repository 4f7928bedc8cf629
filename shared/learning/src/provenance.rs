//! What a merged row keeps of the rows that it took in: where they came from, and the words that they rest on.

/// The line above several passages of evidence.
pub const SPANS_HEADER: &str = "Original source evidence values (separate excerpts):";
/// Passages that a merged row keeps; the first ones are kept.
pub const SPANS_MAX: usize = 20;
/// Interactions that a merged row cites; the last ones are kept.
pub const SOURCE_INTERACTIONS_MAX: usize = 1_000;

const SPAN_BULLET: &str = "- ";

/// All ids, each once, in the order in which they first occur.
#[must_use]
pub fn union_ids<'a>(lists: impl IntoIterator<Item = &'a [i64]>) -> Vec<i64> {
    let mut seen = std::collections::HashSet::new();
    let mut ids: Vec<i64> = lists.into_iter().flatten().copied().filter(|id| seen.insert(*id)).collect();
    ids.drain(..ids.len().saturating_sub(SOURCE_INTERACTIONS_MAX));
    ids
}

/// All passages, each once; several stand as a list below [`SPANS_HEADER`], and lists of merged rows are taken apart.
#[must_use]
pub fn merge_spans<'a>(spans: impl IntoIterator<Item = Option<&'a str>>) -> Option<String> {
    let mut passages: Vec<&str> = Vec::new();
    for span in spans.into_iter().flatten() {
        for passage in passages_of(span) {
            if !passages.contains(&passage) && passages.len() < SPANS_MAX {
                passages.push(passage);
            }
        }
    }
    match passages.as_slice() {
        [] => None,
        [only] => Some((*only).to_owned()),
        several => {
            let lines: Vec<String> =
                several.iter().map(|passage| format!("{SPAN_BULLET}{passage}")).collect();
            Some(format!("{SPANS_HEADER}\n{}", lines.join("\n")))
        }
    }
}

fn passages_of(span: &str) -> Vec<&str> {
    let span = span.trim();
    let passages = match span.strip_prefix(SPANS_HEADER) {
        Some(list) => {
            list.trim_start().trim_start_matches(SPAN_BULLET).split("\n- ").map(str::trim).collect()
        }
        None => vec![span],
    };
    passages.into_iter().filter(|passage| !passage.is_empty()).collect()
}

/// All texts, each once, one a line; `None` when there are none.
#[must_use]
pub fn merge_lines<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Option<String> {
    let mut lines: Vec<&str> = Vec::new();
    for line in texts.into_iter().flatten().flat_map(str::lines).map(str::trim) {
        if !line.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// All words of several rows, each once; `None` (for tags: not tagged yet) when no row has any list.
#[must_use]
pub fn merge_words<'a>(rows: impl IntoIterator<Item = Option<&'a [String]>>) -> Option<Vec<String>> {
    let mut merged: Option<Vec<String>> = None;
    for tags in rows.into_iter().flatten() {
        let merged = merged.get_or_insert_default();
        merged.extend(tags.iter().filter(|tag| !merged.contains(tag)).cloned().collect::<Vec<_>>());
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_passage_stands_alone_and_several_below_the_header() {
        assert_eq!(merge_spans([None, Some(" a "), Some("a")]).as_deref(), Some("a"));
        let two = merge_spans([Some("a"), Some("b\nc")]).unwrap();
        assert_eq!(two, format!("{SPANS_HEADER}\n- a\n- b\nc"));
        assert_eq!(merge_spans([Some(two.as_str()), Some("d"), Some("a")]).unwrap(), format!("{two}\n- d"));
        assert_eq!(merge_spans([None, Some(" ")]), None);
    }

    #[test]
    fn passages_and_ids_are_bounded() {
        for count in [19, 20, 21] {
            let spans: Vec<String> = (0..count).map(|n| format!("p{n}")).collect();
            let merged = merge_spans(spans.iter().map(|span| Some(span.as_str()))).unwrap();
            assert_eq!(merged.lines().count(), 1 + count.min(SPANS_MAX));
        }
        for count in [999, 1_000, 1_001] {
            let ids: Vec<i64> = (0..count).collect();
            let kept = union_ids([&ids[..], &[count - 1]]);
            assert_eq!((kept.len() as i64, kept.last()), (count.min(1_000), Some(&(count - 1))));
        }
    }

    #[test]
    fn notes_keep_each_line_once() {
        assert_eq!(merge_lines([Some("a\nb"), None, Some("b"), Some(" ")]).as_deref(), Some("a\nb"));
        assert_eq!(merge_lines([None]), None);
    }
}
