//! What a process has used, as the kernel tells it.

use core::time::Duration;
use std::{fs, io};

/// What a process has used since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    /// CPU time of all its threads, in user and in kernel mode.
    pub(super) cpu: Duration,
    /// The most memory that was resident at once.
    pub(super) peak_bytes: u64,
}

/// Why it is not known what a process has used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unmeasured {
    /// There is no such process, or only its exit status is left.
    #[error("the process {0} has ended")]
    Ended(u32),
    /// The kernel did not tell.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file.
        path: String,
        /// What happened.
        #[source]
        source: io::Error,
    },
    /// The kernel told something else.
    #[error("{0} has no figures of a process")]
    Unknown(String),
}

/// What the process `pid` has used.
pub(super) fn usage(pid: u32) -> Result<Usage, Unmeasured> {
    let stat = read(pid, "stat")?;
    if is_ended(&stat) {
        return Err(Unmeasured::Ended(pid));
    }
    let unknown = |file| Unmeasured::Unknown(path(pid, file));
    Ok(Usage {
        cpu: cpu(&stat).ok_or_else(|| unknown("stat"))?,
        peak_bytes: peak_bytes(&read(pid, "status")?).ok_or_else(|| unknown("status"))?,
    })
}

/// The name of the program that runs as the process `pid`, as far as the kernel keeps it.
pub(super) fn program(pid: u32) -> Result<String, Unmeasured> {
    Ok(read(pid, "comm")?.trim_end().to_owned())
}

/// What this process has used, where the kernel tells it.
pub(super) fn own_usage() -> Option<Usage> {
    usage(std::process::id()).ok()
}

/// Processes that wanted to run during the last minute, on average.
pub(super) fn load_average() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn read(pid: u32, file: &str) -> Result<String, Unmeasured> {
    let path = path(pid, file);
    fs::read_to_string(&path).map_err(|source| {
        // A process that ends while its file is open is told in the second way.
        let is_gone = source.kind() == io::ErrorKind::NotFound
            || source.raw_os_error() == Some(NO_SUCH_PROCESS);
        if is_gone {
            Unmeasured::Ended(pid)
        } else {
            Unmeasured::Unreadable { path, source }
        }
    })
}

fn path(pid: u32, file: &str) -> String {
    format!("/proc/{pid}/{file}")
}

/// Whether the process has ended and only waits for somebody to take its exit status.
fn is_ended(stat: &str) -> bool {
    let state = stat
        .rsplit_once(')')
        .and_then(|(_, fields)| fields.split_whitespace().next());
    matches!(state, Some("Z" | "X"))
}

/// The fields `utime` and `stime` of `proc_pid_stat(5)`. The name of the process stands before them
/// in brackets and may hold anything.
fn cpu(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields
        .split_whitespace()
        .skip(FIELDS_BETWEEN_NAME_AND_UTIME);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * TICK_MS))
}

fn peak_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

const FIELDS_BETWEEN_NAME_AND_UTIME: usize = 11;

/// The kernel tells times of processes in hundredths of a second on every machine that we run on.
const TICK_MS: u64 = 10;

/// Less than this is told too coarsely to make a figure of it: 50 ticks are 2 %.
pub(super) const CPU_MIN: Duration = Duration::from_millis(50 * TICK_MS);

/// `ESRCH`.
const NO_SUCH_PROCESS: i32 = nix::errno::Errno::ESRCH as i32;

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use nix::sys::wait::{Id, WaitPidFlag, waitid};
    use nix::unistd::Pid;

    use super::*;

    #[test]
    fn times_are_found_behind_a_name_with_brackets_and_spaces() {
        let stat = "7 (a) b) (c) S 1 7 7 0 -1 4194560 900 0 0 0 123 45 0 0 20 0 3 0 100 1 2";
        assert_eq!(cpu(stat), Some(Duration::from_millis(1680)));
        assert_eq!(cpu("7 (a) S 1"), None);
    }

    #[test]
    fn the_peak_is_told_in_bytes() {
        let status = "Name:\ta\nVmPeak:\t    9000 kB\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(peak_bytes(status), Some(2 << 20));
        assert_eq!(peak_bytes("Name:\ta\n"), None);
    }

    #[test]
    fn only_a_process_that_is_not_there_has_ended() {
        let text = usage(u32::MAX).unwrap_err().to_string();
        assert_eq!(text, "the process 4294967295 has ended");
        let text = read(std::process::id(), "task").unwrap_err().to_string();
        assert!(text.starts_with("cannot read /proc/"), "{text}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_nobody_has_waited_for_has_ended() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // Its answer shows that the new program runs, and not its parent's copy any more.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(program(child.id()).unwrap(), "cat");
        drop(child.stdin.take());
        let id = Id::Pid(Pid::from_raw(child.id().try_into().unwrap()));
        waitid(id, WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
        let error = usage(child.id()).unwrap_err();
        assert!(matches!(error, Unmeasured::Ended(_)), "{error}");
        child.wait().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_used_something() {
        let usage = own_usage().unwrap();
        assert!(usage.peak_bytes > 100_000, "{usage:?}");
        assert!(load_average().is_some());
    }
}
