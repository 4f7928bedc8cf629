//! The tables that are printed, and how many targets were missed.

use std::time::Duration;

use crate::load::Load;
use crate::targets::Peer;

/// Prints rows as they come.
#[derive(Debug)]
pub(crate) struct Report {
    missed: usize,
}

/// What one operation asked of AWS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// Calls to DynamoDB.
    pub(crate) dynamodb: u64,
    /// Calls to SQS.
    pub(crate) sqs: u64,
    /// Calls to S3.
    pub(crate) s3: u64,
    /// Read capacity units.
    pub(crate) read_units: f64,
    /// Write capacity units.
    pub(crate) write_units: f64,
}

impl Report {
    /// Nothing missed yet.
    pub(crate) fn new() -> Self {
        Self { missed: 0 }
    }

    /// How many targets were missed.
    pub(crate) fn missed(&self) -> usize {
        self.missed
    }

    /// Whether a target is met, in a word; counts it when it is not.
    fn verdict(&mut self, is_met: bool) -> &'static str {
        if is_met {
            return "ok";
        }
        self.missed += 1;
        "MISSED"
    }

    /// The head of what is said of the process.
    pub(crate) fn process_header(&self) {
        println!("{:44} {:>9} {:>9} {:>7}  target", "process", "ours", "peer", "ratio");
    }

    /// A figure of the process that must not exceed `max`.
    pub(crate) fn process(&mut self, name: &str, unit: &str, ours: f64, peer: f64, max: f64) {
        let verdict = self.verdict(ours < max);
        let (ours_text, peer_text) = (format!("{ours:.3} {unit}"), format!("{peer:.1} {unit}"));
        println!("{name:44} {ours_text:>9} {peer_text:>9} {:>6.1}x  < {max} {unit} {verdict}", peer / ours);
    }

    /// A figure that must not exceed `max`, and has no peer.
    pub(crate) fn limited(&mut self, name: &str, unit: &str, ours: f64, max: f64) {
        let verdict = self.verdict(ours < max);
        println!(
            "{name:44} {:>9} {:>9} {:>7}  < {max} {unit} {verdict}",
            format!("{ours:.3} {unit}"),
            "",
            ""
        );
    }

    /// A figure of the process that is only told.
    pub(crate) fn told(&self, name: &str, unit: &str, ours: f64) {
        println!("{name:44} {:>9}", format!("{ours:.3} {unit}"));
    }

    /// The head of what is said of calls.
    pub(crate) fn load_header(&self) {
        println!(
            "\n{:44} {:>5} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7} {:>7}  target",
            "calls", "conn.", "p50 ms", "p95 ms", "p99 ms", "calls/s", "CPU ms", "peer", "ratio"
        );
    }

    /// How calls went; without a peer it is only told.
    pub(crate) fn load(&mut self, name: &str, connections: usize, load: &Load, peer: Option<Peer>) {
        let ms = |share| milliseconds(load.percentile(share));
        print!(
            "{name:44} {connections:>5} {:>8.2} {:>8.2} {:>8.2} {:>7.0} {:>7.2}",
            ms(0.5),
            ms(0.95),
            ms(0.99),
            load.per_second(),
            load.cpu_ms()
        );
        let Some(Peer { cpu_ms, times_min }) = peer else { return println!() };
        let ratio = cpu_ms / load.cpu_ms();
        let verdict = self.verdict(ratio >= times_min);
        println!(" {cpu_ms:>7.1} {ratio:>6.1}x  >= {times_min}x {verdict}");
    }

    /// How `/health` answered meanwhile; the latencies ascend.
    pub(crate) fn health(&mut self, latencies: &[Duration], max: Duration) {
        let longest = latencies.last().copied();
        let verdict = self.verdict(longest.is_some_and(|longest| longest < max));
        println!(
            "{:44} {:>5} {} answers, the longest after {:.0} ms  < {} ms {verdict}",
            "  /health meanwhile",
            1,
            latencies.len(),
            milliseconds(longest.unwrap_or_default()),
            max.as_millis()
        );
    }

    /// The head of what is said of AWS.
    pub(crate) fn cost_header(&self) {
        println!(
            "\n{:44} {:>8} {:>4} {:>4} {:>11} {:>12}",
            "AWS calls", "DynamoDB", "SQS", "S3", "read units", "write units"
        );
    }

    /// What one operation asked of AWS.
    pub(crate) fn cost(&self, name: &str, cost: &Cost) {
        let Cost { dynamodb, sqs, s3, read_units, write_units } = cost;
        println!("{name:44} {dynamodb:>8} {sqs:>4} {s3:>4} {read_units:>11.1} {write_units:>12.1}");
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_targets_that_are_missed_are_counted() {
        let mut report = Report::new();
        assert_eq!(report.verdict(true), "ok");
        assert_eq!(report.missed(), 0);
        assert_eq!(report.verdict(false), "MISSED");
        report.health(&[Duration::from_millis(999)], Duration::from_secs(1));
        report.health(&[Duration::from_secs(1)], Duration::from_secs(1));
        report.health(&[], Duration::from_secs(1));
        assert_eq!(report.missed(), 3);
    }
}
