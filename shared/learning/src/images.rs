//! The images of interactions, as models are sent them.

use domain::entities::Interaction;
use llm::types::ImageSource;
use store::{Store, StoreError};

/// The kind of an image, by how its base64 begins; JPEG when it is none of the others.
fn media_type(base64: &str) -> &'static str {
    let starts = [
        ("iVBORw0KGgo", "image/png"),
        ("R0lGOD", "image/gif"),
        ("UklGR", "image/webp"),
        ("/9j/", "image/jpeg"),
    ];
    starts.iter().find(|(start, _)| base64.starts_with(start)).map_or("image/jpeg", |(_, kind)| kind)
}

/// The image of an interaction, if it has one: its address, else what is stored.
///
/// # Errors
/// [`StoreError`] when the bucket fails.
pub async fn image_source(
    store: &Store,
    interaction: &Interaction,
) -> Result<Option<ImageSource>, StoreError> {
    if !interaction.interacted_image_url.is_empty() {
        return Ok(Some(ImageSource::Url(interaction.interacted_image_url.clone())));
    }
    let Some(object) = &interaction.image_object else { return Ok(None) };
    let bytes = store.objects().get(object).await?;
    let data = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(ImageSource::Base64 { media_type: media_type(&data).to_owned(), data }))
}
