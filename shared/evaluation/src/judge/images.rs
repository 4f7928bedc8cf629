//! The images of a session, as parts of the question.

use domain::entities::Interaction;
use learning::images::image_source;
use llm::types::{ImageSource, Part};
use store::{RequestDocument, Store, StoreError};

/// Images of one session that the judge sees, the last ones: providers refuse requests with many.
pub const IMAGES_MAX: usize = 10;
/// Longest base64 of all images together, in characters; what exceeds it is left out, the earlier ones first.
pub const IMAGE_CHARS_MAX: usize = 12_000_000;

/// The images, in the order of their turns.
///
/// # Errors
/// [`StoreError`] when the bucket fails.
pub async fn image_parts(store: &Store, documents: &[RequestDocument]) -> Result<Vec<Part>, StoreError> {
    let with_image = |one: &&Interaction| !one.interacted_image_url.is_empty() || one.image_object.is_some();
    let interactions = documents.iter().flat_map(|document| &document.interactions);
    let with_images: Vec<&Interaction> = interactions.filter(with_image).collect();
    let mut parts = Vec::new();
    let mut room = IMAGE_CHARS_MAX;
    for interaction in with_images.into_iter().rev().take(IMAGES_MAX) {
        let Some(source) = image_source(store, interaction).await? else { continue };
        let size = if let ImageSource::Base64 { data, .. } = &source { data.len() } else { 0 };
        let Some(left) = room.checked_sub(size) else { break };
        room = left;
        parts.push(Part::Image(source));
    }
    parts.reverse();
    Ok(parts)
}
