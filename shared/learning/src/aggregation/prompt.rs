//! How a cluster is shown to a model.

use domain::entities::UserPlaybook;

use super::directions::{group_directions, likeness};
use crate::candidates::{NO_ROWS, quoted};

/// Members of a cluster that a model is shown; of more the newest.
pub const SHOWN_MEMBERS_MAX: usize = 100;
/// Agent playbooks that a model is shown beside a cluster; of more the most alike.
pub const SHOWN_PLAYBOOKS_MAX: usize = 20;

/// The members with all that they say, in groups when they point in several directions.
#[must_use]
pub fn members_text(members: &[&UserPlaybook], direction_overlap: f64) -> String {
    let members = &members[members.len().saturating_sub(SHOWN_MEMBERS_MAX)..];
    let contents: Vec<&str> = members.iter().map(|member| member.content.as_str()).collect();
    let groups = group_directions(&contents, direction_overlap);
    let mut lines = Vec::new();
    if groups.len() > 1 {
        lines.push(format!("These rules point in {} directions.", groups.len()));
    }
    for (number, group) in groups.iter().enumerate() {
        if groups.len() > 1 {
            let noun = if group.len() == 1 { "playbook" } else { "playbooks" };
            lines.push(String::new());
            lines.push(format!("Group {} ({} {noun}):", number + 1, group.len()));
        }
        lines.extend(group.iter().map(|place| row_text(*place, members[*place])));
    }
    lines.join("\n")
}

fn row_text(place: usize, row: &UserPlaybook) -> String {
    let field = |text: Option<&str>| quoted(text.unwrap_or_default().trim());
    let content = field(Some(&row.content));
    let (trigger, rationale) = (field(row.trigger.as_deref()), field(row.rationale.as_deref()));
    format!("[ROW-{place}] Content: {content} | Trigger: {trigger} | Rationale: {rationale}")
}

/// Agent playbooks beside a cluster, one a line, those first that are most like it.
#[must_use]
pub fn playbooks_text<'a>(contents: impl IntoIterator<Item = &'a str>, members: &[&UserPlaybook]) -> String {
    let subject: Vec<&str> = members.iter().map(|member| member.content.as_str()).collect();
    let subject = subject.join(" ");
    let mut ranked: Vec<(f64, &str)> =
        contents.into_iter().map(|content| (likeness(content, &subject), content)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.truncate(SHOWN_PLAYBOOKS_MAX);
    if ranked.is_empty() {
        return NO_ROWS.to_owned();
    }
    let lines: Vec<String> =
        ranked.iter().map(|(_, content)| format!("- {}", quoted(content.trim()))).collect();
    lines.join("\n")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn playbook() -> UserPlaybook {
        serde_json::from_value(serde_json::json!({ "agent_version": "v1", "request_id": "r1" })).unwrap()
    }

    fn row(content: &str, trigger: &str) -> UserPlaybook {
        UserPlaybook { content: content.to_owned(), trigger: Some(trigger.to_owned()), ..playbook() }
    }

    #[test]
    fn a_row_shows_what_to_do_even_when_it_has_a_trigger() {
        let row = row("use bullets", "a summary is asked for");
        assert_eq!(
            members_text(&[&row], 0.6),
            r#"[ROW-0] Content: "use bullets" | Trigger: "a summary is asked for" | Rationale: """#
        );
    }

    #[test]
    fn directions_are_shown_apart_and_rows_keep_their_places() {
        let rows = [row("use bullets", "t"), row("never apologise", "t"), row("use bullets now", "t")];
        let text = members_text(&rows.iter().collect::<Vec<_>>(), 0.6);
        let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("Group")).collect();
        assert_eq!(heads, ["Group 1 (2 playbooks):", "Group 2 (1 playbook):"]);
        let order: Vec<_> =
            text.lines().filter_map(|line| line.strip_prefix("[ROW-")?.split(']').next()).collect();
        assert_eq!(order, ["0", "2", "1"]);
    }

    #[test]
    fn so_many_members_are_shown_and_no_more() {
        let rows = |count: usize| (0..count).map(|n| row(&format!("rule {n}"), "t")).collect::<Vec<_>>();
        for (count, shown) in [
            (SHOWN_MEMBERS_MAX - 1, SHOWN_MEMBERS_MAX - 1),
            (SHOWN_MEMBERS_MAX, SHOWN_MEMBERS_MAX),
            (SHOWN_MEMBERS_MAX + 1, SHOWN_MEMBERS_MAX),
        ] {
            let rows = rows(count);
            let text = members_text(&rows.iter().collect::<Vec<_>>(), 0.1);
            assert_eq!(text.matches("[ROW-").count(), shown);
            assert!(text.contains(&format!("\"rule {}\"", count - 1)));
        }
    }

    #[test]
    fn playbooks_that_are_most_alike_come_first() {
        let row = row("use bullet points", "t");
        let contents: Vec<String> = (0..SHOWN_PLAYBOOKS_MAX).map(|n| format!("other {n}")).collect();
        let all = contents.iter().map(String::as_str).chain(["use bullet points always"]);
        let text = playbooks_text(all, &[&row]);
        assert_eq!(text.lines().next(), Some("- \"use bullet points always\""));
        assert_eq!(text.lines().count(), SHOWN_PLAYBOOKS_MAX);
        assert_eq!(playbooks_text([], &[&row]), "(None)");
    }
}
