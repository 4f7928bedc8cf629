//! What callers see of what is stored, and the answers of the routes. Members that are `None` are left out,
//! empty lists and texts are not; the order of the members is part of the contract.

mod answers;
mod evaluations;
mod experiments;
mod judging;
mod operations;
mod outcomes;
mod overview;
mod playbooks;
mod profiles;
mod provenance;
mod publishing;
mod requests;
mod review;
mod shadow;
mod stalls;
mod versions;

pub use answers::{
    AddedAnswer, AgentPlaybooksAnswer, AggregationAnswer, BulkDeletedAnswer, ChangedAnswer, ConfigAnswer,
    DeletedAnswer, ExperimentAssignment, InteractionsAnswer, InvalidateCacheAnswer, MyConfigAnswer,
    ProfilesAnswer, RequestsAnswer, UnifiedSearchAnswer, UserPlaybooksAnswer, WITHHELD, WhoamiAnswer,
};
pub use evaluations::{EvaluationResultView, EvaluationResultsAnswer};
pub use experiments::{ArmMetrics, ExperimentResultsAnswer, ExperimentView, ExperimentsAnswer};
pub use judging::{
    GradeAnswer, RegenerationFailure, RegenerationStarted, RegenerationView, RetrievedLearningResultsAnswer,
};
pub use operations::{CancelledAnswer, FailedUser, GenerationAnswer, OperationAnswer, OperationView};
pub use outcomes::{OutcomeFailureReason, SessionOutcomeAnswer, SessionOutcomeView, SessionOutcomesAnswer};
pub use overview::{
    BehaviorSuccess, BraintrustTile, ContextTiles, GroupPoint, GroupTrends, HeroBlock, HeroBucket, HeroState,
    NumberWithDelta, OverviewAnswer, PercentWithDelta, RuleAttribution, ScoreDistribution, SessionSlice,
    ShadowDay, ShadowTotal, ShadowTrend, SourceSessions, SourceSetComparison, SourceSetMetrics,
};
pub use playbooks::{AgentPlaybookView, UserPlaybookView};
pub use profiles::{LoggedProfileView, ProfileChangeView, ProfileChangesAnswer, ProfileView};
pub use provenance::{ProvenanceAnswer, ProvenanceStatus, SourcePlaybookView};
pub use publishing::{FinalizeAnswer, LearningReason, LearningState, LearningStatusAnswer, PublishAnswer};
pub use requests::{InteractionView, RequestDataView, RequestView, SessionView};
pub use review::{EVIDENCE_UNAVAILABLE, ReviewAnswer, ReviewDecision, ReviewEdit, ReviewResult};
pub use shadow::{RecentShadowComparisons, ShadowOutputView, ShadowVerdictView};
pub use stalls::{NotifiedAnswer, StallAnswer};
pub use versions::{
    DowngradeProfilesAnswer, DowngradeUserPlaybooksAnswer, UpgradeProfilesAnswer, UpgradeUserPlaybooksAnswer,
    VersionOutcome, VersionTotals,
};
