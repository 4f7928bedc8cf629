//! What goes wrong, when, and how: a seeded plan of rules over the calls that reach the hub.

use std::time::Duration;

use super::random::SplitMix64;

/// What happens to a call that a rule picks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The call is held up on the hub's clock, then goes on.
    Delay(Duration),
    /// The service is not called.
    FailBefore(Failure),
    /// The service does its work and the answer is lost on the way back.
    FailAfter,
    /// The service is not called and no answer comes until the caller's read time-out, if it set one.
    Drop,
    /// `TransactionCanceledException` with one `TransactionConflict` reason for DynamoDB's transactions,
    /// `TransactionConflictException` for its single calls; the service is not called. Other services have
    /// no conflicts: their calls are let through.
    TransactionConflict,
    /// The service's own refusal of too many calls; it is not called.
    Throttle,
}

/// How a call fails that never reached its service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// HTTP 500 with the service's internal error.
    InternalError,
    /// HTTP 503.
    Unavailable,
    /// The connection broke: no answer at all.
    Connection,
}

#[derive(Debug, Clone, Copy)]
enum When {
    Always,
    Nth(u64),
    First(u64),
    Probability(f64),
}

/// One rule: which calls, when among those, and what happens to them.
#[derive(Debug, Clone)]
pub struct Rule {
    service: Option<String>,
    operation: Option<String>,
    when: When,
    action: Action,
    seen: u64,
}

impl Rule {
    /// `action` on every call; narrow it with the methods below.
    #[must_use]
    pub fn new(action: Action) -> Self {
        Self { service: None, operation: None, when: When::Always, action, seen: 0 }
    }

    /// Only calls to `service`, named as in a signature: `dynamodb`, `s3`, `sqs`, …
    #[must_use]
    pub fn service(mut self, service: &str) -> Self {
        self.service = Some(service.to_owned());
        self
    }

    /// Only calls of `operation`, e.g. `TransactWriteItems`.
    #[must_use]
    pub fn operation(mut self, operation: &str) -> Self {
        self.operation = Some(operation.to_owned());
        self
    }

    /// Only the `n`-th matching call since the plan was set, counted from 1.
    #[must_use]
    pub fn nth(mut self, n: u64) -> Self {
        self.when = When::Nth(n);
        self
    }

    /// Only the first `n` matching calls since the plan was set.
    #[must_use]
    pub fn first(mut self, n: u64) -> Self {
        self.when = When::First(n);
        self
    }

    /// Each matching call with this probability, 0 to 1.
    #[must_use]
    pub fn probability(mut self, probability: f64) -> Self {
        self.when = When::Probability(probability);
        self
    }

    fn fires(&mut self, service: &str, operation: &str, random: &mut SplitMix64) -> bool {
        let matches =
            |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
        if !matches(&self.service, service) || !matches(&self.operation, operation) {
            return false;
        }
        self.seen += 1;
        match self.when {
            When::Always => true,
            When::Nth(n) => self.seen == n,
            When::First(n) => self.seen <= n,
            When::Probability(probability) => random.chance(probability),
        }
    }
}

/// Rules in order. Delays add up; the first other rule that fires ends the search, so that at most one
/// failure meets a call.
#[derive(Debug, Clone)]
pub struct FaultPlan {
    rules: Vec<Rule>,
    random: SplitMix64,
}

/// What the plan says about one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) delay: Duration,
    pub(crate) action: Option<Action>,
    /// Chooses which item of a transaction meets the conflict.
    pub(crate) choice: u64,
}

impl FaultPlan {
    /// A plan without rules. The same seed over the same calls fails the same ones.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rules: Vec::new(), random: SplitMix64::new(seed) }
    }

    /// Adds a rule after those there are.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    pub(crate) fn judge(&mut self, service: &str, operation: &str) -> Verdict {
        let mut verdict = Verdict::default();
        for rule in &mut self.rules {
            if !rule.fires(service, operation, &mut self.random) {
                continue;
            }
            if let Action::Delay(delay) = rule.action {
                verdict.delay += delay;
            } else {
                verdict.action = Some(rule.action);
                verdict.choice = self.random.next_u64();
                break;
            }
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(plan: &mut FaultPlan, calls: usize) -> Vec<bool> {
        (0..calls).map(|_| plan.judge("dynamodb", "PutItem").action.is_some()).collect()
    }

    #[test]
    fn nth_and_first_count_only_what_they_match() {
        let rule = Rule::new(Action::FailAfter).service("dynamodb").operation("PutItem");
        let mut plan = FaultPlan::new(1).rule(rule.clone().nth(2));
        assert_eq!(plan.judge("s3", "PutItem").action, None);
        assert_eq!(plan.judge("dynamodb", "GetItem").action, None);
        assert_eq!(fate(&mut plan, 3), [false, true, false]);
        let mut plan = FaultPlan::new(1).rule(rule.first(2));
        assert_eq!(fate(&mut plan, 3), [true, true, false]);
    }

    #[test]
    fn a_seed_decides_everything() {
        let plan = |seed| FaultPlan::new(seed).rule(Rule::new(Action::Throttle).probability(0.3));
        let fates: Vec<_> = (0..2).map(|_| fate(&mut plan(9), 200)).collect();
        assert_eq!(fates[0], fates[1]);
        assert_ne!(fates[0], fate(&mut plan(10), 200));
        let failed = fates[0].iter().filter(|failed| **failed).count();
        assert!((30..90).contains(&failed), "{failed} of 200 failed");
    }

    #[test]
    fn delays_add_up_and_the_first_failure_wins() {
        let mut plan = FaultPlan::new(0)
            .rule(Rule::new(Action::Delay(Duration::from_millis(2))))
            .rule(Rule::new(Action::Delay(Duration::from_millis(3))))
            .rule(Rule::new(Action::Drop))
            .rule(Rule::new(Action::FailAfter));
        let verdict = plan.judge("s3", "GetObject");
        assert_eq!((verdict.delay, verdict.action), (Duration::from_millis(5), Some(Action::Drop)));
    }
}
