//! Many runs on a few threads, with results that do not depend on how many.

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Instant;

use pointsman_lab::measure::Measures;
use pointsman_lab::policy::Policy;
use pointsman_lab::scenario::Case;
use pointsman_lab::world::World;

/// One case under one policy and one seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    pub(super) case: &'a Case,
    pub(super) policy: &'a Policy,
    pub(super) seed: u64,
}

/// What came out of a job.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) seed: u64,
    /// The same for two runs in which the same happened at the same times.
    pub(super) digest: u64,
    /// Requests that came.
    pub(super) requests: u64,
    pub(super) measures: Measures,
}

/// What happened in a run that must never happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The place of the job.
    pub(super) job: usize,
    pub(super) what: String,
}

/// All runs, in the order of their jobs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Done {
    pub(super) runs: Vec<Run>,
    /// The time that all threads together worked.
    pub(super) busy: Duration,
}

/// Runs all jobs. `simulate` does one; `progress` is told of each that is done. A panic of the
/// simulator or the pool is a failure like any other, as it can be repeated as well.
///
/// Jobs are begun in their order, so the failure that is told, that of the first job that has one,
/// does not depend on the threads either.
pub(super) fn run_all(
    jobs: &[Job<'_>],
    threads: NonZeroUsize,
    simulate: &(impl Fn(&Job<'_>) -> Result<Run, String> + Sync),
    progress: &(impl Fn() + Sync),
) -> Result<Done, Failure> {
    let queue = Queue::default();
    let work = || {
        let begin = Instant::now();
        let mut results = Vec::new();
        while let Some((place, job)) = queue.next(jobs) {
            let result = catch_unwind(AssertUnwindSafe(|| simulate(job)))
                .unwrap_or_else(|panic| Err(format!("a panic: {}", message(&*panic))));
            queue
                .has_failed
                .fetch_or(result.is_err(), Ordering::Relaxed);
            results.push((place, result));
            progress();
        }
        (results, begin.elapsed())
    };
    let (mut results, busy) = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.get()).map(|_| scope.spawn(work)).collect();
        let mut all = (Vec::new(), Duration::ZERO);
        for worker in workers {
            match worker.join() {
                Ok((results, busy)) => {
                    all.0.extend(results);
                    all.1 += busy;
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    results.sort_by_key(|(place, _)| *place);
    let runs = results
        .into_iter()
        .map(|(job, result)| result.map_err(|what| Failure { job, what }))
        .collect::<Result<_, _>>()?;
    Ok(Done { runs, busy })
}

/// Simulates one job.
pub(super) fn simulate(job: &Job<'_>) -> Result<Run, String> {
    let setup = &job.case.setup;
    let outcome = World::new(setup, job.policy, job.seed)
        .run()
        .map_err(|violation| violation.to_string())?;
    let came = outcome
        .records
        .iter()
        .filter(|record| record.arrived.is_some());
    Ok(Run {
        seed: job.seed,
        digest: outcome.digest,
        requests: came.count() as u64,
        measures: Measures::of(setup, &outcome),
    })
}

#[derive(Default)]
struct Queue {
    next: AtomicUsize,
    has_failed: AtomicBool,
}

impl Queue {
    fn next<'a, 'b>(&self, jobs: &'b [Job<'a>]) -> Option<(usize, &'b Job<'a>)> {
        if self.has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        jobs.get(place).map(|job| (place, job))
    }
}

fn message(panic: &(dyn core::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests;
