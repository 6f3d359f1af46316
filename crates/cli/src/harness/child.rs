//! One child process: its log, its readiness, its end.

use core::time::Duration;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result, anyhow, bail};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

/// A running child process. It is killed, with all that it started, when the value is dropped.
#[derive(Debug)]
pub struct Child {
    name: String,
    process: process::Child,
    log: PathBuf,
}

impl Child {
    /// Starts `command` in a process group of its own, so that a ctrl-c at the terminal reaches only
    /// us and we end it in order. What it prints goes to `NAME.log` in `folder`.
    pub fn start(name: &str, mut command: Command, folder: &Path) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("cannot write {}", log.display()))?;
        let process = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        Ok(Self {
            name: name.to_owned(),
            process,
            log,
        })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until `ready` answers `Ok`, at most `wait_max`. The error says what was missing and
    /// quotes the end of the log.
    pub async fn ready(
        &mut self,
        wait_max: Duration,
        ready: impl AsyncFn() -> Result<()>,
    ) -> Result<()> {
        let deadline = Instant::now() + wait_max;
        loop {
            if let Some(status) = self.exit_status()? {
                bail!("{} ended with {status}{}", self.name, self.log_end());
            }
            let Err(reason) = ready().await else {
                return Ok(());
            };
            if Instant::now() >= deadline {
                return Err(reason.context(format!(
                    "{} was not ready within {wait_max:?}{}",
                    self.name,
                    self.log_end()
                )));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// How it ended, once it has.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>> {
        self.process
            .try_wait()
            .with_context(|| format!("cannot watch {}", self.name))
    }

    /// Sends a signal to it, if it still runs.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        if self.exit_status()?.is_some() {
            return Ok(());
        }
        kill(self.pid()?, signal).with_context(|| format!("cannot send {signal} to {}", self.name))
    }

    /// Ends it at once, as a crash would, and waits until it is gone.
    pub fn kill(&mut self) -> Result<()> {
        if self.exit_status()?.is_none() {
            // It may have ended in between, and then there is no group to signal any more.
            let _ = killpg(self.pid()?, Signal::SIGKILL);
            self.process.wait()?;
        }
        Ok(())
    }

    /// Asks it to end and waits for that at most `wait_max`; then it is killed, which is an error.
    pub async fn stop(&mut self, wait_max: Duration) -> Result<ExitStatus> {
        self.signal(Signal::SIGTERM)?;
        self.ended(wait_max).await
    }

    /// Waits for its end at most `wait_max`; then it is killed, which is an error.
    pub async fn ended(&mut self, wait_max: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + wait_max;
        loop {
            if let Some(status) = self.exit_status()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                self.kill()?;
                bail!(
                    "{} did not end within {wait_max:?}{}",
                    self.name,
                    self.log_end()
                );
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    fn pid(&self) -> Result<Pid> {
        i32::try_from(self.process.id())
            .map(Pid::from_raw)
            .map_err(|_| anyhow!("the process id {} is out of range", self.process.id()))
    }

    /// The last lines of the log, to be put behind a message.
    fn log_end(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let skipped = lines.len().saturating_sub(LOG_LINES_QUOTED);
        let quoted: String = lines
            .iter()
            .skip(skipped)
            .map(|line| format!("\n    {line}"))
            .collect();
        if quoted.is_empty() {
            "; it logged nothing".to_owned()
        } else {
            format!("; the end of {}:{quoted}", self.log.display())
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

const POLL_INTERVAL: Duration = Duration::from_millis(20);
const LOG_LINES_QUOTED: usize = 15;

#[cfg(test)]
mod tests;
