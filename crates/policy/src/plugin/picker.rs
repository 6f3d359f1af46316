//! Parameters of the pickers.

use pointsman_schedule::picker::Picker;
use pointsman_schedule::picker::round_robin::RoundRobin;

use super::{Built, Part};
use crate::fields::Fields;
use crate::parameter::Parameter;
use crate::parameter::number::OptionalCount;

pub(crate) static MAX_SCORE: Built = Built {
    about: "Highest total score first; equal totals in random order.",
    parameters: &[&ENDPOINTS_MAX],
    read: |fields| part(Picker::MaxScore, fields),
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
    about: "Fewest requests in flight first, equal ones in random order; scores do not count. Our \
            own; not known to llm-d.",
    parameters: &[&ENDPOINTS_MAX],
    read: |fields| part(Picker::LeastOutstanding, fields),
};

fn part(picker: Picker, fields: &mut Fields<'_>) -> Part {
    let endpoints_max = ENDPOINTS_MAX.of(fields);
    Part::Picker(
        picker,
        endpoints_max.and_then(|count| usize::try_from(count).ok()),
    )
}

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
