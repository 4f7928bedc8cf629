//! The rows that can be compared, and the distance of two of them.

use std::collections::HashMap;

/// Independent sums of the dot product: enough for the compiler to fill wide registers.
const LANES: usize = 8;
/// Distances below are rounding: the rows point the same way.
const DISTANCE_RESOLUTION: f64 = 1e-12;

/// A row that was not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// Its index.
    pub row: usize,
    /// What is wrong with it.
    pub reason: Unusable,
}

/// What is wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// Its dimension is not that of most rows (if two are equally frequent, that of the last row of them).
    Dimension,
    /// A value is not a finite number.
    NotFinite,
    /// It is zero, or has no dimensions, and so has no direction.
    Zero,
}

/// Rows of one dimension, finite and not zero.
pub(crate) struct Rows<'a> {
    dimension: usize,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    origin: usize,
    values: &'a [f32],
    squared_norm: f64,
}

impl<'a> Rows<'a> {
    /// Tells the usable rows from those that are left out.
    pub(crate) fn select<R: AsRef<[f32]>>(all: &'a [R]) -> (Self, Vec<LeftOut>) {
        let dimension = common_dimension(all);
        let mut rows = Vec::with_capacity(all.len());
        let mut left_out = Vec::new();
        for (origin, row) in all.iter().enumerate() {
            let values = row.as_ref();
            match squared_norm(values, dimension) {
                Ok(squared_norm) => rows.push(Row { origin, values, squared_norm }),
                Err(reason) => left_out.push(LeftOut { row: origin, reason }),
            }
        }
        (Self { dimension, rows }, left_out)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many values a row has.
    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// The index that the caller gave a row.
    pub(crate) fn origin(&self, row: usize) -> usize {
        self.rows[row].origin
    }

    /// A row, scaled to length one.
    pub(crate) fn unit(&self, row: usize) -> impl Iterator<Item = f32> {
        let row = &self.rows[row];
        let norm = row.squared_norm.sqrt();
        row.values.iter().map(move |value| (f64::from(*value) / norm) as f32)
    }

    /// The cosine distance, 0 to 2; exactly 0 for equal rows.
    pub(crate) fn distance(&self, a: usize, b: usize) -> f64 {
        let [a, b] = [a, b].map(|row| &self.rows[row]);
        // One root of the product, not two: with equal rows the quotient is then exactly one. Squares of f32 values
        // neither overflow nor vanish in f64, nor do products of two sums of them.
        let cosine = dot(a.values, b.values) / (a.squared_norm * b.squared_norm).sqrt();
        let distance = (1.0 - cosine).min(2.0);
        if distance < DISTANCE_RESOLUTION { 0.0 } else { distance }
    }
}

/// The dimension of most rows.
fn common_dimension<R: AsRef<[f32]>>(rows: &[R]) -> usize {
    let mut counts: HashMap<usize, (usize, usize)> = HashMap::new();
    for (last, row) in rows.iter().enumerate() {
        let count = counts.entry(row.as_ref().len()).or_default();
        *count = (count.0 + 1, last);
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map_or(0, |(dimension, _)| dimension)
}

fn squared_norm(values: &[f32], dimension: usize) -> Result<f64, Unusable> {
    if values.len() != dimension {
        return Err(Unusable::Dimension);
    }
    if values.iter().any(|value| !value.is_finite()) {
        return Err(Unusable::NotFinite);
    }
    let squared_norm = dot(values, values);
    if squared_norm > 0.0 { Ok(squared_norm) } else { Err(Unusable::Zero) }
}

/// The dot product of rows of the same length; only sums round, and the order of the arguments does not matter.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let (a, rest_of_a) = a.as_chunks::<LANES>();
    let (b, rest_of_b) = b.as_chunks::<LANES>();
    let mut sums = [0f64; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += f64::from(a[lane]) * f64::from(b[lane]);
        }
    }
    let rest = rest_of_a.iter().zip(rest_of_b).map(|(a, b)| f64::from(*a) * f64::from(*b));
    sums.into_iter().chain(rest).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(rows: &[&[f32]]) -> Vec<(usize, Unusable)> {
        Rows::select(rows).1.into_iter().map(|LeftOut { row, reason }| (row, reason)).collect()
    }

    #[test]
    fn rows_that_cannot_be_compared_are_told() {
        let rows: [&[f32]; 7] = [
            &[1.0, 2.0],
            &[0.0, -0.0],
            &[f32::NAN, 1.0],
            &[1.0],
            &[],
            &[1.0, f32::NEG_INFINITY],
            &[3.0, 4.0],
        ];
        let wrong = [
            (1, Unusable::Zero),
            (2, Unusable::NotFinite),
            (3, Unusable::Dimension),
            (4, Unusable::Dimension),
            (5, Unusable::NotFinite),
        ];
        assert_eq!(left_out(&rows), wrong);
        let (usable, _) = Rows::select(&rows);
        assert_eq!([usable.origin(0), usable.origin(1)], [0, 6]);
        assert_eq!(left_out(&[&[], &[]]), [(0, Unusable::Zero), (1, Unusable::Zero)]);
    }

    #[test]
    fn of_two_dimensions_equally_frequent_the_newer_rules() {
        assert_eq!(
            left_out(&[&[1.0, 2.0], &[1.0], &[2.0], &[1.0, 2.0]]),
            [(1, Unusable::Dimension), (2, Unusable::Dimension)]
        );
    }

    #[test]
    fn distances_are_exact_where_they_can_be() {
        let rows: [&[f32]; 6] = [
            &[3.0, 4.0],
            &[1.0, 0.0],
            &[-1.0, 0.0],
            &[0.3, 0.4],
            &[f32::MAX, 0.0],
            &[f32::from_bits(1), 0.0],
        ];
        let (rows, left_out) = Rows::select(&rows);
        assert!(left_out.is_empty());
        assert_eq!(rows.distance(0, 1).to_bits(), 0.4f64.to_bits());
        assert_eq!(rows.distance(1, 2).to_bits(), 2f64.to_bits());
        assert_eq!(rows.distance(3, 3).to_bits(), 0f64.to_bits());
        assert_eq!(rows.distance(1, 4).to_bits(), 0f64.to_bits(), "neither large values");
        assert_eq!(rows.distance(4, 5).to_bits(), 0f64.to_bits(), "nor small ones are lost");
    }

    #[test]
    fn units_have_length_one() {
        let large = 2f32.powi(100);
        let rows: [&[f32]; 2] = [&[3.0 * large, -4.0 * large], &[1e-40, 0.0]];
        let (rows, _) = Rows::select(&rows);
        assert_eq!(rows.unit(0).collect::<Vec<_>>(), [0.6, -0.8]);
        assert_eq!(rows.unit(1).collect::<Vec<_>>(), [1.0, 0.0]);
    }
}
