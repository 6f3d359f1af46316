//! Parameters of the producer of prefix matches.

use pointsman_domain::block::BlockSize;

use super::{Built, Part};
use crate::fields::Fields;
use crate::parameter::number::{Count, OptionalCount};
use crate::parameter::value::Flag;
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
    Part::PrefixIndex(block_size.unwrap_or(BLOCK_SIZE_DEFAULT))
}

/// The block size without a setting, and the smallest there is: llm-d raises its own default of 16
/// and any smaller setting to 64 tokens too.
pub(crate) const BLOCK_SIZE_DEFAULT: BlockSize = BlockSize::DEFAULT;

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
