//! Pages of keys: prefix, delimiter, where a page begins and how the next one does.

use std::collections::BTreeSet;

/// Most entries of a page.
pub(super) const PAGE_KEYS_MAX: usize = 1000;

/// What a listing asks for.
#[derive(Debug, Default)]
pub(super) struct Query<'a> {
    pub(super) prefix: &'a str,
    pub(super) delimiter: Option<&'a str>,
    /// From the page before.
    pub(super) token: Option<&'a str>,
    pub(super) start_after: Option<&'a str>,
    pub(super) limit: usize,
}

/// One page of a listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) keys: Vec<String>,
    /// What keys have in common up to the delimiter, each once.
    pub(super) prefixes: Vec<String>,
    /// Absent on the last page.
    pub(super) next: Option<String>,
}

/// The last entry of a page, as its token says it.
enum Last {
    Key(String),
    Prefix(String),
}

impl Last {
    fn token(&self) -> String {
        match self {
            Self::Key(key) => format!("k{}", hex::encode(key)),
            Self::Prefix(prefix) => format!("p{}", hex::encode(prefix)),
        }
    }

    fn read(token: &str) -> Option<Self> {
        let (kind, text) = token.split_at_checked(1)?;
        let text = String::from_utf8(hex::decode(text).ok()?).ok()?;
        match kind {
            "k" => Some(Self::Key(text)),
            "p" => Some(Self::Prefix(text)),
            _ => None,
        }
    }

    fn covers(&self, key: &str) -> bool {
        match self {
            Self::Key(last) => key <= last.as_str(),
            Self::Prefix(last) => key <= last.as_str() || key.starts_with(last),
        }
    }
}

/// Cuts a page out of all keys with the prefix; `None` if the token is none of ours.
pub(super) fn page(all: BTreeSet<String>, query: &Query<'_>) -> Option<Page> {
    let after = match (query.token, query.start_after) {
        (Some(token), _) => Some(Last::read(token)?),
        (None, Some(key)) => Some(Last::Key(key.to_owned())),
        (None, None) => None,
    };
    let mut page = Page::default();
    let mut last: Option<Last> = None;
    for key in all {
        if [&after, &last].into_iter().flatten().any(|last| last.covers(&key)) {
            continue;
        }
        if page.keys.len() + page.prefixes.len() == query.limit {
            page.next = last.as_ref().map(Last::token);
            break;
        }
        if let Some(prefix) = common_prefix(&key, query) {
            last = Some(Last::Prefix(prefix.clone()));
            page.prefixes.push(prefix);
        } else {
            last = Some(Last::Key(key.clone()));
            page.keys.push(key);
        }
    }
    Some(page)
}

fn common_prefix(key: &str, query: &Query<'_>) -> Option<String> {
    let delimiter = query.delimiter.filter(|delimiter| !delimiter.is_empty())?;
    let rest = key.strip_prefix(query.prefix)?;
    let end = rest.find(delimiter)? + delimiter.len();
    Some(format!("{}{}", query.prefix, &rest[..end]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all_pages(
        keys: &BTreeSet<String>,
        delimiter: Option<&str>,
        limit: usize,
    ) -> (Vec<String>, Vec<String>) {
        let (mut found, mut prefixes, mut token) = (Vec::new(), Vec::new(), None);
        loop {
            let query = Query { delimiter, token: token.as_deref(), limit, ..Query::default() };
            let page = page(keys.clone(), &query).unwrap();
            assert!(page.keys.len() + page.prefixes.len() <= limit);
            found.extend(page.keys);
            prefixes.extend(page.prefixes);
            token = page.next;
            if token.is_none() {
                return (found, prefixes);
            }
        }
    }

    proptest! {
        #[test]
        fn pages_of_any_size_hold_every_key_once(keys in prop::collection::btree_set("[ab/]{1,4}", 0..20), limit in 1_usize..25) {
            let (found, prefixes) = all_pages(&keys, None, limit);
            prop_assert_eq!(found, keys.into_iter().collect::<Vec<_>>());
            prop_assert!(prefixes.is_empty());
        }

        #[test]
        fn a_delimiter_folds_the_same_keys_whatever_the_page(keys in prop::collection::btree_set("[ab/]{1,4}", 0..20), limit in 1_usize..25) {
            prop_assert_eq!(all_pages(&keys, Some("/"), limit), all_pages(&keys, Some("/"), 1000));
        }
    }

    #[test]
    fn folders_are_shown_as_folders() {
        let keys = ["a", "b/1", "b/2", "c/x/y"].map(str::to_owned).into();
        let query = Query { delimiter: Some("/"), limit: PAGE_KEYS_MAX, ..Query::default() };
        let page = page(keys, &query).unwrap();
        assert_eq!(
            (page.keys, page.prefixes),
            (vec!["a".to_owned()], vec!["b/".to_owned(), "c/".to_owned()])
        );
    }

    #[test]
    fn a_foreign_token_is_refused() {
        let query = Query { token: Some("zz"), limit: 1, ..Query::default() };
        assert_eq!(page(BTreeSet::new(), &query), None);
    }
}
