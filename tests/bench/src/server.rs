//! The server as a process of its own, and what the system says of it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::BenchError;
use crate::client::{Call, Client};

/// Ticks of a second in `/proc/<pid>/stat`: fixed by Linux for what it shows to programs.
const TICKS_PER_SECOND: f64 = 100.0;
/// Bytes of a MB, as the peer's memory was given.
const BYTES_PER_MB: f64 = 1_000_000.0;

/// The most memory that this process has had, in MB.
///
/// # Errors
/// When the system does not tell.
pub(crate) fn peak_resident_mb() -> Result<f64, BenchError> {
    status_mb("/proc/self/status", "VmHWM:")
}

/// A figure of the status of a process.
fn status_mb(file: &str, name: &str) -> Result<f64, BenchError> {
    let status = std::fs::read_to_string(file)?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no such line in the status")?;
    Ok(kib.parse::<f64>()? * 1024.0 / BYTES_PER_MB)
}

/// The program under test.
#[derive(Debug)]
pub(crate) struct Binary(PathBuf);

impl Binary {
    /// The program that stands beside this one.
    ///
    /// # Errors
    /// When it was not built.
    pub(crate) fn find() -> Result<Self, BenchError> {
        let path = std::env::current_exe()?.with_file_name("retrospect");
        if path.is_file() {
            return Ok(Self(path));
        }
        let missing = path.display();
        Err(format!("{missing} is missing; build it with: cargo build --release -p retrospect").into())
    }

    /// Starts a server over `data` and waits until it answers.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) async fn start(&self, data: &Path) -> Result<Server, BenchError> {
        let begun = Instant::now();
        let mut child = Command::new(&self.0)
            .args(["serve", "--port", "0", "--data-dir"])
            .arg(data)
            // Nothing of this machine's settings: no provider may be asked, no other directory used.
            .env_clear()
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().ok_or("the server has no output")?;
        let mut server = Server::new(child, stdout)?;
        Client::connect(server.address).await?.call(&Call::get("/health")).await?;
        server.started_in = begun.elapsed();
        Ok(server)
    }
}

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Held open: the server may have something to say.
    stdout: BufReader<ChildStdout>,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// From the start of the process to the first answer of `/health`.
    pub(crate) started_in: Duration,
}

impl Server {
    /// Reads from the first line of the banner where the child listens.
    fn new(child: Child, stdout: ChildStdout) -> Result<Self, BenchError> {
        let mut server = Self {
            child,
            stdout: BufReader::new(stdout),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            started_in: Duration::ZERO,
        };
        let mut line = String::new();
        server.stdout.read_line(&mut line)?;
        let address = line.trim().rsplit_once("http://").map(|(_, address)| address);
        server.address = address.ok_or_else(|| format!("the server did not start: {line:?}"))?.parse()?;
        Ok(server)
    }

    /// Processor time of all its threads, in user and in system mode, to a hundredth of a second.
    ///
    /// # Errors
    /// When the system does not tell.
    pub(crate) fn cpu(&self) -> Result<Duration, BenchError> {
        let stat = std::fs::read_to_string(self.file("stat"))?;
        // The name before it may hold anything, brackets and spaces among it.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let mut ticks = 0.0;
        for field in fields.split_whitespace().skip(11).take(2) {
            ticks += field.parse::<f64>()?;
        }
        Ok(Duration::from_secs_f64(ticks / TICKS_PER_SECOND))
    }

    /// Resident memory, in MB.
    ///
    /// # Errors
    /// When the system does not tell.
    pub(crate) fn resident_mb(&self) -> Result<f64, BenchError> {
        status_mb(&self.file("status"), "VmRSS:")
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that has ended by itself cannot be killed, and need not be.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}
