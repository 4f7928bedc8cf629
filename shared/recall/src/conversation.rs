//! A user's conversation: all interactions in the order of their positions, ready to be searched.

use std::sync::Arc;

use domain::entities::{Interaction, Request};
use domain::ids::{OrgId, UserHash};
use llm::EmbeddingModel;
use search::{Document, MemoryIndex};
use store::{RequestDocument, StoreError, UserKeys};

use crate::embed::row_vectors;
use crate::{Recall, version_of};

/// An interaction and the request that it came with.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The request; shared by its interactions.
    pub request: Arc<Request>,
    /// The interaction.
    pub interaction: Interaction,
}

/// All turns of a user.
#[derive(Debug)]
pub struct Conversation {
    /// The turns by position.
    pub turns: Vec<Turn>,
    /// Their index; hits name turns by their place. Among equals later turns come first.
    pub index: MemoryIndex<std::cmp::Reverse<i64>>,
}

/// Words of what a user did count double.
const ACTION_WEIGHT: f32 = 2.0;

impl Recall {
    /// The conversation of a user as of now. One small read when nothing was published since it was loaded.
    ///
    /// # Errors
    /// [`StoreError`]; never an empty conversation instead.
    pub async fn conversation(
        &self,
        org: &OrgId,
        user: &UserHash,
        model: &dyn EmbeddingModel,
    ) -> Result<Arc<Conversation>, StoreError> {
        let keys = UserKeys { org, user };
        let head = self.store.head(&keys).await?;
        let (count, purge_epoch) = head.map_or((0, 0), |head| (head.count, head.purge_epoch));
        let version = version_of((count, purge_epoch, model.model_name()));
        let key = (org.clone(), user.clone());
        if let Some(conversation) = self.conversations.get(&key, version) {
            return Ok(conversation);
        }
        let documents = self.store.documents(&keys, 0, count).await?;
        let conversation = Arc::new(build(documents, model).await);
        let bytes = conversation.memory_bytes();
        self.conversations.put(key, version, Arc::clone(&conversation), bytes);
        Ok(conversation)
    }
}

impl Conversation {
    fn memory_bytes(&self) -> usize {
        let text = |turn: &Turn| {
            let interaction = &turn.interaction;
            let tools: usize =
                interaction.tools_used.iter().map(|tool| 64 + 48 * tool.tool_data.len()).sum();
            interaction.content.len()
                + interaction.shadow_content.len()
                + interaction.expert_content.len()
                + interaction.user_action_description.len()
                + tools
        };
        self.index.memory_bytes() + self.turns.iter().map(|turn| size_of::<Turn>() + text(turn)).sum::<usize>()
    }
}

async fn build(documents: Vec<RequestDocument>, model: &dyn EmbeddingModel) -> Conversation {
    let mut turns = Vec::new();
    for document in documents {
        let request = Arc::new(document.request);
        turns.extend(
            document
                .interactions
                .into_iter()
                .map(|interaction| Turn { request: Arc::clone(&request), interaction }),
        );
    }
    let texts: Vec<_> = turns.iter().map(|turn| turn.interaction.searchable_text()).collect();
    // Vectors of turns are made by local embedders only; with hosted ones turns are found by their words.
    let vectors = row_vectors(model, &texts, &vec![None; texts.len()]).await;
    let documents = turns.iter().zip(vectors).map(|(turn, vector)| Document {
        key: std::cmp::Reverse(turn.interaction.interaction_id),
        lexical: vec![
            (turn.interaction.content.clone(), 1.0),
            (turn.interaction.user_action_description.clone(), ACTION_WEIGHT),
        ],
        vector,
        newest: turn.interaction.created_at,
    });
    let index = MemoryIndex::build(documents.collect());
    Conversation { turns, index }
}
