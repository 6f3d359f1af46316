use super::*;

fn estimate(mean: f64, margin: f64) -> Option<Estimate> {
    Some(Estimate {
        mean,
        margin: Some(margin),
    })
}

fn cell(value: Option<Estimate>, difference: Option<Estimate>) -> Cell {
    Cell { value, difference }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn figures_stand_under_their_measures_with_differences_below() {
    let rows = [
        Row {
            policy: "random".to_owned(),
            cells: vec![
                cell(estimate(343.24, 53.01), None),
                cell(estimate(25.0, 0.0), None),
                cell(None, None),
            ],
        },
        Row {
            policy: "round-robin".to_owned(),
            cells: vec![
                cell(estimate(274.18, 39.94), estimate(-69.06, 47.8)),
                cell(estimate(24.0, 0.0), estimate(-1.0, 0.0)),
                cell(estimate(0.0123, 0.0011), None),
            ],
        },
    ];
    let table = measures(&names(&["ttft_p95_ms", "steps", "wait_per_service"]), &rows);
    assert_eq!(
        table,
        "\
policy        ttft_p95_ms  steps      wait_per_
                                        service
─────────────────────────────────────────────────
random         343.2±53.0   25±0              –
round-robin    274.2±39.9   24±0  0.0123±0.0011
  difference   -69.1±47.8   -1±0              –"
    );
}
