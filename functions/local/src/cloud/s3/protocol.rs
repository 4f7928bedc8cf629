//! The operations of S3 that the product uses, over the store.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use domain::time::Clock;
use futures::TryStreamExt;
use s3s::dto::*;
use s3s::{S3, S3Error, S3Request, S3Response, S3Result, s3_error};
use sha2::{Digest, Sha256};

use super::listing::{self, PAGE_KEYS_MAX, Page, Query};
use super::object::{Header, Object};
use super::store::{Condition, Store, StoreError};

/// Bytes of the content's SHA-256 that make its ETag.
const ETAG_BYTES: usize = 16;
/// The version of every object in a bucket that keeps none.
const ONLY_VERSION: &str = "null";

pub(super) struct Protocol {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
}

impl From<StoreError> for S3Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoBucket => s3_error!(NoSuchBucket),
            StoreError::NoObject => s3_error!(NoSuchKey),
            StoreError::ConditionFailed => s3_error!(PreconditionFailed),
            StoreError::Damaged(_) | StoreError::Io(_) => s3_error!(error, InternalError),
        }
    }
}

impl Protocol {
    pub(super) fn new(store: Arc<Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Does a piece of work on the store without holding up the runtime.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> S3Result<T> {
        if !self.store.is_on_disk() {
            return Ok(work(&self.store)?);
        }
        let store = self.store.clone();
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        Ok(done.map_err(|panic| s3_error!(panic, InternalError))??)
    }

    fn object(&self, content: Bytes) -> Object {
        let etag = hex::encode(&Sha256::digest(&content)[..ETAG_BYTES]);
        let header = Header {
            etag,
            size: u64::try_from(content.len()).unwrap_or(u64::MAX),
            modified_ms: self.clock.now_ms(),
            content_type: None,
            content_encoding: None,
            metadata: Default::default(),
        };
        Object { header, content }
    }

    async fn page(&self, bucket: &str, query: Query<'_>) -> S3Result<(Page, Vec<(String, Header)>)> {
        let (name, prefix) = (bucket.to_owned(), query.prefix.to_owned());
        let keys = self.work(move |store| store.keys(&name, &prefix)).await?;
        let page = listing::page(keys, &query)
            .ok_or_else(|| s3_error!(InvalidArgument, "bad continuation token"))?;
        let (name, keys) = (bucket.to_owned(), page.keys.clone());
        let headers = self
            .work(move |store| {
                let mut headers = Vec::with_capacity(keys.len());
                for key in keys {
                    match store.header(&name, &key) {
                        Ok(header) => headers.push((key, header)),
                        // Deleted since the keys were read.
                        Err(StoreError::NoObject) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(headers)
            })
            .await?;
        Ok((page, headers))
    }
}

fn condition(if_match: Option<ETagCondition>, if_none_match: Option<ETagCondition>) -> S3Result<Condition> {
    match (if_match, if_none_match) {
        (None, None) => Ok(Condition::None),
        (None, Some(ETagCondition::Any)) => Ok(Condition::Absent),
        (Some(ETagCondition::Any), None) => Ok(Condition::Present),
        (Some(ETagCondition::ETag(etag)), None) => Ok(Condition::Etag(etag.into_value())),
        _ => Err(s3_error!(NotImplemented, "this combination of conditions is not implemented")),
    }
}

/// The conditions of a read: 412 if it is another object, 304 if it is the one that the caller has.
fn check_read(
    header: &Header,
    if_match: Option<ETagCondition>,
    if_none_match: Option<ETagCondition>,
) -> S3Result {
    let is_this = |condition: &ETagCondition| match condition {
        ETagCondition::Any => true,
        ETagCondition::ETag(etag) => etag.value() == header.etag,
    };
    if if_match.is_some_and(|condition| !is_this(&condition)) {
        return Err(s3_error!(PreconditionFailed));
    }
    if if_none_match.is_some_and(|condition| is_this(&condition)) {
        return Err(s3_error!(NotModified));
    }
    Ok(())
}

async fn content_of(body: Option<StreamingBlob>) -> S3Result<Bytes> {
    let Some(body) = body else { return Ok(Bytes::new()) };
    let add = |mut all: BytesMut, part: Bytes| async move {
        all.extend_from_slice(&part);
        Ok(all)
    };
    let all = body.try_fold(BytesMut::new(), add).await;
    Ok(all.map_err(|error| S3Error::with_source(s3s::S3ErrorCode::IncompleteBody, error))?.freeze())
}

fn etag(header: &Header) -> Option<ETag> {
    Some(ETag::Strong(header.etag.clone()))
}

fn modified(header: &Header) -> Option<Timestamp> {
    let millis = u64::try_from(header.modified_ms).unwrap_or_default();
    Some(Timestamp::from(UNIX_EPOCH + Duration::from_millis(millis)))
}

fn length(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn limit(max_keys: Option<i32>) -> usize {
    max_keys.and_then(|keys| usize::try_from(keys).ok()).unwrap_or(PAGE_KEYS_MAX).min(PAGE_KEYS_MAX)
}

fn folders(prefixes: Vec<String>) -> Option<Vec<CommonPrefix>> {
    Some(prefixes.into_iter().map(|prefix| CommonPrefix { prefix: Some(prefix) }).collect())
}

#[async_trait::async_trait]
impl S3 for Protocol {
    async fn head_bucket(
        &self,
        request: S3Request<HeadBucketInput>,
    ) -> S3Result<S3Response<HeadBucketOutput>> {
        self.work(move |store| store.check_bucket(&request.input.bucket)).await?;
        Ok(S3Response::new(HeadBucketOutput::default()))
    }

    async fn put_object(&self, request: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let input = request.input;
        let condition = condition(input.if_match, input.if_none_match)?;
        let mut object = self.object(content_of(input.body).await?);
        object.header.content_type = input.content_type;
        object.header.content_encoding = input.content_encoding;
        object.header.metadata = input.metadata.into_iter().flatten().collect();
        let e_tag = etag(&object.header);
        self.work(move |store| store.put(&input.bucket, &input.key, object, &condition)).await?;
        Ok(S3Response::new(PutObjectOutput { e_tag, ..PutObjectOutput::default() }))
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let input = request.input;
        let Object { header, mut content } =
            self.work(move |store| store.get(&input.bucket, &input.key)).await?;
        check_read(&header, input.if_match, input.if_none_match)?;
        let mut content_range = None;
        if let Some(range) = input.range {
            let part = range.check(header.size).map_err(|_| s3_error!(InvalidRange))?;
            content_range =
                Some(format!("bytes {}-{}/{}", part.start, part.end.saturating_sub(1), header.size));
            let within = |at: u64| usize::try_from(at).map_err(|_| s3_error!(InvalidRange));
            content = content.slice(within(part.start)?..within(part.end)?);
        }
        let output = GetObjectOutput {
            content_length: i64::try_from(content.len()).ok(),
            content_range,
            body: Some(StreamingBlob::from(s3s::Body::from(content))),
            e_tag: etag(&header),
            last_modified: modified(&header),
            content_type: header.content_type,
            content_encoding: header.content_encoding,
            metadata: Some(header.metadata.into_iter().collect()),
            ..GetObjectOutput::default()
        };
        Ok(S3Response::new(output))
    }

    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        let input = request.input;
        let header = self.work(move |store| store.header(&input.bucket, &input.key)).await?;
        check_read(&header, input.if_match, input.if_none_match)?;
        let output = HeadObjectOutput {
            content_length: Some(length(header.size)),
            e_tag: etag(&header),
            last_modified: modified(&header),
            content_type: header.content_type,
            content_encoding: header.content_encoding,
            metadata: Some(header.metadata.into_iter().collect()),
            ..HeadObjectOutput::default()
        };
        Ok(S3Response::new(output))
    }

    async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        let input = request.input;
        let condition = condition(input.if_match, None)?;
        self.work(move |store| store.delete(&input.bucket, &input.key, &condition)).await?;
        Ok(S3Response::new(DeleteObjectOutput::default()))
    }

    async fn delete_objects(
        &self,
        request: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        let DeleteObjectsInput { bucket, delete, .. } = request.input;
        let quiet = delete.quiet.unwrap_or_default();
        let mut deleted = Vec::with_capacity(delete.objects.len());
        for ObjectIdentifier { key, .. } in delete.objects {
            let (name, gone) = (bucket.clone(), key.clone());
            self.work(move |store| store.delete(&name, &gone, &Condition::None)).await?;
            deleted.push(DeletedObject { key: Some(key), ..DeletedObject::default() });
        }
        let deleted = (!quiet).then_some(deleted);
        Ok(S3Response::new(DeleteObjectsOutput { deleted, ..DeleteObjectsOutput::default() }))
    }

    async fn copy_object(
        &self,
        request: S3Request<CopyObjectInput>,
    ) -> S3Result<S3Response<CopyObjectOutput>> {
        let input = request.input;
        let CopySource::Bucket { bucket, key, .. } = input.copy_source else {
            return Err(s3_error!(NotImplemented, "only copies from a bucket are implemented"));
        };
        let source = self.work(move |store| store.get(&bucket, &key)).await?;
        match condition(input.copy_source_if_match, None)? {
            Condition::Etag(etag) if etag != source.header.etag => return Err(s3_error!(PreconditionFailed)),
            _ => {}
        }
        let mut copy = self.object(source.content);
        copy.header = Header { modified_ms: copy.header.modified_ms, ..source.header };
        if input.metadata_directive.is_some_and(|directive| directive.as_str() == MetadataDirective::REPLACE)
        {
            copy.header.content_type = input.content_type;
            copy.header.content_encoding = input.content_encoding;
            copy.header.metadata = input.metadata.into_iter().flatten().collect();
        }
        let result = CopyObjectResult {
            e_tag: etag(&copy.header),
            last_modified: modified(&copy.header),
            ..CopyObjectResult::default()
        };
        self.work(move |store| store.put(&input.bucket, &input.key, copy, &Condition::None)).await?;
        Ok(S3Response::new(CopyObjectOutput {
            copy_object_result: Some(result),
            ..CopyObjectOutput::default()
        }))
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = request.input;
        let query = Query {
            prefix: input.prefix.as_deref().unwrap_or_default(),
            delimiter: input.delimiter.as_deref(),
            token: input.continuation_token.as_deref(),
            start_after: input.start_after.as_deref(),
            limit: limit(input.max_keys),
        };
        let (page, headers) = self.page(&input.bucket, query).await?;
        let contents: Vec<_> = headers
            .into_iter()
            .map(|(key, header)| s3s::dto::Object {
                key: Some(key),
                size: Some(length(header.size)),
                e_tag: etag(&header),
                last_modified: modified(&header),
                ..s3s::dto::Object::default()
            })
            .collect();
        let output = ListObjectsV2Output {
            key_count: i32::try_from(contents.len() + page.prefixes.len()).ok(),
            contents: Some(contents),
            common_prefixes: folders(page.prefixes),
            is_truncated: Some(page.next.is_some()),
            next_continuation_token: page.next,
            name: Some(input.bucket),
            prefix: input.prefix,
            delimiter: input.delimiter,
            max_keys: input.max_keys,
            ..ListObjectsV2Output::default()
        };
        Ok(S3Response::new(output))
    }

    async fn list_object_versions(
        &self,
        request: S3Request<ListObjectVersionsInput>,
    ) -> S3Result<S3Response<ListObjectVersionsOutput>> {
        let input = request.input;
        let query = Query {
            prefix: input.prefix.as_deref().unwrap_or_default(),
            start_after: input.key_marker.as_deref(),
            limit: limit(input.max_keys),
            ..Query::default()
        };
        let (page, headers) = self.page(&input.bucket, query).await?;
        let next_key_marker = page.next.and(page.keys.last().cloned());
        let versions: Vec<_> = headers
            .into_iter()
            .map(|(key, header)| ObjectVersion {
                key: Some(key),
                version_id: Some(ONLY_VERSION.to_owned()),
                is_latest: Some(true),
                size: Some(length(header.size)),
                e_tag: etag(&header),
                last_modified: modified(&header),
                ..ObjectVersion::default()
            })
            .collect();
        let output = ListObjectVersionsOutput {
            versions: Some(versions),
            is_truncated: Some(next_key_marker.is_some()),
            next_version_id_marker: next_key_marker.as_ref().map(|_| ONLY_VERSION.to_owned()),
            next_key_marker,
            name: Some(input.bucket),
            prefix: input.prefix,
            ..ListObjectVersionsOutput::default()
        };
        Ok(S3Response::new(output))
    }
}
