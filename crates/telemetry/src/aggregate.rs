//! Figures of a whole pool, for dashboards and autoscaling.

use pointsman_domain::load::EndpointLoad;

/// Loads of a pool, averaged over the endpoints that have told theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoolAggregate {
    /// Endpoints of the pool.
    pub ready: u32,
    /// Of these, endpoints that have told their load.
    pub sampled: u32,
    /// Requests waiting in an engine's queue.
    pub waiting: Spread,
    /// Requests in an engine's batch.
    pub running: Spread,
    /// Share of KV blocks in use.
    pub kv_usage: Spread,
}

/// Mean and population standard deviation; both 0 where there is no value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
}

impl PoolAggregate {
    /// The figures over the loads of the pool's ready endpoints.
    pub fn of<'a>(loads: impl IntoIterator<Item = &'a EndpointLoad>) -> Self {
        let mut ready = 0;
        let [mut waiting, mut running, mut kv_usage] = [Moments::default(); 3];
        for load in loads {
            ready += 1;
            if load.sampled_at.is_some() {
                waiting.add(f64::from(load.waiting));
                running.add(f64::from(load.running));
                kv_usage.add(load.kv_usage.value());
            }
        }
        Self {
            ready,
            sampled: waiting.count,
            waiting: waiting.spread(),
            running: running.spread(),
            kv_usage: kv_usage.spread(),
        }
    }
}

/// Mean and sum of squared distances from it, kept by Welford's method.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: u32,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / f64::from(self.count);
        self.squares += distance * (value - self.mean);
    }

    fn spread(self) -> Spread {
        if self.count == 0 {
            return Spread::default();
        }
        Spread {
            mean: self.mean,
            deviation: (self.squares / f64::from(self.count)).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pointsman_domain::time::Timestamp;
    use pointsman_domain::units::Unit;

    use super::*;

    fn load(waiting: u32, running: u32, kv_usage: f64) -> EndpointLoad {
        EndpointLoad {
            waiting,
            running,
            kv_usage: Unit::clamped(kv_usage),
            kv_tokens: None,
            sampled_at: Some(Timestamp::ZERO),
        }
    }

    fn spread(mean: f64, deviation: f64) -> Spread {
        Spread { mean, deviation }
    }

    #[test]
    fn means_and_deviations_are_over_the_endpoints_that_told_their_load() {
        let silent = EndpointLoad::default();
        let loads = [load(2, 10, 0.25), silent, load(6, 10, 0.75)];
        let expected = PoolAggregate {
            ready: 3,
            sampled: 2,
            waiting: spread(4.0, 2.0),
            running: spread(10.0, 0.0),
            kv_usage: spread(0.5, 0.25),
        };
        assert_eq!(PoolAggregate::of(&loads), expected);
    }

    #[test]
    fn a_pool_that_told_nothing_has_no_load() {
        assert_eq!(PoolAggregate::of(&[]), PoolAggregate::default());
        let aggregate = PoolAggregate::of(&[EndpointLoad::default()]);
        assert_eq!((aggregate.ready, aggregate.sampled), (1, 0));
        assert_eq!(aggregate.waiting, spread(0.0, 0.0));
    }
}
