//! Where a request points: the bucket in the host name or in the path.

/// A bucket and the still percent-encoded key; either may be empty.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address<'a> {
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
}

/// Reads `https://bucket.s3.region.amazonaws.com/key` and `https://s3.region.amazonaws.com/bucket/key`.
pub(crate) fn of(uri: &http::Uri) -> Address<'_> {
    let path = uri.path().strip_prefix('/').unwrap_or(uri.path());
    let in_host = uri.host().and_then(|host| {
        let (bucket, _) = host.split_once(".s3.").or_else(|| host.split_once(".s3-"))?;
        (!bucket.is_empty()).then_some(bucket)
    });
    match in_host {
        Some(bucket) => Address { bucket, key: path },
        None => {
            let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
            Address { bucket, key }
        }
    }
}

/// The URI in path style, without a host: what the protocol crate reads without being told about hosts.
pub(super) fn in_path_style(uri: &http::Uri) -> Result<http::Uri, http::uri::InvalidUri> {
    let Address { bucket, key } = of(uri);
    let slash = if key.is_empty() { "" } else { "/" };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("/{bucket}{slash}{key}{query}").parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_styles_name_the_same_object() {
        for uri in [
            "https://b.s3.us-east-1.amazonaws.com/a/b%20c?x=1",
            "https://s3.us-east-1.amazonaws.com/b/a/b%20c?x=1",
        ] {
            let uri: http::Uri = uri.parse().unwrap();
            assert_eq!(of(&uri), Address { bucket: "b", key: "a/b%20c" });
            assert_eq!(in_path_style(&uri).unwrap(), "/b/a/b%20c?x=1");
        }
        let bucket: http::Uri = "https://b.s3.us-east-1.amazonaws.com/?list-type=2".parse().unwrap();
        assert_eq!(in_path_style(&bucket).unwrap(), "/b?list-type=2");
    }
}
