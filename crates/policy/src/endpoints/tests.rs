use proptest::prelude::*;

use super::*;

fn told(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

fn one(fields: &str) -> String {
    format!("endpoints:\n- {{name: a, address: 10.0.0.1, port: \"8000\", {fields}}}\n")
}

#[test]
fn endpoints_are_read_with_their_defaults() {
    let text = "
endpoints:
- name: engine-0
  address: 10.0.0.1
  port: \"8000\"
- name: engine-0
  namespace: other
  address: fd00::1
  port: 8000
  labels: {llm-d.ai/role: decode}
- {name: mapped, address: '::ffff:10.0.0.2', port: 1}
";
    let spec = |name: &str, address: &str, labels: &[(&str, &str)]| EndpointSpec {
        name: name.to_owned(),
        address: address.parse().unwrap(),
        metrics_address: address.parse().unwrap(),
        incarnation: String::new(),
        labels: labels
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
    };
    assert_eq!(
        parse(text).unwrap(),
        [
            spec("default/engine-0", "10.0.0.1:8000", &[]),
            spec(
                "other/engine-0",
                "[fd00::1]:8000",
                &[("llm-d.ai/role", "decode")]
            ),
            spec("default/mapped", "10.0.0.2:1", &[]),
        ],
    );
}

#[test]
fn an_empty_list_is_a_pool_without_endpoints() {
    assert_eq!(parse("endpoints: []"), Ok(Vec::new()));
    assert_eq!(parse("{\"endpoints\": []}"), Ok(Vec::new()));
}

#[test]
fn a_file_without_a_list_does_not_empty_the_pool() {
    for text in ["", "# nothing\n", "{}", "endpoints:\n", "endpoints: null"] {
        assert_eq!(
            told(text),
            "endpoints: is required: write `endpoints: []` for a pool without any",
        );
    }
    assert_eq!(told("- name: a"), "must be a mapping, not a list");
}

#[test]
fn a_port_is_a_number_of_1_to_65535() {
    for port in ["0", "65536", "-1", "'+1'", "80.5", "''", "http", "'8000 '"] {
        let text = format!("endpoints:\n- {{name: a, address: 10.0.0.1, port: {port}}}\n");
        let told = told(&text);
        assert!(told.starts_with("endpoints[0].port: "), "{port}: {told}");
    }
}

#[test]
fn an_address_is_that_of_a_host() {
    for address in [
        "localhost",
        "''",
        "10.0.0",
        "0.0.0.0",
        "'::'",
        "224.0.0.1",
        "'[fd00::1]'",
    ] {
        let text = format!("endpoints:\n- {{name: a, address: {address}, port: 1}}\n");
        let told = told(&text);
        assert!(
            told.starts_with("endpoints[0].address: "),
            "{address}: {told}"
        );
    }
}

#[test]
fn a_name_is_not_empty_and_has_no_slash() {
    let long = "a".repeat(254);
    for name in ["''", "a/b", "\"a\\nb\"", &long] {
        let text = format!("endpoints:\n- {{name: {name}, address: 10.0.0.1, port: 1}}\n");
        assert!(told(&text).starts_with("endpoints[0].name: "), "{name}");
        let text = one(&format!("namespace: {name}"));
        assert!(
            told(&text).starts_with("endpoints[0].namespace: "),
            "{name}"
        );
    }
}

#[test]
fn a_label_is_text() {
    assert_eq!(
        told(&one("labels: {gen: 2, ok: 'yes'}")),
        "endpoints[0].labels.gen: must be text, not 2: put it in quotes",
    );
    assert_eq!(
        told(&one("labels: [a]")),
        "endpoints[0].labels: must be a mapping, not a list",
    );
}

#[test]
fn all_problems_of_a_file_are_told_at_once() {
    let told = told(
        "
endpoints:
- {name: a, address: 10.0.0.1, port: 8000}
- {name: a, address: 10.0.0.1, port: '8000', lables: {}}
- {address: engine.example, port: 99999, extra: 1}
- just text
- {name: 5, namespace: '', address: '10.0.0.1', port: [1]}
unknown: 1
",
    );
    insta::assert_snapshot!(told);
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let text = format!("endpoints: []\n#{}", "x".repeat(1 << 20));
    assert!(told(&text).contains("the limit is 1048576"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_told(text: String) {
        let _ = parse(&text);
    }

    #[test]
    fn every_endpoint_that_is_read_is_one_that_was_written(
        hosts in proptest::collection::btree_set((1u8..255, 1u16..), 0..20),
    ) {
        let endpoints: Vec<_> = hosts
            .iter()
            .enumerate()
            .map(|(index, (host, port))| Endpoint {
                name: format!("engine-{index}"),
                namespace: "default".to_owned(),
                address: format!("10.0.0.{host}"),
                port: port.to_string(),
                labels: BTreeMap::new(),
            })
            .collect();
        let text = serde_yaml::to_string(&EndpointsFile { endpoints }).unwrap();
        let read: Vec<_> = parse(&text).unwrap().into_iter().map(|spec| spec.address).collect();
        let written: Vec<_> =
            hosts.iter().map(|(host, port)| SocketAddr::from(([10, 0, 0, *host], *port))).collect();
        prop_assert_eq!(read, written);
    }
}
