//! Addresses that callers give.
//!
//! Only what can be told from the text is checked here. Names are resolved, and private addresses refused,
//! when a connection is made.

use serde_json::{Value, json};
use url::{Host, Url};

use super::fault::{Faults, Path};
use super::fields::Rule;
use super::rules;

/// Longest address of an image, in characters.
pub const IMAGE_URL_CHARS_MAX: usize = 2_048;
/// Longest address in a configuration, in characters.
pub const HTTP_URL_CHARS_MAX: usize = 2_083;

/// Hosts that hand out a machine's own credentials: instance metadata, and those of containers and functions.
const METADATA_HOSTS: [&str; 6] = [
    "metadata.google.internal",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "fd00:ec2::254",
    "fd00:ec2::23",
];

/// The metadata host that an address leads to, whatever way it is spelt.
#[must_use]
pub fn metadata_host(url: &Url) -> Option<String> {
    let host = match url.host()? {
        Host::Domain(name) => name.trim_end_matches('.').to_ascii_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => {
            address.to_ipv4_mapped().map_or_else(|| address.to_string(), |v4| v4.to_string())
        }
    };
    METADATA_HOSTS.contains(&host.as_str()).then_some(host)
}

fn metadata_message(host: &str) -> String {
    format!("URL must not target cloud metadata endpoint: {host}")
}

/// The address of an image: empty, or with the scheme http, https or data.
pub fn image_url<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<String> {
    let text = rules::bounded(IMAGE_URL_CHARS_MAX)(value, at, faults)?;
    if let Err(reason) = check_image_url(&text) {
        faults.add_value_error(at, &reason, value);
        return None;
    }
    Some(text)
}

fn check_image_url(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let scheme = scheme_of(text);
    match scheme.as_str() {
        "data" => Ok(()),
        "http" | "https" => {
            let url = Url::parse(text).map_err(|reason| format!("Image URL is not valid: {reason}"))?;
            metadata_host(&url).map_or(Ok(()), |host| Err(metadata_message(&host)))
        }
        _ => Err(format!("Image URL scheme must be http, https, or data — got '{scheme}'")),
    }
}

/// What stands before the first colon, in lower case, if it can be a scheme.
fn scheme_of(text: &str) -> String {
    let scheme = text.trim_start().split_once(':').map_or("", |(scheme, _)| scheme);
    let starts = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if starts && scheme.chars().all(inner) { scheme.to_ascii_lowercase() } else { String::new() }
}

/// An http or https address in normal form.
pub fn http_url<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<String> {
    let Value::String(text) = value else {
        faults.add("url_type", at, "URL input should be a string or URL", value, None);
        return None;
    };
    if text.chars().nth(HTTP_URL_CHARS_MAX).is_some() {
        let msg = format!("URL should have at most {HTTP_URL_CHARS_MAX} characters");
        faults.add("url_too_long", at, msg, value, Some(json!({ "max_length": HTTP_URL_CHARS_MAX })));
        return None;
    }
    rules::borrowed(value, at, faults)?;
    let parsed = if text.is_empty() {
        Err("input is empty".to_owned())
    } else {
        Url::parse(text).map_err(|e| e.to_string())
    };
    let url = match parsed {
        Ok(url) => url,
        Err(reason) => {
            let msg = format!("Input should be a valid URL, {reason}");
            faults.add("url_parsing", at, msg, value, Some(json!({ "error": reason })));
            return None;
        }
    };
    if !matches!(url.scheme(), "http" | "https") {
        let expected = "'http' or 'https'";
        let msg = format!("URL scheme should be {expected}");
        faults.add("url_scheme", at, msg, value, Some(json!({ "expected_schemes": expected })));
        return None;
    }
    if let Some(host) = metadata_host(&url) {
        faults.add_value_error(at, &metadata_message(&host), value);
        return None;
    }
    Some(url.into())
}

/// An http or https address kept as it was written; `name` is the member in the message.
pub fn plain_http_url<'v>(name: &'static str) -> impl Rule<'v, String> {
    move |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
        let text = rules::bounded(HTTP_URL_CHARS_MAX)(value, at, faults)?;
        let reason = match Url::parse(&text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => {
                metadata_host(&url).map(|h| metadata_message(&h))
            }
            Ok(_) | Err(_) => Some(format!("{name} must be an http or https URL")),
        };
        match reason {
            None => Some(text),
            Some(reason) => {
                faults.add_value_error(at, &reason, value);
                None
            }
        }
    }
}
