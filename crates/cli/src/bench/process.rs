//! What a process has used, as the kernel tells it.

use core::time::Duration;
use std::fs;

use anyhow::{Context as _, Result};

/// What a process has used since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    /// CPU time of all its threads, in user and in kernel mode.
    pub(super) cpu: Duration,
    /// The most memory that was resident at once.
    pub(super) peak_bytes: u64,
}

/// What the process `pid` has used.
pub(super) fn usage(pid: u32) -> Result<Usage> {
    let read = |file: &str| {
        let path = format!("/proc/{pid}/{file}");
        fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
    };
    Ok(Usage {
        cpu: cpu(&read("stat")?).with_context(|| format!("no CPU time in /proc/{pid}/stat"))?,
        peak_bytes: peak_bytes(&read("status")?)
            .with_context(|| format!("no peak memory in /proc/{pid}/status"))?,
    })
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

#[cfg(test)]
mod tests {
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
    fn a_process_that_is_not_there_is_named() {
        let text = format!("{:#}", usage(u32::MAX).unwrap_err());
        assert!(text.contains("/proc/4294967295/stat"), "{text}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_used_something() {
        let usage = own_usage().unwrap();
        assert!(usage.peak_bytes > 100_000, "{usage:?}");
        assert!(load_average().unwrap() >= 0.0);
    }
}
