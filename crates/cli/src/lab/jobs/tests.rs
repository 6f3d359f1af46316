use super::super::selection::Chosen;
use super::*;

/// Runs jobs with the seeds from 0 to 199.
fn with_jobs(
    threads: usize,
    simulate: impl Fn(&Job<'_>) -> Result<Run, String> + Sync,
) -> Result<Vec<Run>, Failure> {
    let chosen = Chosen::new("s18").unwrap();
    let case = &chosen.scenario.cases[0];
    let policies = chosen.policies(case, &[]).unwrap();
    let policy = &policies[0];
    let jobs: Vec<Job<'_>> = (0..200).map(|seed| Job { case, policy, seed }).collect();
    let threads = NonZeroUsize::new(threads).unwrap();
    let count = AtomicUsize::new(0);
    let done = run_all(&jobs, threads, &simulate, &|| {
        count.fetch_add(1, Ordering::Relaxed);
    })?;
    assert_eq!(count.into_inner(), jobs.len());
    Ok(done.runs)
}

fn run_of(seed: u64) -> Run {
    Run {
        seed,
        digest: seed * 3,
        requests: 1,
        measures: Measures::default(),
    }
}

#[test]
fn results_are_in_the_order_of_the_jobs_whatever_the_threads() {
    let expected: Vec<Run> = (0..200).map(run_of).collect();
    for threads in [1, 2, 7] {
        let runs = with_jobs(threads, |job| Ok(run_of(job.seed)));
        assert_eq!(runs, Ok(expected.clone()));
    }
}

#[test]
fn of_several_failures_that_of_the_first_job_is_told() {
    for threads in [1, 2, 7] {
        let failure = with_jobs(threads, |job| match job.seed {
            40 | 41 | 60 => Err(format!("seed {}", job.seed)),
            seed => Ok(run_of(seed)),
        });
        let expected = Failure {
            job: 40,
            what: "seed 40".to_owned(),
        };
        assert_eq!(failure, Err(expected));
    }
}

#[test]
fn a_panic_is_a_failure_of_its_job() {
    let failure = with_jobs(2, |job| match job.seed {
        150 => panic!("the sum is {}", job.seed),
        seed => Ok(run_of(seed)),
    });
    let expected = Failure {
        job: 150,
        what: "a panic: the sum is 150".to_owned(),
    };
    assert_eq!(failure, Err(expected));
}

#[test]
fn a_real_run_tells_its_requests_and_is_the_same_again() {
    let runs = with_jobs(2, simulate).unwrap();
    assert_eq!(runs[0].requests, 5);
    // The requests of this scenario are written out, and there is one engine.
    assert!(runs.iter().all(|run| run.digest == runs[0].digest));
    assert_eq!(runs[0].measures.get("steps"), Some(25.0));
}
