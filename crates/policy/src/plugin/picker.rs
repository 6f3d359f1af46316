//! Parameters of the pickers.

use pointsman_domain::units::Tokens;
use pointsman_schedule::load_view::LoadView;
use pointsman_schedule::picker::Picker;
use pointsman_schedule::picker::consistent_hash::{
    ConsistentHash, LOAD_FACTOR_DEFAULT, Overflow, PREFIX_DEFAULT,
};
use pointsman_schedule::picker::least_outstanding::LeastOutstanding;
use pointsman_schedule::picker::max_score::MaxScore;
use pointsman_schedule::picker::prefix_affinity::{LOAD_GAP_MAX_DEFAULT, PrefixAffinity};
use pointsman_schedule::picker::ranking::TieBreak;
use pointsman_schedule::picker::round_robin::RoundRobin;
use pointsman_schedule::picker::two_choices::{CHOICES_DEFAULT, CHOICES_MAX, Draw, TwoChoices};

use super::{Built, Part};
use crate::fields::Fields;
use crate::parameter::Parameter;
use crate::parameter::choice::Choice;
use crate::parameter::number::{Count, Number, NumberRange, OptionalCount};
use crate::parameter::value::Flag;

pub(crate) static MAX_SCORE: Built = Built {
    about: "Highest total score first.",
    parameters: &[&ENDPOINTS_MAX, &TIE_BREAK],
    read: |fields| {
        let tie_break = TIE_BREAK.of(fields);
        part(Picker::MaxScore(MaxScore { tie_break }), fields)
    },
};

pub(crate) static RANDOM: Built = Built {
    about: "Any endpoint, with the same chance; scores do not count.",
    parameters: &[&ENDPOINTS_MAX],
    read: |fields| part(Picker::Random, fields),
};

pub(crate) static ROUND_ROBIN: Built = Built {
    about: "Each endpoint in turn; scores do not count. Our own; not known to llm-d.",
    parameters: &[&ENDPOINTS_MAX],
    read: |fields| part(Picker::RoundRobin(RoundRobin::default()), fields),
};

pub(crate) static LEAST_OUTSTANDING: Built = Built {
    about: "Lowest load first; scores do not count. Our own; not known to llm-d.",
    parameters: &[&ENDPOINTS_MAX, &LOAD, &TIE_BREAK],
    read: |fields| {
        let picker = LeastOutstanding {
            load: LOAD.of(fields),
            tie_break: TIE_BREAK.of(fields),
        };
        part(Picker::LeastOutstanding(picker), fields)
    },
};

pub(crate) static TWO_CHOICES: Built = Built {
    about: "Draws some endpoints and takes the one with the lowest load; scores do not count. Pickers \
            that see the same old loads then do not all take the same endpoint. Our own; not known to \
            llm-d.",
    parameters: &[&ENDPOINTS_MAX, &CHOICES, &REPLACEMENT, &LOAD, &TIE_BREAK],
    read: |fields| {
        let picker = TwoChoices {
            choices: usize::try_from(CHOICES.of(fields)).unwrap_or(CHOICES_MAX),
            draw: if REPLACEMENT.of(fields) {
                Draw::WithReplacement
            } else {
                Draw::Distinct
            },
            load: LOAD.of(fields),
            tie_break: TIE_BREAK.of(fields),
        };
        part(Picker::TwoChoices(picker), fields)
    },
};

pub(crate) static PREFIX_AFFINITY: Built = Built {
    about: "Of the endpoints whose load is not too far above the lowest, the one that holds the \
            largest part of the prompt, of equal ones the less loaded; where none of those holds any \
            of it, the lowest load. Scores do not count. Our own; not known to llm-d.",
    parameters: &[&ENDPOINTS_MAX, &LOAD_GAP_MAX, &LOAD, &TIE_BREAK],
    read: |fields| {
        let picker = PrefixAffinity {
            load: LOAD.of(fields),
            load_gap_max: u32::try_from(LOAD_GAP_MAX.of(fields)).unwrap_or(u32::MAX),
            tie_break: TIE_BREAK.of(fields),
        };
        part(Picker::PrefixAffinity(picker), fields)
    },
};

pub(crate) static CONSISTENT_HASH: Built = Built {
    about: "The same prefix to the same endpoint, by a hash of the two (rendezvous hashing), unless \
            that one has too much load. Needs no memory of what endpoints hold, so that pickers agree \
            which share nothing. A prompt without a full block goes to the lowest load. Scores do not \
            count. Our own; not known to llm-d.",
    parameters: &[
        &ENDPOINTS_MAX,
        &PREFIX_TOKENS,
        &LOAD_FACTOR,
        &OVERFLOW,
        &LOAD,
        &TIE_BREAK,
    ],
    read: |fields| {
        let picker = ConsistentHash {
            prefix: Tokens(PREFIX_TOKENS.of(fields)),
            load_factor: LOAD_FACTOR.of(fields),
            overflow: OVERFLOW.of(fields),
            load: LOAD.of(fields),
            tie_break: TIE_BREAK.of(fields),
        };
        part(Picker::ConsistentHash(picker), fields)
    },
};

fn part(picker: Picker, fields: &mut Fields<'_>) -> Part {
    let endpoints_max = ENDPOINTS_MAX.of(fields);
    Part::Picker(
        picker,
        endpoints_max.and_then(|count| usize::try_from(count).ok()),
    )
}

/// One way to count an endpoint's load.
pub(crate) struct LoadRow {
    pub(crate) name: &'static str,
    pub(crate) formula: &'static str,
    pub(crate) about: &'static str,
}

/// The load views, for the reference. A test holds them against the names of [`LOAD`].
pub(crate) static LOAD_ROWS: &[LoadRow] = &[
    LoadRow {
        name: "outstanding",
        formula: "own + foreign",
        about: "Our own requests exactly, and those of others by the last report.",
    },
    LoadRow {
        name: "reported",
        formula: "report",
        about: "The last report and nothing since. All pickers send to the same endpoint until the \
                next report: for comparison only.",
    },
    LoadRow {
        name: "reportedAndDispatched",
        formula: "report + sent",
        about: "Follows our own dispatches, and no request's end before the next report.",
    },
    LoadRow {
        name: "own",
        formula: "own",
        about: "Needs no report, and does not see other pickers.",
    },
    LoadRow {
        name: "scaled",
        formula: "max(0, report + N * (own - own'))",
        about: "What we did since the report counts once for each picker of the pool. The picker does \
                not yet learn of others: N is 1.",
    },
];

static LOAD: Parameter<Choice<LoadView>> = Parameter {
    name: "load",
    unit: "",
    kind: Choice {
        default: LoadView::Outstanding,
        names: &[
            ("outstanding", LoadView::Outstanding),
            ("reported", LoadView::Reported),
            ("reportedAndDispatched", LoadView::ReportedAndDispatched),
            ("own", LoadView::Own),
            ("scaled", LoadView::Scaled),
        ],
    },
    about: "How many requests an endpoint is taken to have; see [below](#the-parameter-load).",
};

static TIE_BREAK: Parameter<Choice<TieBreak>> = Parameter {
    name: "tieBreak",
    unit: "",
    kind: Choice {
        default: TieBreak::Random,
        names: &[("random", TieBreak::Random), ("first", TieBreak::First)],
    },
    about: "What decides among equal endpoints: chance, or the order of their slots, to repeat \
            published results.",
};

static CHOICES: Parameter<Count> = Parameter {
    name: "choices",
    unit: "endpoints",
    kind: Count {
        default: CHOICES_DEFAULT as u64,
        least: 2,
        most: CHOICES_MAX as u64,
    },
    about: "How many endpoints are drawn.",
};

static REPLACEMENT: Parameter<Flag> = Parameter {
    name: "replacement",
    unit: "",
    kind: Flag { default: false },
    about: "Whether one endpoint may be drawn again for the same request.",
};

static LOAD_GAP_MAX: Parameter<Count> = Parameter {
    name: "loadGapMax",
    unit: "requests",
    kind: Count {
        default: LOAD_GAP_MAX_DEFAULT as u64,
        least: 0,
        most: u32::MAX as u64,
    },
    about: "How far a holder's load may be above the lowest.",
};

static PREFIX_TOKENS: Parameter<Count> = Parameter {
    name: "prefixTokens",
    unit: "tokens",
    kind: Count {
        default: PREFIX_DEFAULT.0,
        least: 1,
        most: u64::MAX,
    },
    about: "How much of the prompt is its prefix: so many whole blocks as fit, and at least one.",
};

static LOAD_FACTOR: Parameter<Number> = Parameter {
    name: "loadFactor",
    unit: "",
    kind: Number {
        default: LOAD_FACTOR_DEFAULT,
        range: NumberRange::Above(1.0),
    },
    about: "How many times its equal part of the load an endpoint may have.",
};

static OVERFLOW: Parameter<Choice<Overflow>> = Parameter {
    name: "overflow",
    unit: "",
    kind: Choice {
        default: Overflow::Next,
        names: &[
            ("next", Overflow::Next),
            ("leastLoaded", Overflow::LeastLoaded),
        ],
    },
    about: "Where a request goes instead, with `m` requests at `n` endpoints: to the next of the \
            prefix's order, so that no load comes above `ceil(loadFactor * (m + 1) / n)`; or to the \
            lowest load, where the prefix's own endpoint has more than `loadFactor * m / n`, as \
            SGLang's `prefix_hash` does.",
};

static ENDPOINTS_MAX: Parameter<OptionalCount> = Parameter {
    name: "maxNumOfEndpoints",
    unit: "endpoints",
    kind: OptionalCount {
        default: "1 behind a gateway, 3 standalone",
        least: 1,
        most: 16,
    },
    about: "How many endpoints the answer lists, best first; the proxy tries the next when one \
            fails.",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_has_its_row() {
        let rows: Vec<_> = LOAD_ROWS.iter().map(|row| row.name).collect();
        let names: Vec<_> = LOAD.kind.names.iter().map(|(name, _)| *name).collect();
        assert_eq!(rows, names);
    }
}
