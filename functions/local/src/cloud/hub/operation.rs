//! Which service a request is for, and which of its operations.

use bytes::Bytes;

use crate::cloud::s3::address;

/// The service and operation of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) service: String,
    pub(crate) operation: String,
}

impl Target {
    /// Reads both off the request; `None` if it carries no SigV4 signature.
    pub(crate) fn of(request: &http::Request<Bytes>) -> Option<Self> {
        let service = signed_service(request)?.to_owned();
        let operation = operation(&service, request);
        Some(Self { service, operation })
    }
}

/// The service name in the credential scope: `Credential=<key>/<date>/<region>/<service>/aws4_request`.
fn signed_service(request: &http::Request<Bytes>) -> Option<&str> {
    let authorization = request.headers().get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (_, rest) = authorization.split_once("Credential=")?;
    rest.split(['/', ',', ' ']).nth(3).filter(|service| !service.is_empty())
}

fn operation(service: &str, request: &http::Request<Bytes>) -> String {
    let target = request.headers().get("x-amz-target").and_then(|value| value.to_str().ok());
    if let Some((_, operation)) = target.and_then(|target| target.rsplit_once('.')) {
        return operation.to_owned();
    }
    match service {
        "s3" => s3_operation(request).to_owned(),
        "scheduler" => scheduler_operation(request).to_owned(),
        _ => format!("{} {}", request.method(), request.uri().path()),
    }
}

fn s3_operation(request: &http::Request<Bytes>) -> &'static str {
    let has_key = !address::of(request.uri()).key.is_empty();
    let query = request.uri().query().unwrap_or_default();
    let has = |name: &str| query.split('&').any(|pair| pair.split('=').next() == Some(name));
    match (request.method().as_str(), has_key) {
        ("PUT", true) if request.headers().contains_key("x-amz-copy-source") => "CopyObject",
        ("PUT", true) => "PutObject",
        ("GET", true) => "GetObject",
        ("HEAD", true) => "HeadObject",
        ("DELETE", true) => "DeleteObject",
        ("GET", false) if has("list-type") => "ListObjectsV2",
        ("GET", false) if has("versions") => "ListObjectVersions",
        ("HEAD", false) => "HeadBucket",
        ("POST", false) if has("delete") => "DeleteObjects",
        _ => "Other",
    }
}

fn scheduler_operation(request: &http::Request<Bytes>) -> &'static str {
    let in_schedule = request.uri().path().strip_prefix("/schedules").is_some_and(|rest| rest.len() > 1);
    match (request.method().as_str(), in_schedule) {
        ("POST", true) => "CreateSchedule",
        ("PUT", true) => "UpdateSchedule",
        ("GET", true) => "GetSchedule",
        ("DELETE", true) => "DeleteSchedule",
        ("GET", false) => "ListSchedules",
        _ => "Other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(method: &str, uri: &str, service: &str, headers: &[(&str, &str)]) -> Option<Target> {
        let scope =
            format!("AWS4-HMAC-SHA256 Credential=AK/20260101/us-east-1/{service}/aws4_request, Signature=0");
        let mut request = http::Request::builder().method(method).uri(uri).header("authorization", scope);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Target::of(&request.body(Bytes::new()).unwrap())
    }

    #[test]
    fn the_service_is_the_one_signed_for_and_the_operation_its_own() {
        let cases = [
            ("POST", "https://h/", "dynamodb", ("x-amz-target", "DynamoDB_20120810.PutItem"), "PutItem"),
            ("POST", "https://h/", "sqs", ("x-amz-target", "AmazonSQS.SendMessage"), "SendMessage"),
            ("PUT", "https://b.s3.us-east-1.amazonaws.com/k", "s3", ("a", "b"), "PutObject"),
            (
                "PUT",
                "https://s3.us-east-1.amazonaws.com/b/k",
                "s3",
                ("x-amz-copy-source", "b/x"),
                "CopyObject",
            ),
            ("GET", "https://b.s3.us-east-1.amazonaws.com/?list-type=2", "s3", ("a", "b"), "ListObjectsV2"),
            ("POST", "https://b.s3.us-east-1.amazonaws.com/?delete", "s3", ("a", "b"), "DeleteObjects"),
            ("POST", "https://h/schedules/night", "scheduler", ("a", "b"), "CreateSchedule"),
            ("GET", "https://h/schedules?MaxResults=1", "scheduler", ("a", "b"), "ListSchedules"),
        ];
        for (method, uri, service, header, operation) in cases {
            let target = target(method, uri, service, &[header]).unwrap();
            assert_eq!((target.service.as_str(), target.operation.as_str()), (service, operation), "{uri}");
        }
    }

    #[test]
    fn an_unsigned_request_has_no_target() {
        assert_eq!(Target::of(&http::Request::new(Bytes::new())), None);
        assert_eq!(target("POST", "https://h/", "", &[]), None);
    }
}
