//! Parameters of the producers of prefix matches.

use core::time::Duration;

use pointsman_domain::block::BlockSize;
use pointsman_pipeline::config::PrefixSource;

use super::{Built, Part};
use crate::fields::Fields;
use crate::parameter::number::{Count, OptionalCount};
use crate::parameter::text::{OptionalDuration, Text};
use crate::parameter::value::{Anything, Flag};
use crate::parameter::{Inactive, Parameter};

pub(crate) static APPROXIMATE: Built = Built {
    about: "Remembers which endpoint was sent which prompt, in blocks of tokens. It is there \
            without being listed; list it to change its block size.",
    parameters: &[
        &BLOCK_SIZE,
        &AUTO_TUNE,
        &BLOCK_SIZE_CHARACTERS,
        &PREFIX_TOKENS_MAX,
        &PREFIX_BLOCKS_MAX,
        &CAPACITY_PER_SERVER,
    ],
    read: approximate,
};

fn approximate(fields: &mut Fields<'_>) -> Part {
    let tokens = BLOCK_SIZE.of(fields).max(BLOCK_SIZE_DEFAULT.tokens().0);
    AUTO_TUNE.check(fields);
    BLOCK_SIZE_CHARACTERS.check(fields);
    PREFIX_TOKENS_MAX.check(fields);
    PREFIX_BLOCKS_MAX.check(fields);
    CAPACITY_PER_SERVER.check(fields);
    let block_size = u32::try_from(tokens).ok().and_then(BlockSize::new);
    Part::PrefixIndex(
        block_size.unwrap_or(BLOCK_SIZE_DEFAULT),
        PrefixSource::Predicted,
    )
}

pub(crate) static PRECISE: Built = Built {
    about: "Remembers which blocks of tokens each engine reports to hold in its cache. This picker \
            does not subscribe to these reports yet, so that without another feed it remembers \
            nothing.",
    parameters: &[
        &REPORTED_BLOCK_SIZE,
        &REPORTED_BLOCK_SIZE_DEPRECATED,
        &HASH_SEED,
        &HASH_ALGORITHM,
        &SPECULATIVE_INDEXING,
        &SPECULATIVE_TTL,
        &INDEXER_CONFIG,
        &KV_EVENTS_CONFIG,
    ],
    read: precise,
};

fn precise(fields: &mut Fields<'_>) -> Part {
    let current = REPORTED_BLOCK_SIZE.of(fields);
    let deprecated = REPORTED_BLOCK_SIZE_DEPRECATED.of(fields);
    let tokens = current.or(deprecated).unwrap_or(REPORTED_BLOCK_TOKENS);
    let block_size = u32::try_from(tokens).ok().and_then(BlockSize::new);
    let source = if SPECULATIVE_INDEXING.of(fields) {
        PrefixSource::ReportedAndPredicted
    } else {
        PrefixSource::Reported
    };
    HASH_SEED.check(fields);
    HASH_ALGORITHM.check(fields);
    SPECULATIVE_TTL.check(fields);
    INDEXER_CONFIG.check(fields);
    KV_EVENTS_CONFIG.check(fields);
    Part::PrefixIndex(block_size.unwrap_or(BLOCK_SIZE_DEFAULT), source)
}

/// The block size without a setting, and the smallest there is: llm-d raises its own default of 16
/// and any smaller setting to 64 tokens too.
pub(crate) const BLOCK_SIZE_DEFAULT: BlockSize = BlockSize::DEFAULT;

/// Tokens in a block that engines report, without a setting: as in vLLM's blocks.
const REPORTED_BLOCK_TOKENS: u64 = 16;

static BLOCK_SIZE: Parameter<Count> = Parameter {
    name: "blockSizeTokens",
    unit: "tokens",
    kind: Count {
        default: 16,
        least: 0,
        most: 65_536,
    },
    about: "Tokens in a block; less than 64 is raised to 64, as llm-d does.",
};

static AUTO_TUNE: Inactive<Flag> = Inactive(Parameter {
    name: "autoTune",
    unit: "",
    // The default is what is done without the parameter, so that asking for it is told.
    kind: Flag { default: false },
    about: "Would take block size and capacity from the engines' metrics; llm-d's default is true.",
});

static BLOCK_SIZE_CHARACTERS: Inactive<OptionalCount> = Inactive(Parameter {
    name: "blockSize",
    unit: "characters",
    kind: OptionalCount {
        default: "none",
        least: 0,
        most: u64::MAX,
    },
    about: "Deprecated by llm-d: use `blockSizeTokens`.",
});

static PREFIX_TOKENS_MAX: Inactive<Count> = Inactive(Parameter {
    name: "maxPrefixTokensToMatch",
    unit: "tokens",
    kind: Count {
        default: 131_072,
        least: 0,
        most: u64::MAX,
    },
    about: "Would limit how much of a prompt is looked up; the index has a limit in bytes instead.",
});

static PREFIX_BLOCKS_MAX: Inactive<Count> = Inactive(Parameter {
    name: "maxPrefixBlocksToMatch",
    unit: "blocks",
    kind: Count {
        default: 2048,
        least: 0,
        most: u64::MAX,
    },
    about: "Would limit how much of a prompt is looked up; the index has a limit in bytes instead.",
});

static CAPACITY_PER_SERVER: Inactive<Count> = Inactive(Parameter {
    name: "lruCapacityPerServer",
    unit: "blocks",
    kind: Count {
        default: 31_250,
        least: 0,
        most: u64::MAX,
    },
    about: "Would limit what is remembered of one endpoint; the index has a limit in bytes instead.",
});

static REPORTED_BLOCK_SIZE: Parameter<OptionalCount> = Parameter {
    name: "tokenProcessorConfig.blockSizeTokens",
    unit: "tokens",
    kind: OptionalCount {
        default: "`tokenProcessorConfig.blockSize`, else 16",
        least: 1,
        most: 65_536,
    },
    about: "Tokens in a block; as the engines' own.",
};

static REPORTED_BLOCK_SIZE_DEPRECATED: Parameter<OptionalCount> = Parameter {
    name: "tokenProcessorConfig.blockSize",
    unit: "tokens",
    kind: OptionalCount {
        default: "none",
        least: 1,
        most: 65_536,
    },
    about: "Deprecated by llm-d: use `tokenProcessorConfig.blockSizeTokens`.",
};

static HASH_SEED: Inactive<Text> = Inactive(Parameter {
    name: "tokenProcessorConfig.hashSeed",
    unit: "",
    kind: Text { default: "" },
    about: "Would seed the keys of blocks.",
});

static HASH_ALGORITHM: Inactive<Text> = Inactive(Parameter {
    name: "tokenProcessorConfig.hashAlgorithm",
    unit: "",
    kind: Text {
        default: "cbor-fnv",
    },
    about: "Would choose how the keys of blocks are made; they are this picker's own.",
});

static SPECULATIVE_INDEXING: Parameter<Flag> = Parameter {
    name: "speculativeIndexing",
    unit: "",
    kind: Flag { default: false },
    about: "Whether an endpoint is taken to hold a prompt from its dispatch on.",
};

static SPECULATIVE_TTL: Inactive<OptionalDuration> = Inactive(Parameter {
    name: "speculativeTTL",
    unit: "duration",
    kind: OptionalDuration {
        default: "until a report takes it back or room is needed",
        least: Duration::ZERO,
        most: Duration::from_secs(86_400),
    },
    about: "Would limit how long a dispatch counts without a report.",
});

static INDEXER_CONFIG: Inactive<Anything> = Inactive(Parameter {
    name: "indexerConfig",
    unit: "",
    kind: Anything,
    about: "Would choose where the index is; it is in memory, with a limit in bytes.",
});

static KV_EVENTS_CONFIG: Inactive<Anything> = Inactive(Parameter {
    name: "kvEventsConfig",
    unit: "",
    kind: Anything,
    about: "Would choose how to subscribe to the engines' reports.",
});
