//! What callers see of what is stored, and the answers of the routes. Members that are `None` are left out,
//! empty lists and texts are not; the order of the members is part of the contract.

mod answers;
mod playbooks;
mod profiles;
mod publishing;
mod requests;

pub use answers::{
    AddedAnswer, AgentPlaybooksAnswer, AggregationAnswer, ConfigAnswer, ExperimentAssignment,
    InteractionsAnswer, MyConfigAnswer, PlaybookStatusAnswer, ProfilesAnswer, RequestsAnswer,
    UnifiedSearchAnswer, UserPlaybooksAnswer, WITHHELD, WhoamiAnswer,
};
pub use playbooks::{AgentPlaybookView, UserPlaybookView};
pub use profiles::ProfileView;
pub use publishing::{FinalizeAnswer, LearningReason, LearningState, LearningStatusAnswer, PublishAnswer};
pub use requests::{InteractionView, RequestDataView, RequestView, SessionView};
