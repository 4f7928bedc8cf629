//! The overview of verdicts: whatever it says follows from what was published and judged.
