//! The description of the API for programs and for people.

use std::fmt::Write;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::access::is_public;

/// The routes and schemas; checked against the router by a test.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    // The file is compiled in and a test reads it: it cannot be malformed at run time.
    serde_json::from_str(include_str!("openapi.json")).unwrap_or_default()
});

/// The OpenAPI document. Where a key is needed, every route that is not public says so.
#[must_use]
pub fn document(key_needed: bool) -> Value {
    let mut document = DOCUMENT.clone();
    let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) else { return document };
    for (path, operations) in paths {
        let Some(operations) = operations.as_object_mut() else { continue };
        for (method, operation) in operations {
            let method = method.to_uppercase().parse().unwrap_or_default();
            let public = path.parse().is_ok_and(|uri| is_public(&method, &uri));
            operation["security"] = match (public, key_needed) {
                (true, _) => json!([]),
                (false, true) => json!([{ "BearerAuth": [] }]),
                (false, false) => json!([{ "BearerAuth": [] }, {}]),
            };
        }
    }
    document
}

/// A page that lists the routes. It loads nothing from elsewhere.
pub(crate) fn page() -> String {
    let mut rows = String::new();
    for (path, operations) in DOCUMENT["paths"].as_object().into_iter().flatten() {
        for method in operations.as_object().into_iter().flat_map(|operations| operations.keys()) {
            // Method and path come from the compiled-in document and hold nothing that HTML would read.
            let _ = writeln!(rows, "<tr><td>{}</td><td><code>{path}</code></td></tr>", method.to_uppercase());
        }
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Retrospect API</title>\
         <style>body{{font:16px/1.5 system-ui;margin:2rem auto;max-width:48rem;padding:0 1rem}}\
         td{{padding:.2rem 1rem .2rem 0}}@media(prefers-color-scheme:dark){{body{{background:#111;color:#eee}}\
         a{{color:#8cf}}}}</style></head><body><h1>Retrospect API</h1>\
         <p>The full description, with every schema, is <a href=\"/openapi.json\">/openapi.json</a>.</p>\
         <table>{rows}</table></body></html>"
    )
}
