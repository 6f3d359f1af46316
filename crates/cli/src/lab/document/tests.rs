use serde_json::Value;

use super::super::run::tests::output;

#[test]
fn the_document_has_every_seed_and_what_they_say_together() {
    let words = ["s02", "--seeds", "2", "--first-seed", "5", "--json"];
    let policies = ["--policy", "random", "--policy", "least-outstanding"];
    let (result, text) = output(&[&words[..], &policies].concat());
    result.unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let scenario = &document["scenarios"][0];
    assert_eq!(scenario["scenario"], "s02");
    assert_eq!(scenario["seeds"]["first"], 5);
    assert_eq!(scenario["seeds"]["count"], 2);

    let (first, second) = (&scenario["runs"][0], &scenario["runs"][1]);
    assert_eq!(
        (&first["case"], &first["policy"]),
        (&"all".into(), &"random".into())
    );
    assert_eq!(first["difference"], Value::Null);
    assert_eq!(second["difference"]["to"], "random");
    let seed = &second["seeds"][1];
    assert_eq!((&seed["seed"], &seed["requests"]), (&6.into(), &300.into()));
    assert_eq!(seed["digest"].as_str().unwrap().len(), 16);
    assert_ne!(seed["digest"], second["seeds"][0]["digest"]);

    let value = |run: &Value, seed: usize| {
        run["seeds"][seed]["measures"]["cached_share"]
            .as_f64()
            .unwrap()
    };
    let summary = &second["summary"]["cached_share"];
    let mean = f64::midpoint(value(second, 0), value(second, 1));
    assert!((summary["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
    assert!(summary["least"].as_f64() <= summary["median"].as_f64());
    assert!(summary["margin"].as_f64().unwrap() > 0.0);
    let difference = second["difference"]["measures"]["cached_share"]["mean"]
        .as_f64()
        .unwrap();
    let expected = mean - f64::midpoint(value(first, 0), value(first, 1));
    assert!((difference - expected).abs() < 1e-9);

    assert_eq!(scenario["checks"][0]["outcome"], "not_judged");
    assert_eq!(document["work"]["requests"], 1200);
    assert_eq!(
        document["repeat"],
        "pointsman lab run s02 --policy random --policy least-outstanding --seeds 2 --first-seed 5"
    );
}

#[test]
fn the_document_does_not_depend_on_the_threads() {
    let parts = |threads: &str| {
        let (_, text) = output(&["s02", "--seeds", "4", "--json", "--threads", threads]);
        let document: Value = serde_json::from_str(&text).unwrap();
        document["scenarios"].clone()
    };
    assert_eq!(parts("1"), parts("2"));
}
