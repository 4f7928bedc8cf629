//! Which parts of a user's stream hold some sessions.

/// Positions, the end excluded.
pub(super) type Stretch = (i64, i64);

/// Positions between two sessions that are read along with them: another round trip costs more.
const POSITIONS_BETWEEN_MAX: i64 = 100;
/// Positions that are read at once: their requests are in memory together.
const POSITIONS_AT_ONCE: i64 = 1_000;

/// Stretches that hold these ones, apart from each other and in order.
pub(super) fn stretches(mut spans: Vec<Stretch>) -> Vec<Stretch> {
    spans.sort_unstable();
    let mut apart: Vec<Stretch> = Vec::new();
    for (from, to) in spans {
        match apart.last_mut() {
            Some(last) if from - last.1 <= POSITIONS_BETWEEN_MAX => last.1 = last.1.max(to),
            _ => apart.push((from, to)),
        }
    }
    apart
}

/// A stretch in pieces that are read one after the other.
pub(super) fn pieces((from, to): Stretch) -> impl Iterator<Item = Stretch> {
    let mut start = from;
    std::iter::from_fn(move || {
        let piece = (start, to.min(start + POSITIONS_AT_ONCE));
        start = piece.1;
        (piece.0 < piece.1).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sessions_that_overlap_or_are_close_are_read_as_one() {
        let (near, far) = (20 + POSITIONS_BETWEEN_MAX, 41 + POSITIONS_BETWEEN_MAX * 2);
        let spans = vec![(near, near + 20), (0, 10), (far, far + 1), (5, 20), (6, 7)];
        assert_eq!(stretches(spans), [(0, near + 20), (far, far + 1)]);
        assert!(stretches(Vec::new()).is_empty());
    }

    #[test]
    fn a_long_stretch_is_read_piece_by_piece() {
        let of = |many: i64| pieces((7, 7 + many)).collect::<Vec<_>>();
        assert!(of(0).is_empty());
        assert_eq!(of(POSITIONS_AT_ONCE - 1), [(7, 6 + POSITIONS_AT_ONCE)]);
        assert_eq!(of(POSITIONS_AT_ONCE), [(7, 7 + POSITIONS_AT_ONCE)]);
        let end = 7 + POSITIONS_AT_ONCE;
        assert_eq!(of(POSITIONS_AT_ONCE + 1), [(7, end), (end, end + 1)]);
    }

    proptest! {
        #[test]
        fn every_position_of_every_session_is_read_once(
            spans in prop::collection::vec((0_i64..5_000, 1_i64..2_000), 0..20),
        ) {
            let spans: Vec<Stretch> = spans.into_iter().map(|(from, many)| (from, from + many)).collect();
            let read: Vec<Stretch> = stretches(spans.clone()).into_iter().flat_map(pieces).collect();
            prop_assert!(read.iter().all(|(from, to)| from < to && to - from <= POSITIONS_AT_ONCE));
            prop_assert!(read.is_sorted_by(|one, next| one.1 <= next.0));
            for position in spans.iter().flat_map(|&(from, to)| [from, (from + to) / 2, to - 1]) {
                let many = read.iter().filter(|(from, to)| (*from..*to).contains(&position)).count();
                prop_assert_eq!(many, 1);
            }
        }
    }
}
