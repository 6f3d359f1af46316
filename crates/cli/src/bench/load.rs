//! Starts streams when they are due, and tallies their outcomes.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};

use super::cell::Load;
use super::connection::Client;
use super::exchange::exchange;
use super::script::Script;
use super::tally::Tally;

/// What is sent, and until when.
#[derive(Clone, Debug)]
pub(super) struct Volume {
    /// How streams follow each other.
    pub(super) load: Load,
    /// Streams that are started.
    pub(super) requests: u64,
    /// After this time none is started.
    pub(super) duration_max: Duration,
    /// The number of the first stream. Numbers choose prompts and are request ids.
    pub(super) first_number: u64,
    /// Streams of an open loop that are under way at once. What is due beyond them waits, and its
    /// wait counts.
    pub(super) streams_max: usize,
    /// Where arrivals come from.
    pub(super) seed: u64,
}

/// Leads all streams of `volume` to their end. `report` is told several times a second how many have
/// ended.
pub(super) async fn run(
    clients: &[Client],
    script: &Arc<Script>,
    volume: &Volume,
    report: impl FnMut(u64),
) -> Result<Tally> {
    match volume.load {
        Load::Closed { streams } => closed(clients, script, volume, streams, report).await,
        Load::Open { rate } => open(clients, script, volume, rate, report).await,
    }
}

async fn closed(
    clients: &[Client],
    script: &Arc<Script>,
    volume: &Volume,
    streams: u32,
    mut report: impl FnMut(u64),
) -> Result<Tally> {
    let queue = Arc::new(Queue {
        volume: volume.clone(),
        begin: Instant::now(),
        started: AtomicU64::new(0),
        tally: Mutex::new(Tally::new()?),
    });
    let mut workers = JoinSet::new();
    for client in clients.iter().cycle().take(usize::try_from(streams)?) {
        let (client, script, queue) = (client.clone(), Arc::clone(script), Arc::clone(&queue));
        workers.spawn(async move { queue.work(&client, &script).await });
    }
    let mut ticks = interval(REPORT_INTERVAL);
    loop {
        tokio::select! {
            worker = workers.join_next() => match worker {
                Some(ended) => ended.context("a worker broke")?,
                None => return Ok(queue.tally().clone()),
            },
            _ = ticks.tick() => report(queue.tally().ended()),
        }
    }
}

/// The streams of a closed loop that are still to be led, and the outcomes of the others.
struct Queue {
    volume: Volume,
    begin: Instant,
    started: AtomicU64,
    tally: Mutex<Tally>,
}

impl Queue {
    /// Leads one stream after the other until there is none left.
    async fn work(&self, client: &Client, script: &Script) {
        loop {
            let index = self.started.fetch_add(1, Ordering::Relaxed);
            let due = Instant::now();
            if index >= self.volume.requests || due - self.begin >= self.volume.duration_max {
                return;
            }
            let number = self.volume.first_number + index;
            let outcome = exchange(client, script, number, due).await;
            self.tally().record(outcome);
        }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn open(
    clients: &[Client],
    script: &Arc<Script>,
    volume: &Volume,
    rate: f64,
    mut report: impl FnMut(u64),
) -> Result<Tally> {
    let (sender, mut arrivals) = mpsc::channel(ARRIVALS_AHEAD_MAX);
    let pacemaker = Pacemaker::new(volume, rate);
    let pacemaker = tokio::task::spawn_blocking(move || pacemaker.beat(&sender));
    let mut clients = clients.iter().cycle();
    let mut number = volume.first_number;
    let mut streams = JoinSet::new();
    let mut tally = Tally::new()?;
    let mut more_come = true;
    let mut ticks = interval(REPORT_INTERVAL);
    while more_come || !streams.is_empty() {
        tokio::select! {
            due = arrivals.recv(), if more_come && streams.len() < volume.streams_max => {
                let (Some(due), Some(client)) = (due, clients.next()) else {
                    more_come = false;
                    continue;
                };
                let (client, script) = (client.clone(), Arc::clone(script));
                streams.spawn(async move { exchange(&client, &script, number, due).await });
                number += 1;
            }
            Some(outcome) = streams.join_next() => {
                tally.record(outcome.context("a stream broke")?);
            }
            _ = ticks.tick() => report(tally.ended()),
        }
    }
    pacemaker.await.context("the pacemaker broke")?;
    Ok(tally)
}

/// Tells when streams are due, from a thread of its own: the runtime's timer is a millisecond coarse.
struct Pacemaker {
    rng: Pcg64Mcg,
    rate: f64,
    requests: u64,
    duration_max: Duration,
}

impl Pacemaker {
    fn new(volume: &Volume, rate: f64) -> Self {
        Self {
            rng: Pcg64Mcg::seed_from_u64(volume.seed),
            rate,
            requests: volume.requests,
            duration_max: volume.duration_max,
        }
    }

    /// Sends each moment at that moment. Where the reader falls behind, the moments stay those that
    /// were planned, and the wait counts.
    fn beat(mut self, arrivals: &mpsc::Sender<Instant>) {
        let begin = Instant::now();
        let mut after = Duration::ZERO;
        for _ in 0..self.requests {
            let draw: f64 = self.rng.random();
            after += Duration::from_secs_f64(-(1.0 - draw).ln() / self.rate);
            if after >= self.duration_max {
                return;
            }
            while let Some(wait) = after.checked_sub(begin.elapsed()).filter(|w| !w.is_zero()) {
                if arrivals.is_closed() {
                    return;
                }
                std::thread::sleep(wait.min(SLEEP_MAX));
            }
            if arrivals.blocking_send(begin + after).is_err() {
                return;
            }
        }
    }
}

const REPORT_INTERVAL: Duration = Duration::from_millis(200);

const ARRIVALS_AHEAD_MAX: usize = 1_000;

/// The pacemaker looks so often whether it is still needed.
const SLEEP_MAX: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests;
