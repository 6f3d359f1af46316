//! Producers of prefix matches.

use pointsman_pipeline::config::PrefixSource;

use super::{loaded, told, warned};

#[test]
fn the_index_learns_from_what_its_producer_says() {
    let file = |producer: &str| format!("plugins: [{producer}]\n");
    let learns = |producer: &str| {
        let runtime = loaded(&file(producer)).runtime;
        (runtime.block_size.tokens().0, runtime.prefix_source)
    };
    let precise = |parameters: &str| {
        learns(&format!(
            "{{type: precise-prefix-cache-producer, parameters: {{{parameters}}}}}"
        ))
    };
    assert_eq!(learns(""), (64, PrefixSource::Predicted));
    assert_eq!(
        learns("{type: approx-prefix-cache-producer}"),
        (64, PrefixSource::Predicted)
    );
    assert_eq!(precise(""), (16, PrefixSource::Reported));
    for (written, size) in [
        ("blockSizeTokens: 32", 32),
        ("blockSize: 8", 8),
        ("blockSizeTokens: 1, blockSize: 8", 1),
    ] {
        assert_eq!(
            precise(&format!("tokenProcessorConfig: {{{written}}}")),
            (size, PrefixSource::Reported)
        );
    }
    assert_eq!(
        precise("speculativeIndexing: true"),
        (16, PrefixSource::ReportedAndPredicted)
    );
}

#[test]
fn a_producer_of_reports_is_warned_of_and_what_is_wrong_in_it_is_told() {
    let scorer = |parameters: &str| {
        format!(
            "plugins:
- {{type: precise-prefix-cache-producer}}
- {{type: prefix-cache-scorer, parameters: {{{parameters}}}}}
"
        )
    };
    let named = scorer("prefixMatchInfoProducerName: precise-prefix-cache-producer");
    let no_feed = "plugins[0].type: this picker does not subscribe to KV events yet: without \
                   another feed the index stays empty";
    assert_eq!(warned(&named), no_feed);
    assert_eq!(
        warned(&scorer("")),
        format!(
            "{no_feed}\nplugins[1].parameters.prefixMatchInfoProducerName: is absent, so that the \
             one producer of the file counts; llm-d takes `approx-prefix-cache-producer`: write \
             which you mean"
        ),
    );
    let supplied = scorer("prefixMatchInfoProducerName: approx-prefix-cache-producer");
    assert!(told(&supplied).starts_with(
        "plugins[1].parameters.prefixMatchInfoProducerName: `approx-prefix-cache-producer` is not \
         the name of an entry of `plugins`"
    ));
    let producer = |parameters: &str| {
        format!("plugins: [{{type: precise-prefix-cache-producer, parameters: {{{parameters}}}}}]")
    };
    let warned = warned(&producer(
        "kvEventsConfig: {topicFilter: kv@}, indexerConfig: {}, speculativeTTL: 2s, \
         tokenProcessorConfig: {hashSeed: '42', hashAlgorithm: cbor-fnv}",
    ));
    let inactive: Vec<_> = warned
        .lines()
        .filter_map(|line| line.strip_suffix(": is not active in this version"))
        .collect();
    assert_eq!(
        inactive,
        [
            "plugins[0].parameters.tokenProcessorConfig.hashSeed",
            "plugins[0].parameters.speculativeTTL",
            "plugins[0].parameters.indexerConfig",
            "plugins[0].parameters.kvEventsConfig",
        ]
    );
    let path = "plugins[0].parameters.tokenProcessorConfig";
    for (written, problem) in [
        (
            "{blockSize: 0}",
            ".blockSize: 0 is out of range: must be 1 to 65536",
        ),
        (
            "{blockSise: 16}",
            ".blockSise: is not a field here, did you mean `blockSize`?",
        ),
        (
            "{tokenizer: x}",
            ".tokenizer: is not a field here: remove it",
        ),
        ("16", ": must be a mapping, not 16"),
    ] {
        assert_eq!(
            told(&producer(&format!("tokenProcessorConfig: {written}"))),
            format!("{path}{problem}")
        );
    }
    let dotted = producer("tokenProcessorConfig.blockSize: 16");
    assert!(told(&dotted).contains("is not a field here"));
}
