//! Many cosines at once: rows packed so that the compiler multiplies them in wide registers.

use crate::rows::Rows;

/// Rows of a panel.
pub(crate) const WIDTH: usize = 8;
/// Rows that are multiplied with a panel at a time: the sums of so many fit the registers of any processor.
const HEIGHT: usize = 4;

/// Values of the rows of a panel in one dimension.
type Lanes = [f32; WIDTH];

/// Rows of length one, eight to a panel, dimension by dimension. The last panel is filled up with zeros.
pub(crate) struct Panels {
    dimension: usize,
    lanes: Vec<Lanes>,
}

impl Panels {
    /// Packs rows.
    pub(crate) fn pack(rows: &Rows<'_>) -> Self {
        let dimension = rows.dimension();
        let mut lanes = vec![[0f32; WIDTH]; rows.len().div_ceil(WIDTH) * dimension];
        for row in 0..rows.len() {
            let panel = &mut lanes[row / WIDTH * dimension..][..dimension];
            for (lanes, value) in panel.iter_mut().zip(rows.unit(row)) {
                lanes[row % WIDTH] = value;
            }
        }
        Self { dimension, lanes }
    }

    /// How many panels there are.
    pub(crate) fn len(&self) -> usize {
        self.lanes.len() / self.dimension
    }

    fn panel(&self, at: usize) -> &[Lanes] {
        &self.lanes[at * self.dimension..][..self.dimension]
    }

    /// The cosine of each row of one panel with each of another. It does not depend on where rows stand.
    pub(crate) fn cosines(&self, a: usize, b: usize) -> [Lanes; WIDTH] {
        self.sums(a, b, |a, b| a * b)
    }

    /// The same for cosine distances, from the differences of the rows: this takes longer, and keeps its digits where
    /// `1 − cos` loses them, between rows that are almost equal.
    pub(crate) fn near_distances(&self, a: usize, b: usize) -> [Lanes; WIDTH] {
        let sums = self.sums(a, b, |a, b| (a - b) * (a - b));
        sums.map(|row| row.map(|sum| sum / 2.0))
    }

    /// The sum over all dimensions of what `term` makes of each row of one panel and each of another.
    fn sums(&self, a: usize, b: usize, term: impl Fn(f32, f32) -> f32 + Copy) -> [Lanes; WIDTH] {
        let (a, b) = (self.panel(a), self.panel(b));
        let (upper, lower) = (sums_of_some::<0>(a, b, term), sums_of_some::<HEIGHT>(a, b, term));
        std::array::from_fn(|row| if row < HEIGHT { upper[row] } else { lower[row - HEIGHT] })
    }
}

/// The sums for [`HEIGHT`] rows of the one panel, from `FIRST` on.
fn sums_of_some<const FIRST: usize>(
    a: &[Lanes],
    b: &[Lanes],
    term: impl Fn(f32, f32) -> f32,
) -> [Lanes; HEIGHT] {
    let mut sums = [[0f32; WIDTH]; HEIGHT];
    for (a, b) in a.iter().zip(b) {
        for (row, sums) in sums.iter_mut().enumerate() {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += term(a[FIRST + row], *b);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_rows_meets() {
        let rows: Vec<Vec<f32>> = (0..19u8)
            .map(|row| (0..3u8).map(|k| f32::from((row * 7 + k * 11) % 13) - 5.5).collect())
            .collect();
        let (rows, _) = Rows::select(&rows);
        let panels = Panels::pack(&rows);
        assert_eq!(panels.len(), 3);
        for (a, b) in (0..24).flat_map(|a| (0..24).map(move |b| (a, b))) {
            let cosine = panels.cosines(a / WIDTH, b / WIDTH)[a % WIDTH][b % WIDTH];
            let mirrored = panels.cosines(b / WIDTH, a / WIDTH)[b % WIDTH][a % WIDTH];
            assert_eq!(cosine.to_bits(), mirrored.to_bits());
            if a.max(b) < rows.len() {
                let expected = rows.distance(a, b) as f32;
                let distance = panels.near_distances(a / WIDTH, b / WIDTH)[a % WIDTH][b % WIDTH];
                assert!((1.0 - cosine - expected).abs() < 1e-6, "{a} {b}: {cosine} {expected}");
                assert!((distance - expected).abs() < 1e-6, "{a} {b}: {distance} {expected}");
            }
        }
    }

    #[test]
    fn almost_equal_rows_keep_their_distances() {
        let angle = 1e-5f32;
        let rows = [[1.0, 0.0], [angle.cos(), angle.sin()], [1.0, 0.0]];
        let (rows, _) = Rows::select(&rows);
        let distances = Panels::pack(&rows).near_distances(0, 0);
        let expected = angle * angle / 2.0;
        assert!((distances[0][1] / expected - 1.0).abs() < 1e-3, "{}", distances[0][1]);
        assert_eq!(distances[0][2].to_bits(), 0f32.to_bits());
    }
}
