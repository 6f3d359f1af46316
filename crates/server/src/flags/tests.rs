use super::*;

fn parsed(arguments: &[&str]) -> (Flags, Vec<String>) {
    parse(["pointsman-epp"].iter().chain(arguments)).unwrap()
}

#[test]
fn every_flag_of_todays_pickers_parses() {
    let (flags, warnings) = parsed(&[
        "--grpc-port=9102",
        "--grpc-health-port",
        "9103",
        "--metrics-port=9190",
        "--ha-enable-leader-election",
        "--drain-timeout=5s",
        "--grpc-max-recv-msg-size=10MiB",
        "--grpc-max-send-msg-size=10MiB",
        "--pool-group=inference.networking.k8s.io",
        "--pool-namespace=ns",
        "--pool-name=pool",
        "--endpoint-selector=app=vllm",
        "--endpoint-target-ports=8000,8001",
        "--disable-endpoint-subset-filter",
        "--emit-endpoint-scores=true",
        "--refresh-metrics-interval=50ms",
        "--refresh-prometheus-metrics-interval=5s",
        "--metrics-staleness-threshold=2s",
        "--total-queued-requests-metric=x",
        "--total-running-requests-metric=x",
        "--kv-cache-usage-percentage-metric=x",
        "--lora-info-metric=x",
        "--cache-info-metric=x",
        "-v=4",
        "--zap-devel=false",
        "--zap-encoder=json",
        "--zap-log-level=info",
        "--zap-stacktrace-level=error",
        "--zap-time-encoding=iso8601",
        "--tracing=false",
        "--health-checking",
        "--enable-pprof=false",
        "--cert-path=/certs",
        "--enable-cert-reload",
        "--enable-grpc-stream-metrics",
        "--secure-serving=false",
        "--tls-min-version=VersionTLS13",
        "--tls-cipher-suites=TLS_AES_128_GCM_SHA256",
        "--metrics-endpoint-auth=false",
        "--metrics-client-ca-file=/ca",
        "--metrics-cert-dir=/certs",
        "--config-file=picker.yaml",
        "--allow-experimental-plugins",
    ]);
    assert_eq!(
        (flags.grpc_port, flags.grpc_health_port, flags.metrics_port),
        (9102, 9103, 9190)
    );
    assert_eq!(flags.drain_timeout, Duration::from_secs(5));
    assert_eq!(flags.grpc_max_recv_msg_size, 10 << 20);
    assert!(!flags.secure_serving);
    assert_eq!((flags.v, flags.log_level()), (4, "info"));
    let unneeded = |flag: &str| warnings.iter().any(|warning| warning.contains(flag));
    assert!(unneeded("--pool-name ") && unneeded("--tracing ") && unneeded("--lora-info-metric "));
    assert!(!unneeded("--secure-serving") && !unneeded("--cert-path"));
    assert_eq!(
        warnings
            .iter()
            .filter(|warning| warning.contains("engineConfigs"))
            .count(),
        5
    );
}

#[test]
fn an_unknown_flag_is_a_usage_error_that_names_it() {
    let error = parse(["pointsman-epp", "--no-such-flag=1"]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("--no-such-flag"), "{error}");
}

#[test]
fn defaults_are_those_that_manifests_rely_on() {
    let (flags, warnings) = parsed(&[]);
    assert_eq!(
        (flags.grpc_port, flags.grpc_health_port, flags.metrics_port),
        (9002, 9003, 9090)
    );
    assert_eq!(flags.eds_port, None);
    assert!(flags.secure_serving);
    assert_eq!(flags.body_bytes_max, 32 << 20);
    assert_eq!(flags.grpc_max_recv_msg_size, 64 << 20);
    assert_eq!(flags.refresh_metrics_interval, Duration::from_millis(50));
    assert!(warnings.is_empty());
}

#[test]
fn config_file_and_config_text_exclude_each_other() {
    let both = ["pointsman-epp", "--config-file=a", "--config-text=b"];
    assert_eq!(parse(both).unwrap_err().exit_code(), 2);
}

#[test]
fn a_size_of_a_recording_needs_a_recording() {
    let alone = ["pointsman-epp", "--record-bytes-max=2Mi"];
    let error = parse(alone).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("--record <FILE>"), "{error}");
    let (flags, _) = parsed(&["--record=run.jsonl", "--record-bytes-max=2Mi"]);
    assert_eq!(flags.record_bytes_max, 2 << 20);
    assert_eq!(parsed(&["--record=run.jsonl"]).0.record_bytes_max, 1 << 30);
}

#[test]
fn bare_boolean_flags_mean_true_and_take_a_value_only_behind_an_equals_sign() {
    assert!(parsed(&["--secure-serving"]).0.secure_serving);
    assert!(!parsed(&["--secure-serving=false"]).0.secure_serving);
    assert!(parse(["pointsman-epp", "--secure-serving", "false"]).is_err());
}
