//! What a plugin of the file is, and what it gives to the configuration that runs.

pub(crate) mod accepted;
pub(crate) mod data_layer;
pub(crate) mod engines;
pub(crate) mod picker;
pub(crate) mod prefix_cache;
pub(crate) mod scorer;

use core::fmt;

use pointsman_domain::block::BlockSize;
use pointsman_pipeline::config::PrefixSource;
use pointsman_schedule::picker::Picker;
use pointsman_schedule::scorer::Scorer;

use crate::config::{FileDiscovery, MetricNames, MetricsSource};
use crate::fields::Fields;
use crate::parameter::Row;

/// One plugin type.
pub(crate) struct PluginType {
    /// Its name in the file.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) role: Role,
    /// How much of it there is.
    pub(crate) state: State,
}

/// How much of a plugin type there is.
pub(crate) enum State {
    /// It works.
    Built(&'static Built),
    /// It is accepted and changes nothing.
    Accepted(&'static Accepted),
    /// It is known and not built in this version.
    NotBuilt,
}

/// A plugin type that works.
pub(crate) struct Built {
    /// One sentence.
    pub(crate) about: &'static str,
    /// Its parameters.
    pub(crate) parameters: &'static [&'static dyn Row],
    /// Reads its parameters.
    pub(crate) read: fn(&mut Fields<'_>) -> Part,
}

/// A plugin type that is accepted and changes nothing.
pub(crate) struct Accepted {
    /// Why nothing changes.
    pub(crate) why: &'static str,
    /// Its parameters.
    pub(crate) parameters: &'static [&'static dyn Row],
}

/// What one plugin gives to the configuration that runs.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// A scorer, and what it reads.
    Scorer(Scorer, Option<Producer>),
    /// A picker, and how many endpoints it lists if that is given.
    Picker(Picker, Option<usize>),
    /// The block size of the prefix index, and what it learns from.
    PrefixIndex(BlockSize, PrefixSource),
    /// How engines' metrics are read.
    Metrics(MetricsSource),
    /// What engines call their metrics.
    MetricNames(MetricNames),
    /// Where the endpoints are listed.
    Discovery(FileDiscovery),
    /// Nothing.
    Nothing,
}

/// The producer that a scorer names.
#[derive(Clone, Debug)]
pub(crate) struct Producer {
    /// The parameter that names it.
    pub(crate) parameter: &'static str,
    /// The name.
    pub(crate) name: String,
    /// The types that it may have.
    pub(crate) plugin_types: &'static [&'static str],
}

/// What a plugin does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Admitter,
    Decider,
    Discovery,
    EvictionPolicy,
    Extractor,
    FairnessPolicy,
    Filter,
    OrderingPolicy,
    Parser,
    Picker,
    Producer,
    ProfileHandler,
    Reporter,
    SaturationDetector,
    Scorer,
    Screener,
    Source,
    UsageLimitPolicy,
}

impl Role {
    /// All roles, in the order of the reference.
    pub(crate) const ALL: [Self; 18] = [
        Self::Scorer,
        Self::Picker,
        Self::ProfileHandler,
        Self::Producer,
        Self::Discovery,
        Self::Source,
        Self::Extractor,
        Self::Filter,
        Self::Decider,
        Self::Screener,
        Self::Admitter,
        Self::SaturationDetector,
        Self::OrderingPolicy,
        Self::FairnessPolicy,
        Self::UsageLimitPolicy,
        Self::EvictionPolicy,
        Self::Reporter,
        Self::Parser,
    ];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Admitter => "admission plugin",
            Self::Decider => "decider",
            Self::Discovery => "endpoint discovery",
            Self::EvictionPolicy => "eviction policy",
            Self::Extractor => "extractor",
            Self::FairnessPolicy => "fairness policy",
            Self::Filter => "filter",
            Self::OrderingPolicy => "ordering policy",
            Self::Parser => "parser",
            Self::Picker => "picker",
            Self::Producer => "data producer",
            Self::ProfileHandler => "profile handler",
            Self::Reporter => "response plugin",
            Self::SaturationDetector => "saturation detector",
            Self::Scorer => "scorer",
            Self::Screener => "screener",
            Self::Source => "data source",
            Self::UsageLimitPolicy => "usage limit policy",
        })
    }
}
