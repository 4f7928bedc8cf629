//! Which sessions a job judges: a sample of each stratum, the same whenever it is drawn for the same job.

use std::collections::{BTreeMap, HashMap};

use domain::entities::RetrievalExperimentArm;
use domain::ids::UserId;
use domain::time::{DAY_SECONDS, EpochSeconds};
use sha2::{Digest, Sha256};
use store::{RegenerationCandidate, RequestTrace};

/// What sessions of a stratum have in common: the day on which they began, where from, and the experiment's arm.
type Stratum = (EpochSeconds, String, Option<&'static str>);

/// The sessions that requests belong to, one for each agent version, in the order of session, user and version; each
/// with its stratum. `arm` says in which arm a user was at a time.
pub(super) fn candidates(
    traces: &[RequestTrace],
    arm: impl Fn(&UserId, EpochSeconds) -> Option<RetrievalExperimentArm>,
) -> Vec<(Stratum, RegenerationCandidate)> {
    let mut first: HashMap<(&str, &str), &RequestTrace> = HashMap::new();
    for trace in traces {
        let known = first.entry((trace.user.as_str(), &trace.session_id)).or_insert(trace);
        if (trace.at, &trace.source) < (known.at, &known.source) {
            *known = trace;
        }
    }
    let mut found = BTreeMap::new();
    for trace in traces {
        let Some(began) = first.get(&(trace.user.as_str(), trace.session_id.as_str())) else { continue };
        let arm = arm(&began.user_id, began.at).map(|arm| match arm {
            RetrievalExperimentArm::Treatment => "treatment",
            RetrievalExperimentArm::Holdout => "holdout",
        });
        let day = began.at.div_euclid(DAY_SECONDS) * DAY_SECONDS;
        let candidate = RegenerationCandidate {
            user: trace.user.clone(),
            session_id: trace.session_id.clone(),
            agent_version: trace.agent_version.clone(),
            source: began.source.clone(),
        };
        let order = (trace.session_id.clone(), trace.user.as_str().to_owned(), trace.agent_version.clone());
        found.insert(order, ((day, began.source.clone(), arm), candidate));
    }
    found.into_values().collect()
}

/// At most `per_stratum` of each stratum, in the order in which they came: those whose hash with the job's id is
/// lowest, which is as good as chance and the same each time.
pub(super) fn sample(
    job_id: &str,
    candidates: Vec<(Stratum, RegenerationCandidate)>,
    per_stratum: usize,
) -> Vec<RegenerationCandidate> {
    let mut strata: BTreeMap<Stratum, Vec<(Vec<u8>, usize)>> = BTreeMap::new();
    for (place, (stratum, candidate)) in candidates.iter().enumerate() {
        strata.entry(stratum.clone()).or_default().push((lot(job_id, candidate), place));
    }
    let mut chosen = vec![false; candidates.len()];
    for mut lots in strata.into_values() {
        lots.sort_unstable();
        for (_, place) in lots.into_iter().take(per_stratum) {
            chosen[place] = true;
        }
    }
    let chosen = candidates.into_iter().zip(chosen).filter(|(_, is_chosen)| *is_chosen);
    chosen.map(|((_, candidate), _)| candidate).collect()
}

fn lot(job_id: &str, candidate: &RegenerationCandidate) -> Vec<u8> {
    let parts =
        [job_id, candidate.user.as_str(), candidate.session_id.as_str(), candidate.agent_version.as_str()];
    Sha256::digest(parts.join("\0").as_bytes()).to_vec()
}

#[cfg(test)]
mod tests {
    use domain::ids::UserHash;
    use proptest::prelude::*;

    use super::*;

    fn trace(user: &str, session: &str, version: &str, source: &str, at: EpochSeconds) -> RequestTrace {
        let user_id = UserId::new(user).unwrap();
        RequestTrace {
            user: UserHash::of(&user_id),
            user_id,
            session_id: session.to_owned(),
            agent_version: version.to_owned(),
            source: source.to_owned(),
            at,
        }
    }

    #[test]
    fn a_session_is_a_candidate_once_for_each_agent_version_and_has_the_source_of_its_first_request() {
        let traces = [
            trace("ana", "s1", "v1", "web", 5),
            trace("ana", "s1", "v1", "app", 3),
            trace("ana", "s1", "v2", "web", 9),
            trace("bo", "s1", "v1", "web", 4),
        ];
        let found = candidates(&traces, |_, _| None);
        let seen: Vec<_> =
            found.iter().map(|(_, one)| (one.agent_version.as_str(), one.source.as_str())).collect();
        assert_eq!(found.len(), 3);
        assert_eq!(seen.iter().filter(|one| **one == ("v1", "app")).count(), 1);
        assert!(seen.contains(&("v2", "app")) && seen.contains(&("v1", "web")));
    }

    #[test]
    fn days_sources_and_arms_are_strata_of_their_own() {
        let traces = [
            trace("ana", "s1", "v1", "web", 0),
            trace("ana", "s2", "v1", "web", DAY_SECONDS),
            trace("ana", "s3", "v1", "app", 0),
            trace("bo", "s4", "v1", "web", 0),
        ];
        let arm = |user: &UserId, _| (user.as_str() == "bo").then_some(RetrievalExperimentArm::Holdout);
        assert_eq!(sample("job", candidates(&traces, arm), 1).len(), 4);
        assert_eq!(sample("job", candidates(&traces, |_, _| None), 1).len(), 3);
    }

    proptest! {
        #[test]
        fn a_sample_is_no_larger_than_it_may_be_and_is_the_same_whenever_it_is_drawn(
            sessions in 0_usize..60, per_stratum in 1_usize..20, job in "[a-f0-9]{8}",
        ) {
            let traces: Vec<_> =
                (0..sessions).map(|n| trace("ana", &format!("s{n}"), "v1", "web", 7)).collect();
            let one = sample(&job, candidates(&traces, |_, _| None), per_stratum);
            prop_assert_eq!(one.len(), sessions.min(per_stratum));
            let reversed: Vec<_> = traces.into_iter().rev().collect();
            prop_assert_eq!(one, sample(&job, candidates(&reversed, |_, _| None), per_stratum));
        }
    }
}
