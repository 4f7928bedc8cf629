//! One interaction of a publish call.

use serde_json::Value;

use crate::entities::{Citation, Interaction, RetrievedLearning, ToolUsed, UserActionType};
use crate::ids::hash_hex;
use crate::time::EpochSeconds;
use crate::validation::rules::{self, Bounds, Choice};
use crate::validation::{Faults, Path, object, urls, written_epoch};

/// Longest role, in characters.
const ROLE_CHARS_MAX: usize = 1_000;
/// Longest content of each kind, in characters.
const CONTENT_CHARS_MAX: usize = 1_000_000;
/// Longest description of an action, in characters.
const ACTION_CHARS_MAX: usize = 10_000;
/// Longest image in base64, in characters.
const IMAGE_CHARS_MAX: usize = 15_000_000;
/// Most tools, citations or retrieved learnings of one interaction.
const ATTACHMENTS_MAX: usize = 1_000;
/// Longest status of a tool that is kept, in characters.
const TOOL_STATUS_CHARS_MAX: usize = 100;
/// Longest id of a learning, in characters.
const LEARNING_ID_CHARS_MAX: usize = 1_000;
/// Longest exposure receipt, in characters.
const RECEIPT_CHARS_MAX: usize = 8_192;

/// An interaction as the caller sent it: its id, and perhaps its time, are still to be given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InteractionInput {
    /// When it happened, if the caller says so.
    pub created_at: Option<EpochSeconds>,
    /// Who spoke; `User` if not said.
    pub role: String,
    /// What was said.
    pub content: String,
    /// The answer of the shadow agent.
    pub shadow_content: String,
    /// The answer that an expert would have given.
    pub expert_content: String,
    /// What the user did.
    pub user_action: UserActionType,
    /// The action in words.
    pub user_action_description: String,
    /// An image by address.
    pub interacted_image_url: String,
    /// An image in base64.
    pub image_encoding: String,
    /// The tools called.
    pub tools_used: Vec<ToolUsed>,
    /// Learnings that the agent says it used.
    pub citations: Vec<Citation>,
    /// Learnings that were put before the agent.
    pub retrieved_learnings: Vec<RetrievedLearning>,
}

impl InteractionInput {
    pub(super) fn read<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Self> {
        object(
            None,
            value,
            at,
            faults,
            |fields| {
                let contents = rules::bounded(CONTENT_CHARS_MAX);
                let text = String::new;
                let created_at = fields.optional(
                    "created_at",
                    None,
                    |value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>| {
                        rules::integer(Bounds::NONE)(value, at, faults).map(|at| Some(written_epoch(at)))
                    },
                );
                let role = fields.optional("role", "User".to_owned(), rules::bounded(ROLE_CHARS_MAX));
                let content = fields.optional("content", text(), &contents);
                let shadow_content = fields.optional("shadow_content", text(), &contents);
                let expert_content = fields.optional("expert_content", text(), &contents);
                let user_action = fields.optional("user_action", UserActionType::None, rules::choice);
                let description = rules::bounded(ACTION_CHARS_MAX);
                let user_action_description = fields.optional("user_action_description", text(), description);
                let interacted_image_url = fields.optional("interacted_image_url", text(), urls::image_url);
                let image_encoding =
                    fields.optional("image_encoding", text(), rules::bounded(IMAGE_CHARS_MAX));
                let tools = rules::list(0, ATTACHMENTS_MAX, read_tool);
                let tools_used = fields.optional("tools_used", Vec::new(), tools);
                let cited = rules::list(0, ATTACHMENTS_MAX, read_citation);
                let citations = fields.optional("citations", Vec::new(), cited);
                let learnings = rules::list(0, ATTACHMENTS_MAX, read_learning);
                let retrieved_learnings = fields.optional("retrieved_learnings", Vec::new(), learnings);
                Some(Self {
                    created_at: created_at?,
                    role: role?,
                    content: content?,
                    shadow_content: shadow_content?,
                    expert_content: expert_content?,
                    user_action: user_action?,
                    user_action_description: user_action_description?,
                    interacted_image_url: interacted_image_url?,
                    image_encoding: image_encoding?,
                    tools_used: tools_used?,
                    citations: citations?,
                    retrieved_learnings: retrieved_learnings?,
                })
            },
            |_| Ok(()),
        )
    }

    /// The rules across the fields of one interaction.
    pub(super) fn check(&self, index: usize) -> Result<(), String> {
        if self.user_action != UserActionType::None && self.user_action_description.trim().is_empty() {
            return Err(format!(
                "interaction_data_list[{index}] user_action requires a user_action_description"
            ));
        }
        if !self.interacted_image_url.is_empty() && !self.image_encoding.is_empty() {
            return Err(format!(
                "interaction_data_list[{index}] interacted_image_url and image_encoding cannot both be set"
            ));
        }
        Ok(())
    }

    /// Whether there is nothing to keep. Clients append such placeholders for answers still to come.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let texts = [
            &self.content,
            &self.shadow_content,
            &self.expert_content,
            &self.interacted_image_url,
            &self.image_encoding,
        ];
        texts.into_iter().all(|text| text.trim().is_empty())
            && self.tools_used.is_empty()
            && self.citations.is_empty()
            && self.retrieved_learnings.is_empty()
            && self.user_action == UserActionType::None
    }

    /// The interaction as it is stored; `received_at` is its time if the caller gave none.
    #[must_use]
    pub fn into_interaction(self, interaction_id: i64, received_at: EpochSeconds) -> Interaction {
        Interaction {
            interaction_id,
            created_at: self.created_at.unwrap_or(received_at),
            role: self.role,
            content: self.content,
            token_count: None,
            user_action: self.user_action,
            user_action_description: self.user_action_description,
            interacted_image_url: self.interacted_image_url,
            image_encoding: self.image_encoding,
            shadow_content: self.shadow_content,
            expert_content: self.expert_content,
            tools_used: self.tools_used,
            citations: self.citations,
            retrieved_learnings: self.retrieved_learnings,
            image_object: None,
        }
    }
}

fn read_tool<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<ToolUsed> {
    object(
        None,
        value,
        at,
        faults,
        |fields| {
            let tool_name = fields.required("tool_name", rules::text);
            let tool_data = fields.optional("tool_data", serde_json::Map::new(), rules::json_object);
            let status = fields.optional("status", String::new(), rules::any_text);
            let status = status?.chars().take(TOOL_STATUS_CHARS_MAX).collect();
            Some(ToolUsed { tool_name: tool_name?, tool_data: tool_data?, status })
        },
        |_| Ok(()),
    )
}

/// Which table a learning lies in; kept as the word.
#[derive(Clone, Copy)]
struct Kind(&'static str);

impl Choice for Kind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("profile", Self("profile")),
        ("user_playbook", Self("user_playbook")),
        ("agent_playbook", Self("agent_playbook")),
    ];
}

/// The same for citations, which also know the old name of user playbooks.
#[derive(Clone, Copy)]
struct CitedKind(&'static str);

impl Choice for CitedKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("playbook", Self("playbook")),
        ("profile", Self("profile")),
        ("user_playbook", Self("user_playbook")),
        ("agent_playbook", Self("agent_playbook")),
    ];
}

fn read_citation<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<Citation> {
    object(
        None,
        value,
        at,
        faults,
        |fields| {
            let kind = fields.required("kind", rules::choice::<CitedKind>);
            let real_id = fields.required("real_id", rules::text);
            let tag = fields.optional("tag", String::new(), rules::text);
            let title = fields.optional("title", String::new(), rules::text);
            Some(Citation { kind: kind?.0.to_owned(), real_id: real_id?, tag: tag?, title: title? })
        },
        |_| Ok(()),
    )
}

fn read_learning<'v>(value: &'v Value, at: Path<'_>, faults: &mut Faults<'v>) -> Option<RetrievedLearning> {
    object(
        None,
        value,
        at,
        faults,
        |fields| {
            let kind = fields.required("kind", rules::choice::<Kind>);
            let learning_id = fields.required("learning_id", rules::sized(1, LEARNING_ID_CHARS_MAX));
            let receipt = fields.nullable("exposure_receipt", rules::bounded(RECEIPT_CHARS_MAX));
            // A caller's own digest proves nothing: it is checked for its form and dropped.
            let digest = fields.nullable("exposure_receipt_digest", rules::digest);
            digest?;
            Some(RetrievedLearning {
                kind: kind?.0.to_owned(),
                learning_id: learning_id?,
                exposure_receipt_digest: receipt?.as_deref().map(hash_hex),
            })
        },
        |_| Ok(()),
    )
}
