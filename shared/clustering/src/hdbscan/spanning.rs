//! The minimum spanning tree of rows under their distances, without keeping these.
//!
//! Distances come block by block. Edges that could still improve the forest of the blocks before are collected and
//! merged into it (Kruskal). Edges are totally ordered, by distance and then by rows, so the tree does not depend
//! on how they came.

use super::panels::{Panels, WIDTH};
use crate::MAX_ROWS;
use crate::rows::Rows;

/// Panels that stay in the processor's cache while they are compared with all later ones.
const BLOCK_PANELS: usize = 8;
/// Candidates a row that are collected before they are merged.
const CANDIDATES_PER_ROW: usize = 8;
/// Below this distance `1 − cos` keeps too few digits in f32.
const NEAR: f32 = 1e-3;
/// More than `1 − cos` is wrong by in f32.
const NEAR_ERROR: f32 = 1e-5;

/// Two rows and their distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Edge {
    /// The earlier row.
    pub(crate) low: usize,
    /// The later row.
    pub(crate) high: usize,
    /// Their distance.
    pub(crate) distance: f64,
}

/// The `rows − 1` edges of the tree, shortest first, then by rows.
pub(crate) fn minimum_spanning_tree(rows: &Rows<'_>) -> Vec<Edge> {
    let panels = Panels::pack(rows);
    let mut forest = Forest::new(rows.len());
    for first in (0..panels.len()).step_by(BLOCK_PANELS) {
        for right in first..panels.len() {
            for left in first..(first + BLOCK_PANELS).min(right + 1) {
                forest.offer(&panels, left, right);
            }
            if forest.candidates.len() >= CANDIDATES_PER_ROW * rows.len() {
                forest.merge();
            }
        }
    }
    forest.merge();
    // The choice was made in f32; the lengths are told in f64.
    let exact = |edge: &Candidate| {
        let (low, high) = edge.rows();
        Edge { low, high, distance: rows.distance(low, high) }
    };
    let mut edges: Vec<_> = forest.edges.iter().map(exact).collect();
    edges.sort_by(|a, b| a.distance.total_cmp(&b.distance).then((a.low, a.high).cmp(&(b.low, b.high))));
    edges
}

/// An edge in one number that orders as edges do: the bits of the distance, which is not negative, then the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate(u64);

const _: () = assert!(MAX_ROWS <= 1 << 16, "a row fits 16 bits");

impl Candidate {
    fn new(distance: f32, low: usize, high: usize) -> Self {
        Self(u64::from(distance.to_bits()) << 32 | (low as u64) << 16 | high as u64)
    }

    fn distance(self) -> f32 {
        f32::from_bits((self.0 >> 32) as u32)
    }

    fn rows(self) -> (usize, usize) {
        ((self.0 >> 16 & 0xffff) as usize, (self.0 & 0xffff) as usize)
    }
}

/// The minimum spanning forest of the edges merged so far, and the edges that wait.
struct Forest {
    edges: Vec<Candidate>,
    candidates: Vec<Candidate>,
    /// The longest edge on the way from each row to a certain one. The longest on the way between two rows is at most
    /// the larger of theirs; an edge that is no shorter cannot improve the forest.
    reach: Vec<f32>,
}

impl Forest {
    fn new(rows: usize) -> Self {
        Self { edges: Vec::new(), candidates: Vec::new(), reach: vec![f32::INFINITY; rows] }
    }

    /// Takes the pairs of rows of two panels.
    fn offer(&mut self, panels: &Panels, left: usize, right: usize) {
        let rows = self.reach.len();
        let last = rows.min((right + 1) * WIDTH);
        let mut near = None;
        for (i, cosines) in panels.cosines(left, right).iter().enumerate() {
            let low = left * WIDTH + i;
            for (j, high) in (right * WIDTH..last).enumerate().filter(|(_, high)| low < *high) {
                let limit = self.reach[low].max(self.reach[high]);
                let mut distance = 1.0 - cosines[j];
                if distance >= limit + NEAR_ERROR || limit <= 0.0 {
                    continue;
                }
                if distance < NEAR {
                    distance = near.get_or_insert_with(|| panels.near_distances(left, right))[i][j];
                }
                if distance < limit {
                    self.candidates.push(Candidate::new(distance, low, high));
                }
            }
        }
    }

    /// Makes the forest of its own edges and the candidates.
    fn merge(&mut self) {
        self.candidates.append(&mut self.edges);
        self.candidates.sort_unstable();
        self.reach.fill(f32::INFINITY);
        let Some((root, _)) = self.candidates.first().map(|shortest| shortest.rows()) else { return };
        self.reach[root] = 0.0;
        let mut sets = Sets::new(self.reach.len());
        for edge in self.candidates.drain(..) {
            let (low, high) = edge.rows();
            let [a, b] = [low, high].map(|row| sets.find(row));
            if a == b {
                continue;
            }
            // Edges ascend: what is joined to the root now is reached over this one at the longest.
            let root_set = sets.find(root);
            if root_set == a || root_set == b {
                let joined = if root_set == a { b } else { a };
                sets.for_each(joined, |row| self.reach[row] = edge.distance());
            }
            sets.join(a, b);
            self.edges.push(edge);
        }
    }
}

/// Disjoint sets of rows whose members can be told.
pub(crate) struct Sets {
    parent: Vec<usize>,
    size: Vec<usize>,
    /// The members of a set, in a ring.
    next: Vec<usize>,
}

impl Sets {
    /// Each row for itself.
    pub(crate) fn new(rows: usize) -> Self {
        Self { parent: (0..rows).collect(), size: vec![1; rows], next: (0..rows).collect() }
    }

    /// The representative of a row's set.
    pub(crate) fn find(&mut self, mut row: usize) -> usize {
        while self.parent[row] != row {
            self.parent[row] = self.parent[self.parent[row]];
            row = self.parent[row];
        }
        row
    }

    /// Joins two sets, given by their representatives; returns the representative.
    pub(crate) fn join(&mut self, a: usize, b: usize) -> usize {
        let (large, small) = if self.size[a] >= self.size[b] { (a, b) } else { (b, a) };
        self.parent[small] = large;
        self.size[large] += self.size[small];
        self.next.swap(a, b);
        large
    }

    fn for_each(&self, member: usize, mut act: impl FnMut(usize)) {
        let mut row = member;
        loop {
            act(row);
            row = self.next[row];
            if row == member {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prim's algorithm over exact distances, of which the earliest rows win: plain, slow and different.
    fn reference(rows: &Rows<'_>) -> f64 {
        let mut nearest = vec![f64::INFINITY; rows.len()];
        let mut is_in = vec![false; rows.len()];
        let (mut at, mut length) = (0, 0.0);
        for _ in 1..rows.len() {
            is_in[at] = true;
            let outside: Vec<_> = (0..rows.len()).filter(|row| !is_in[*row]).collect();
            for row in &outside {
                nearest[*row] = nearest[*row].min(rows.distance(at, *row));
            }
            at = outside.into_iter().min_by(|a, b| nearest[*a].total_cmp(&nearest[*b])).unwrap();
            length += nearest[at];
        }
        length
    }

    /// Rows that look random, in some groups.
    fn scattered(count: usize, groups: u32) -> Vec<[f32; 5]> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        let centres: Vec<[f32; 5]> = (0..groups).map(|_| std::array::from_fn(|_| next())).collect();
        (0..count).map(|row| centres[row % centres.len()].map(|value| value + next() / 8.0)).collect()
    }

    #[test]
    fn candidates_order_by_distance_and_then_by_rows() {
        let last = MAX_ROWS - 1;
        let ascending = [
            (0.0, 0, 1),
            (0.0, 0, last),
            (0.0, 1, 2),
            (f32::MIN_POSITIVE, 0, 1),
            (0.5, 0, 1),
            (2.0, last - 1, last),
        ];
        let candidates = ascending.map(|(distance, low, high)| Candidate::new(distance, low, high));
        assert!(candidates.is_sorted());
        for (candidate, (distance, low, high)) in candidates.into_iter().zip(ascending) {
            assert_eq!(
                (candidate.distance().to_bits(), candidate.rows()),
                (f32::to_bits(distance), (low, high))
            );
        }
    }

    #[test]
    fn the_tree_is_as_short_as_can_be() {
        // Below, at and above the borders of panels and blocks, with more candidates than are merged at once.
        for count in [2, 7, 8, 9, 63, 64, 65, 300] {
            for groups in [1, 4] {
                let rows = scattered(count, groups);
                let (rows, _) = Rows::select(&rows);
                let edges = minimum_spanning_tree(&rows);
                assert_eq!(edges.len(), count - 1);
                assert!(edges.is_sorted_by_key(|edge| edge.distance));
                let mut sets = Sets::new(count);
                for edge in &edges {
                    let [a, b] = [edge.low, edge.high].map(|row| sets.find(row));
                    assert_ne!(a, b, "no circle");
                    sets.join(a, b);
                }
                let (ours, theirs) = (edges.iter().map(|edge| edge.distance).sum::<f64>(), reference(&rows));
                assert!(
                    (ours - theirs).abs() < 1e-6 * theirs,
                    "{count} rows, {groups} groups: {ours} {theirs}"
                );
            }
        }
    }

    #[test]
    fn of_equal_edges_those_of_earlier_rows_are_taken() {
        let rows = [[1.0f32, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]];
        let (rows, _) = Rows::select(&rows);
        let edges: Vec<_> = minimum_spanning_tree(&rows).iter().map(|edge| (edge.low, edge.high)).collect();
        assert_eq!(edges, [(0, 1), (0, 2), (3, 4), (0, 3)]);
    }
}
