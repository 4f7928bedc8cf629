//! The rule of the stream, for random arrivals, flags and clocks.

use domain::learning::LearningKind;
use proptest::prelude::*;

use super::examples_tests::{policy, segment};
use super::*;

#[derive(Debug, Clone)]
struct Arrival {
    count: u32,
    session: u8,
    force: bool,
    finished: bool,
    /// Kept for evaluation only, or from a source that is not learned from.
    ineligible: bool,
    /// Seconds that pass before it.
    pause: i64,
    /// Whether the worker looks after it.
    worker_looks: bool,
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let rare = || prop::bool::weighted(0.12);
    let arrival = (0u32..14, 0u8..3, rare(), rare(), rare(), 0i64..15_000, any::<bool>());
    prop::collection::vec(
        arrival.prop_map(|(count, session, force, finished, ineligible, pause, worker_looks)| Arrival {
            count,
            session,
            force,
            finished,
            ineligible,
            pause,
            worker_looks,
        }),
        1..25,
    )
}

fn sizes() -> impl Strategy<Value = (u32, u32)> {
    (1u32..14).prop_flat_map(|window| (Just(window), 1..=window))
}

struct World {
    segments: Vec<Segment>,
    cursor: Cursor,
    head: u64,
    eligible: u64,
    now: i64,
    learned: Vec<u64>,
    window: usize,
}

impl World {
    fn new(window: u32) -> Self {
        Self {
            segments: Vec::new(),
            cursor: Cursor::default(),
            head: 0,
            eligible: 0,
            now: 0,
            learned: Vec::new(),
            window: window as usize,
        }
    }

    fn arrive(&mut self, arrival: &Arrival, sizes: (u32, u32)) {
        self.now += arrival.pause;
        let mut document = segment(self.head, arrival.count, &format!("s{}", arrival.session), self.now);
        document.policy.force = arrival.force;
        document.policy.session_finished = arrival.finished;
        document.policy.profile = policy(sizes.0, sizes.1);
        document.policy.profile.eligible = !arrival.ineligible;
        self.eligible += document.inputs(LearningKind::Profile).count() as u64;
        self.head = document.end();
        self.segments.push(document);
    }

    fn select(&self) -> Selection {
        let slice = Slice { segments: &self.segments, reaches_head: true };
        select(LearningKind::Profile, slice, &self.cursor, self.now).unwrap()
    }

    fn counters(&self) -> HeadCounters {
        HeadCounters {
            eligible: self.eligible,
            completed_eligible: self.cursor.completed_eligible,
            started: self.cursor.started,
        }
    }

    fn drain(&mut self) {
        while let Selection::Ready(window) = self.select() {
            self.check(&window);
            self.learned.extend(&window.new);
            self.cursor = self.cursor.after(&window);
        }
    }

    fn check(&self, window: &Window) {
        assert!(!window.new.is_empty());
        assert!(window.new.len() + window.context.len() <= self.window);
        let learned_before = self.learned.len();
        let expected = &self.learned[learned_before.saturating_sub(window.context.len())..];
        assert_eq!(window.context, expected, "the context is what was learned last");
        let full = window.context.len() == self.window - window.new.len();
        assert!(full || window.context.len() == learned_before, "as much context as fits");
        assert!(window.end_exclusive > *window.new.last().unwrap());
        assert!(window.new[0] >= self.cursor.completed);
    }

    fn inputs(&self) -> Vec<u64> {
        self.segments.iter().flat_map(|segment| segment.inputs(LearningKind::Profile)).collect()
    }
}

proptest! {
    #[test]
    fn every_eligible_interaction_is_new_in_exactly_one_window(sizes in sizes(), arrivals in arrivals()) {
        let mut world = World::new(sizes.0);
        for arrival in &arrivals {
            world.arrive(arrival, sizes);
            if arrival.worker_looks {
                world.drain();
                prop_assert_eq!(&world.learned[..], &world.inputs()[..world.learned.len()]);
            }
        }
        world.now += 1_000_000;
        world.drain();
        prop_assert_eq!(&world.learned, &world.inputs());
        let drained = matches!(world.select(), Selection::Drained { end_exclusive } if end_exclusive == world.head);
        prop_assert!(drained);
    }

    #[test]
    fn the_counters_and_the_stream_agree_on_whether_a_window_is_due(
        sizes in sizes(), arrivals in arrivals(), eager in any::<bool>(),
    ) {
        let mut world = World::new(sizes.0);
        for arrival in &arrivals {
            let arrival = Arrival { finished: false, pause: 0, ..arrival.clone() };
            let was_ready = matches!(world.select(), Selection::Ready(_));
            world.arrive(&arrival, sizes);
            let ready = matches!(world.select(), Selection::Ready(_));
            let policy = policy(sizes.0, sizes.1);
            if !was_ready {
                let asks = arrival.force && !arrival.ineligible && arrival.count > 0;
                prop_assert_eq!(is_due_on_arrival(world.counters(), policy, asks), Ok(ready));
            }
            if eager || arrival.worker_looks {
                world.drain();
                prop_assert_eq!(is_window_due(world.counters(), policy), Ok(false));
            }
        }
    }

    #[test]
    fn full_windows_do_not_depend_on_when_the_worker_looks(sizes in sizes(), arrivals in arrivals()) {
        let windows = |looks: &dyn Fn(usize) -> bool| {
            let mut world = World::new(sizes.0);
            let mut windows = Vec::new();
            for (n, arrival) in arrivals.iter().enumerate() {
                world.arrive(&Arrival { pause: 0, finished: false, ..arrival.clone() }, sizes);
                while looks(n) && let Selection::Ready(window) = world.select() {
                    world.cursor = world.cursor.after(&window);
                    windows.push((window.context, window.new));
                }
            }
            windows
        };
        let last = arrivals.len() - 1;
        prop_assert_eq!(windows(&|_| true), windows(&|n| n == last));
    }

    #[test]
    fn a_cut_slice_never_selects_another_window_than_the_whole_stream(
        sizes in sizes(), arrivals in arrivals(), cut in 0usize..25,
    ) {
        let mut world = World::new(sizes.0);
        for arrival in &arrivals {
            world.arrive(&Arrival { pause: 0, finished: false, ..arrival.clone() }, sizes);
        }
        let segments = &world.segments[..cut.min(world.segments.len())];
        let slice = Slice { segments, reaches_head: false };
        let selected = select(LearningKind::Profile, slice, &world.cursor, 0).unwrap();
        if let (Selection::Ready(cut), Selection::Ready(whole)) = (&selected, &world.select()) {
            prop_assert_eq!(&cut.new, &whole.new);
        } else {
            prop_assert_eq!(selected, Selection::NeedsMore);
        }
    }
}
