//! Repeatable chance: the same seed gives the same run.

/// The splitmix64 generator: small, fast, and good enough to choose which call fails.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next_u64() % bound }
    }

    /// True once in `1 / probability` times.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        // The upper 53 bits are exact in a double.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let unit = (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        unit < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn certainty_and_impossibility_are_kept() {
        let mut random = SplitMix64::new(7);
        assert!((0..100).all(|_| random.chance(1.0)));
        assert!((0..100).all(|_| !random.chance(0.0)));
        assert!((0..100).all(|_| random.below(3) < 3));
        assert_eq!(random.below(0), 0);
    }
}
