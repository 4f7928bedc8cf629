//! Vectors in one byte a dimension, and their cosine.

/// Most dimensions of a vector.
pub const MAX_DIMENSION: usize = 512;
/// First byte of an encoded vector.
const ENCODING_VERSION: u8 = 1;
/// Version, dimension (two bytes) and scale (four bytes), little endian.
const HEADER_BYTES: usize = 7;
/// Largest magnitude of a quantised value.
const LEVELS: f32 = 127.0;
/// Independent sums of the dot product: enough for the compiler to fill wide registers.
const LANES: usize = 32;

/// Why a vector was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// No dimensions, or more than [`MAX_DIMENSION`].
    #[error("a vector has 1 to 512 dimensions, not {0}")]
    Dimension(usize),
    /// A value or the scale is not a finite number.
    #[error("a vector must be made of finite numbers")]
    NotFinite,
    /// The bytes are not an encoded vector of a known version.
    #[error("not an encoded vector")]
    Encoding,
}

/// A vector as signed bytes; a value is about `scale` times its byte.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantizedVector {
    scale: f32,
    values: Vec<i8>,
}

impl QuantizedVector {
    /// Rounds a vector to bytes. The error of a value is at most half the scale, which is the largest
    /// magnitude / 127.
    ///
    /// # Errors
    /// [`VectorError::Dimension`] and [`VectorError::NotFinite`].
    pub fn quantize(vector: &[f32]) -> Result<Self, VectorError> {
        check_dimension(vector.len())?;
        if vector.iter().any(|value| !value.is_finite()) {
            return Err(VectorError::NotFinite);
        }
        let largest = vector.iter().fold(0f32, |largest, value| largest.max(value.abs()));
        let scale = largest / LEVELS;
        if !scale.is_normal() {
            return Ok(Self { scale: 0.0, values: vec![0; vector.len()] });
        }
        let values =
            vector.iter().map(|value| (value / scale).round().clamp(-LEVELS, LEVELS) as i8).collect();
        Ok(Self { scale, values })
    }

    /// The vector, nearly.
    #[must_use]
    pub fn dequantize(&self) -> Vec<f32> {
        self.values.iter().map(|value| f32::from(*value) * self.scale).collect()
    }

    /// What one step of a value means.
    #[must_use]
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// The values, one a dimension.
    #[must_use]
    pub fn values(&self) -> &[i8] {
        &self.values
    }

    /// How many dimensions there are.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.values.len()
    }

    /// Whether every value is zero: such a vector resembles nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.values.iter().all(|value| *value == 0)
    }

    /// The length of the values, without the scale.
    pub(crate) fn norm(&self) -> f32 {
        (dot(&self.values, &self.values) as f32).sqrt()
    }

    /// Seven bytes and one a dimension, to be stored beside a row.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let dimension = u16::try_from(self.values.len()).unwrap_or(u16::MAX);
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.values.len());
        bytes.push(ENCODING_VERSION);
        bytes.extend(dimension.to_le_bytes());
        bytes.extend(self.scale.to_le_bytes());
        bytes.extend(self.values.iter().map(|value| value.cast_unsigned()));
        bytes
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`VectorError::Encoding`] for another version or length, and the errors of [`Self::quantize`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, VectorError> {
        let (header, values) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(VectorError::Encoding)?;
        let [version, d0, d1, s0, s1, s2, s3] = *header;
        if version != ENCODING_VERSION || usize::from(u16::from_le_bytes([d0, d1])) != values.len() {
            return Err(VectorError::Encoding);
        }
        check_dimension(values.len())?;
        let scale = f32::from_le_bytes([s0, s1, s2, s3]);
        if !scale.is_finite() || scale < 0.0 {
            return Err(VectorError::NotFinite);
        }
        Ok(Self { scale, values: values.iter().map(|byte| byte.cast_signed()).collect() })
    }
}

fn check_dimension(dimension: usize) -> Result<(), VectorError> {
    if (1..=MAX_DIMENSION).contains(&dimension) { Ok(()) } else { Err(VectorError::Dimension(dimension)) }
}

/// The cosine of two vectors; `None` when their dimensions differ or one of them is zero.
#[must_use]
pub fn cosine(a: &QuantizedVector, b: &QuantizedVector) -> Option<f32> {
    if a.dimension() != b.dimension() {
        return None;
    }
    cosine_of(&a.values, a.norm(), &b.values, b.norm())
}

/// The cosine of rows whose lengths are known. Scales cancel out.
pub(crate) fn cosine_of(a: &[i8], norm_a: f32, b: &[i8], norm_b: f32) -> Option<f32> {
    let norm = norm_a * norm_b;
    (norm > 0.0).then(|| (dot(a, b) as f32 / norm).clamp(-1.0, 1.0))
}

/// The dot product of rows of the same length. Products fit 16 bits (128 · 128), sums of 512 of them 32 bits.
fn dot(a: &[i8], b: &[i8]) -> i32 {
    let (a, rest_of_a) = a.as_chunks::<LANES>();
    let (b, rest_of_b) = b.as_chunks::<LANES>();
    let mut sums = [0i32; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += i32::from(i16::from(a[lane]) * i16::from(b[lane]));
        }
    }
    let rest = rest_of_a.iter().zip(rest_of_b).map(|(a, b)| i32::from(*a) * i32::from(*b));
    sums.into_iter().chain(rest).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact_cosine(a: &[f32], b: &[f32]) -> f64 {
        let dot =
            |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    #[test]
    fn a_dimension_of_1_to_512_is_accepted() {
        for (dimension, accepted) in [(0, false), (1, true), (511, true), (512, true), (513, false)] {
            assert_eq!(QuantizedVector::quantize(&vec![1.0; dimension]).is_ok(), accepted, "{dimension}");
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(QuantizedVector::quantize(&[1.0, bad]), Err(VectorError::NotFinite));
        }
    }

    #[test]
    fn zero_resembles_nothing_not_even_itself() {
        let zero = QuantizedVector::quantize(&[0.0, 0.0]).unwrap();
        let tiny = QuantizedVector::quantize(&[f32::MIN_POSITIVE / 8.0, 0.0]).unwrap();
        assert!(zero.is_zero() && tiny.is_zero());
        assert_eq!(cosine(&zero, &zero), None);
    }

    #[test]
    fn vectors_of_different_dimensions_are_not_compared() {
        let [a, b] = [&[1.0, 0.0][..], &[1.0, 0.0, 0.0]].map(|v| QuantizedVector::quantize(v).unwrap());
        assert_eq!(cosine(&a, &b), None);
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let good = QuantizedVector::quantize(&[0.5, -1.0, 0.25]).unwrap().to_bytes();
        assert_eq!(good.len(), 10);
        for length in 0..good.len() {
            assert_eq!(QuantizedVector::from_bytes(&good[..length]), Err(VectorError::Encoding));
        }
        let mut other_version = good.clone();
        other_version[0] = 2;
        assert_eq!(QuantizedVector::from_bytes(&other_version), Err(VectorError::Encoding));
        let mut bad_scale = good;
        bad_scale[3..7].copy_from_slice(&f32::NAN.to_le_bytes());
        assert_eq!(QuantizedVector::from_bytes(&bad_scale), Err(VectorError::NotFinite));
        assert_eq!(QuantizedVector::from_bytes(&[1, 0, 0, 0, 0, 0, 0]), Err(VectorError::Dimension(0)));
    }

    proptest! {
        #[test]
        fn quantising_keeps_values_within_half_a_step(values in proptest::collection::vec(-10f32..10.0, 1..600)) {
            let vector = &values[..values.len().min(MAX_DIMENSION)];
            let quantized = QuantizedVector::quantize(vector).unwrap();
            for (value, kept) in vector.iter().zip(quantized.dequantize()) {
                prop_assert!((value - kept).abs() <= quantized.scale() * 0.501);
            }
            prop_assert_eq!(QuantizedVector::from_bytes(&quantized.to_bytes()), Ok(quantized));
        }

        #[test]
        fn the_cosine_is_close_to_the_exact_one(pairs in proptest::collection::vec((-1f32..1.0, -1f32..1.0), 16..512)) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let [qa, qb] = [&a, &b].map(|v| QuantizedVector::quantize(v).unwrap());
            let cosine = cosine(&qa, &qb).unwrap();
            prop_assert!((f64::from(cosine) - exact_cosine(&a, &b)).abs() < 0.02);
        }
    }
}
