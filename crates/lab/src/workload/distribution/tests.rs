use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::*;

fn distribution(value: Value) -> Distribution {
    serde_json::from_value(value).unwrap()
}

/// Mean and coefficient of variation of many draws, and how many of them are above the mean.
fn moments(distribution: &Distribution) -> (f64, f64, f64) {
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    let draws: Vec<f64> = (0..DRAWS).map(|_| distribution.draw(&mut rng)).collect();
    let count = DRAWS as f64;
    let mean = draws.iter().sum::<f64>() / count;
    let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / count;
    let above = draws.iter().filter(|&&draw| draw > mean).count() as f64 / count;
    (mean, variance.sqrt() / mean, above)
}

#[track_caller]
fn near(got: f64, expected: f64, tolerance: f64) {
    assert!(
        (got - expected).abs() <= tolerance * expected.abs().max(0.01),
        "{got} is not near {expected}"
    );
}

#[test]
fn every_distribution_has_its_mean_and_variation() {
    let even = 1.0 / 12.0_f64.sqrt();
    for (value, mean, variation, above) in [
        (json!(7), 7.0, 0.0, 0.0),
        (json!({"constant": 7}), 7.0, 0.0, 0.0),
        (
            json!({"uniform": [36, 260]}),
            148.0,
            224.0 * even / 148.0,
            0.5,
        ),
        (json!({"around": 80}), 80.0, even, 0.5),
        (
            json!({"exponential": {"mean": 30}}),
            30.0,
            1.0,
            (-1.0_f64).exp(),
        ),
        // The logarithm's mean is below that of the mean by half of sigma squared.
        (
            json!({"lognormal": {"mean": 200, "sigma": 0.6}}),
            200.0,
            0.6583,
            0.3821,
        ),
        (
            json!({"gamma": {"mean": 5, "variation": 0.5}}),
            5.0,
            0.5,
            0.4335,
        ),
        (
            json!({"gamma": {"mean": 5, "variation": 1}}),
            5.0,
            1.0,
            (-1.0_f64).exp(),
        ),
        (
            json!({"gamma": {"mean": 5, "variation": 2}}),
            5.0,
            2.0,
            0.2563,
        ),
        (json!({"gamma": {"mean": 5, "variation": 0}}), 5.0, 0.0, 0.0),
        (
            json!({"two_phase": {"mean": 10, "variation_squared": 4}}),
            10.0,
            2.0,
            0.2404,
        ),
        (
            json!({"two_phase": {"mean": 10, "variation_squared": 1}}),
            10.0,
            1.0,
            (-1.0_f64).exp(),
        ),
    ] {
        let distribution = distribution(value.clone());
        let (got_mean, got_variation, got_above) = moments(&distribution);
        near(got_mean, mean, 0.01);
        near(distribution.mean(), mean, 1e-9);
        near(got_variation, variation, 0.02);
        near(got_above, above, 0.02);
    }
}

#[test]
fn ranges_hold_their_ends() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    let uniform = distribution(json!({"uniform": [36, 40]}));
    let mut seen = [0; 5];
    for _ in 0..1000 {
        let drawn = uniform.draw_whole(&mut rng);
        seen[usize::try_from(drawn - 36).unwrap()] += 1;
    }
    // Rounded down, so the high end does not come.
    assert!(seen[..4].iter().all(|&times| times > 200), "{seen:?}");
    assert_eq!(seen[4], 0);
    let around = distribution(json!({"around": 80}));
    assert!((0..1000).all(|_| (40..120).contains(&around.draw_whole(&mut rng))));
}

#[test]
fn a_whole_number_is_never_too_large() {
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    let wide = distribution(json!({"lognormal": {"mean": 1e9, "sigma": 10}}));
    assert!((0..1000).all(|_| wide.draw_whole(&mut rng) <= WHOLE_MAX));
    assert_eq!(distribution(json!(1e9)).draw_whole(&mut rng), WHOLE_MAX);
}

#[test]
fn an_invalid_distribution_is_refused_with_the_reason() {
    for (value, at, reason) in [
        (json!(-1), ".", "expected a number from 0"),
        (json!("12"), ".", "a number, or a distribution such as"),
        (
            json!({"normal": 3}),
            "normal",
            "unknown variant `normal`, expected one of `constant`",
        ),
        (json!({"uniform": [1]}), "uniform", "invalid length 1"),
        (
            json!({"uniform": [1, 0]}),
            "uniform",
            "expected [low, high]",
        ),
        (json!({"around": 0}), "around", "above 0"),
        (
            json!({"exponential": {"mean": -3}}),
            "exponential.mean",
            "above 0",
        ),
        (
            json!({"exponential": {}}),
            "exponential",
            "missing field `mean`",
        ),
        (
            json!({"gamma": {"mean": 3, "variation": 1, "shape": 2}}),
            "gamma.shape",
            "unknown field `shape`",
        ),
        (
            json!({"around": 3, "constant": 2}),
            ".",
            "expected fewer elements in map",
        ),
    ] {
        let error = serde_path_to_error::deserialize::<_, Distribution>(&value).unwrap_err();
        assert!(
            error.inner().to_string().contains(reason),
            "{value}: {error}"
        );
        assert_eq!(error.path().to_string(), at, "{value}");
    }
}

const DRAWS: usize = 400_000;
