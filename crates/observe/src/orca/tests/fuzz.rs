//! A fuzz target. As a plain test it replays the inputs beside this file, and a few random ones;
//! `make fuzz` looks for new ones.

use super::*;

/// An input is the value of a header.
#[test]
fn report() {
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| {
            for name in [
                "endpoint-load-metrics",
                "endpoint-load-metrics-bin",
                "endpoint-load-metrics-json",
            ] {
                let sample = read(name, input);
                assert_eq!(read(&name.to_ascii_uppercase(), input), sample);
                let blanks = [b" \t", input, b" "].concat();
                assert_eq!(read(name, &blanks), sample);
                let counts = sample.map_or([None; 2], |sample| [sample.waiting, sample.running]);
                assert!(counts.into_iter().flatten().all(|it| it <= 1_000_000));
            }
        });
}

/// What `cargo test` tries besides the inputs that are kept.
const RANDOM_INPUTS: usize = 200;
