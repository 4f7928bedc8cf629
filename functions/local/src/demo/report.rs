//! What the demo does and shows, step by step.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use super::conversations::{FORGOTTEN, SEARCHES, USERS, requests};
use crate::serve::ServeError;

/// How often the demo looks whether everything is learned.
const POLL: Duration = Duration::from_millis(100);

/// Publishes, waits, shows, searches.
pub(super) async fn show(
    client: &Client,
    learning_max: Duration,
    say: &impl Fn(&str),
) -> Result<(), ServeError> {
    say("Retrospect demo: three users talk to a travel agent.\n\n");
    publish_and_learn(client, learning_max, say).await?;
    for user in USERS {
        show_memory(client, user, say).await?;
    }
    check_forgotten(client, say).await?;
    show_searches(client, say).await
}

/// Publishes one request after the other, each once the one before is learned, as conversations go.
async fn publish_and_learn(
    client: &Client,
    learning_max: Duration,
    say: &impl Fn(&str),
) -> Result<(), ServeError> {
    let started = Instant::now();
    let mut interactions = 0;
    let all = requests();
    for request in &all {
        let published = client.post("/api/publish_interaction", request).await?;
        interactions += request["interaction_data_list"].as_array().map_or(0, Vec::len);
        let id = text(&published, "request_id");
        wait_until_learned(client, id, started, learning_max).await?;
    }
    say(&format!(
        "stored    {} requests with {interactions} interactions\n\
         learned   every window of {} users, in {} ms together\n",
        all.len(),
        USERS.len(),
        started.elapsed().as_millis(),
    ));
    Ok(())
}

async fn wait_until_learned(
    client: &Client,
    request_id: &str,
    started: Instant,
    learning_max: Duration,
) -> Result<(), ServeError> {
    loop {
        let status = client.get(&format!("/api/learning_status?request_id={request_id}")).await?;
        if text(&status, "status") == "done" {
            return Ok(());
        }
        if started.elapsed() > learning_max {
            return Err(format!("request {request_id} was not learned in time: {status}").into());
        }
        tokio::time::sleep(POLL).await;
    }
}

async fn show_memory(client: &Client, user: &str, say: &impl Fn(&str)) -> Result<(), ServeError> {
    let profiles = client.post("/api/get_profiles", &json!({ "user_id": user })).await?;
    let playbooks =
        client.post("/api/get_user_playbooks", &json!({ "user_id": user, "status_filter": [null] })).await?;
    let (profiles, playbooks) = (rows(&profiles, "user_profiles"), rows(&playbooks, "user_playbooks"));
    if profiles.is_empty() || playbooks.is_empty() {
        return Err(format!(
            "{user}: {} profiles and {} playbooks were learned",
            profiles.len(),
            playbooks.len()
        )
        .into());
    }
    say(&format!("\n{user}: {} profiles, {} playbooks\n", profiles.len(), playbooks.len()));
    for row in profiles {
        say(&format!(
            "  profile   {} [{}]{}\n",
            text(row, "content"),
            text(row, "profile_time_to_live"),
            evidence(row)
        ));
    }
    for row in playbooks {
        say(&format!("  playbook  {} → {}{}\n", text(row, "trigger"), text(row, "content"), evidence(row)));
    }
    Ok(())
}

/// The words that a row rests on, in one line.
fn evidence(row: &Value) -> String {
    match row["source_span"].as_str() {
        Some(span) => {
            let line: String = span.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("\n            said: \"{line}\"")
        }
        None => String::new(),
    }
}

async fn check_forgotten(client: &Client, say: &impl Fn(&str)) -> Result<(), ServeError> {
    let (user, word) = FORGOTTEN;
    let profiles = client.get(&format!("/api/get_all_profiles?user_id={user}&query={word}")).await?;
    let left = rows(&profiles, "user_profiles").len();
    if left > 0 {
        return Err(format!("{left} profiles of {user} still speak of {word}").into());
    }
    say(&format!(
        "\nforgotten {user} asked to forget something ({word}): no profile speaks of it any more\n"
    ));
    Ok(())
}

async fn show_searches(client: &Client, say: &impl Fn(&str)) -> Result<(), ServeError> {
    say("\n");
    for (user, query, word) in SEARCHES {
        let started = Instant::now();
        let found = client
            .post("/api/search?scores=true", &json!({ "user_id": user, "query": query, "top_k": 2 }))
            .await?;
        let took = started.elapsed();
        let mut hits: Vec<(&str, f64)> = rows(&found, "profiles")
            .iter()
            .chain(rows(&found, "user_playbooks"))
            .map(|row| (text(row, "content"), row["score"].as_f64().unwrap_or(0.0)))
            .collect();
        hits.sort_by(|a, b| b.1.total_cmp(&a.1));
        if !hits.iter().any(|(hit, _)| hit.to_lowercase().contains(word)) {
            return Err(format!("searching {query:?} for {user} did not find {word:?}: {found}").into());
        }
        say(&format!("search    {user}: \"{query}\" ({:.1} ms)\n", took.as_secs_f64() * 1000.0));
        for (hit, score) in hits {
            say(&format!("            {score:.2}  {hit}\n"));
        }
    }
    Ok(())
}

fn rows<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer[name].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or("")
}
