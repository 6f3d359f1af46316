use super::*;

fn settings() -> EnvoySettings {
    let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
    EnvoySettings::new(address(8081), address(19000), address(9002), address(9004))
}

/// Asks the real Envoy whether it accepts the configuration.
fn validate(settings: &EnvoySettings) -> Result<(), String> {
    let envoy = crate::envoy_binary::ensure().unwrap();
    let file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    std::fs::write(file.path(), settings.configuration().to_string()).unwrap();
    let output = std::process::Command::new(envoy)
        .args([
            "--mode",
            "validate",
            "--disable-hot-restart",
            "-l",
            "warn",
            "-c",
        ])
        .arg(file.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() && !said.contains("deprecated") {
        Ok(())
    } else {
        Err(said)
    }
}

#[test]
fn the_real_envoy_accepts_the_configuration_and_finds_nothing_deprecated_in_it() {
    validate(&settings()).unwrap();
}

#[test]
fn the_real_envoy_accepts_tls_to_the_picker_and_the_ends_of_the_sampling_range() {
    for sample_percent in [0.0, 100.0] {
        validate(&EnvoySettings {
            security: PickerSecurity::UnverifiedTls,
            sample_percent,
            ..settings()
        })
        .unwrap();
    }
}

#[test]
fn engines_are_spoken_to_over_http1_or_by_prior_knowledge_over_http2() {
    let options = |engine_protocol| {
        let settings = EnvoySettings {
            engine_protocol,
            ..settings()
        };
        validate(&settings).unwrap();
        let clusters = settings.configuration()["static_resources"]["clusters"].clone();
        clusters[0]["typed_extension_protocol_options"]["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]
            ["explicit_http_config"]
            .clone()
    };
    let http1 = options(EngineProtocol::Http1);
    assert_eq!(http1["http_protocol_options"]["enable_trailers"], true);
    let h2c = options(EngineProtocol::H2c)["http2_protocol_options"].clone();
    assert!(h2c.is_object());
    assert!(
        h2c["connection_keepalive"].is_null(),
        "a gRPC server would take them for abuse"
    );
}

#[test]
fn the_real_envoy_refuses_a_field_that_it_does_not_know() {
    let mut broken = settings().configuration();
    broken["static_resources"]["listeners"][0]["no_such_field"] = json!(1);
    let envoy = crate::envoy_binary::ensure().unwrap();
    let output = std::process::Command::new(envoy)
        .args([
            "--mode",
            "validate",
            "--disable-hot-restart",
            "--config-yaml",
        ])
        .arg(broken.to_string())
        .output()
        .unwrap();
    assert!(!output.status.success());
}

/// The route of this name, and its place in the list.
fn route(name: &str) -> (usize, Value) {
    let configuration = settings().configuration();
    let manager = &configuration["static_resources"]["listeners"][0]["filter_chains"][0]["filters"]
        [0]["typed_config"];
    let routes = manager["route_config"]["virtual_hosts"][0]["routes"]
        .as_array()
        .unwrap();
    let place = routes
        .iter()
        .position(|route| route["name"] == name)
        .unwrap();
    (place, routes[place].clone())
}

#[test]
fn the_sampled_route_comes_first_and_differs_only_in_what_sampling_needs() {
    let (place, mut sampled) = route("sampled");
    let (last, remaining) = route("remaining");
    assert!(place < last);
    let fraction = &sampled["match"]["runtime_fraction"]["default_value"];
    assert_eq!(
        fraction,
        &json!({ "numerator": 50_000, "denominator": "MILLION" })
    );
    let mode = &sampled["typed_per_filter_config"]["envoy.filters.http.ext_proc"]["overrides"]["processing_mode"];
    assert_eq!(mode["response_body_mode"], "STREAMED");
    assert_eq!(mode["request_body_mode"], "FULL_DUPLEX_STREAMED");
    for field in ["name", "match", "typed_per_filter_config"] {
        sampled[field] = remaining[field].clone();
    }
    assert_eq!(sampled, remaining);
}

#[test]
fn b25_what_the_picker_wants_sent_once_has_no_retries_and_its_route_comes_before_all_others() {
    let (place, mut once) = route("sent-once");
    assert_eq!(place, 0);
    assert_eq!(once["route"]["retry_policy"], Value::Null);
    assert_eq!(
        once["match"]["dynamic_metadata"][0]["filter"],
        METADATA_NAMESPACE
    );
    let (_, remaining) = route("remaining");
    for field in ["name", "match", "route"] {
        once[field] = remaining[field].clone();
    }
    assert_eq!(once, remaining);
}

#[test]
fn b15_a_client_cannot_name_its_destination() {
    let text = settings().configuration().to_string();
    for name in [DESTINATION, DESTINATION_SERVED, DESTINATION_SUBSET] {
        assert!(
            text.contains(&format!(r#"{{"remove":"{name}"}}"#)),
            "{name}"
        );
    }
}
