//! A user's conversation: all interactions in the order of their positions, ready to be searched.

use std::collections::HashMap;
use std::sync::Arc;

use domain::entities::{Interaction, Request};
use domain::ids::{OrgId, UserHash};
use llm::EmbeddingModel;
use search::{Document, MemoryIndex};
use store::{RequestDocument, StoreError, StoredVector, UserKeys};

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
        let count = head.as_ref().map_or(0, |head| head.count);
        // Workers add vectors before they say what they learned: after that there is more to load.
        let state = head.map(|head| (head.purge_epoch, head.learned_profile, head.learned_playbook));
        let version = version_of((count, state, model.model_name()));
        let key = (org.clone(), user.clone());
        if let Some(conversation) = self.conversations.get(&key, version) {
            return Ok(conversation);
        }
        let documents = self.store.documents(&keys, 0, count).await?;
        let stored = if model.is_local() {
            HashMap::new()
        } else {
            self.store.turn_vectors(&keys, model.model_name()).await?
        };
        let conversation = Arc::new(build(documents, stored, model).await);
        let bytes = conversation.memory_bytes();
        self.conversations.put(key, version, Arc::clone(&conversation), bytes);
        Ok(conversation)
    }
}

impl Conversation {
    fn memory_bytes(&self) -> usize {
        let text = |turn: &Turn| {
            let interaction = &turn.interaction;
            let tools: usize = interaction.tools_used.iter().map(|tool| 64 + 48 * tool.tool_data.len()).sum();
            interaction.content.len()
                + interaction.shadow_content.len()
                + interaction.expert_content.len()
                + interaction.user_action_description.len()
                + tools
        };
        self.index.memory_bytes()
            + self.turns.iter().map(|turn| size_of::<Turn>() + text(turn)).sum::<usize>()
    }
}

async fn build(
    documents: Vec<RequestDocument>,
    mut stored: HashMap<i64, Vec<u8>>,
    model: &dyn EmbeddingModel,
) -> Conversation {
    let mut turns = Vec::new();
    let mut stored_vectors: Vec<Option<StoredVector>> = Vec::new();
    for document in documents {
        stored_vectors.extend((document.first_position..document.end_position()).map(|position| {
            let bytes = stored.remove(&position)?;
            Some(StoredVector { model: model.model_name().to_owned(), bytes })
        }));
        let request = Arc::new(document.request);
        turns.extend(
            document
                .interactions
                .into_iter()
                .map(|interaction| Turn { request: Arc::clone(&request), interaction }),
        );
    }
    let texts: Vec<_> = turns.iter().map(|turn| turn.interaction.searchable_text()).collect();
    // Turns that a hosted embedder has not come to yet are found by their words.
    let vectors = row_vectors(model, &texts, &stored_vectors).await;
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
