//! What makes two publish calls the same.

use serde_json::{Value, json};

use super::{InteractionInput, PublishRequest};
use crate::canonical;
use crate::ids::hash_hex;

pub(super) fn payload_hash(request: &PublishRequest) -> String {
    let (experiment_id, experiment_arm) = request.experiment.clone().unzip();
    let document = json!({
        "user_id": request.user_id,
        "session_id": request.session_id,
        "interaction_data_list": request.interactions.iter().map(interaction).collect::<Vec<_>>(),
        "source": request.source,
        "agent_version": request.agent_version,
        "session_finished": request.session_finished,
        "skip_aggregation": request.skip_aggregation,
        "force_extraction": request.force_extraction,
        "evaluation_only": request.evaluation_only,
        "override_learning_stall": request.override_learning_stall,
        "retrieval_experiment_id": experiment_id,
        "retrieval_experiment_arm": experiment_arm,
    });
    hash_hex(&canonical::to_string(&document))
}

fn interaction(row: &InteractionInput) -> Value {
    json!({
        "created_at": row.created_at,
        "role": row.role,
        "content": row.content,
        "shadow_content": row.shadow_content,
        "expert_content": row.expert_content,
        "user_action": row.user_action,
        "user_action_description": row.user_action_description,
        "interacted_image_url": row.interacted_image_url,
        "image_encoding": row.image_encoding,
        "tools_used": row.tools_used,
        "citations": row.citations,
        "retrieved_learnings": row.retrieved_learnings,
    })
}
