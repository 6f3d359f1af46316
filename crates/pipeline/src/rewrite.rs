//! Model rewrite: which model an engine is asked for in the place of the one that the client names.

use std::collections::BTreeMap;

use pointsman_domain::decision::Refusal;
use pointsman_domain::facts::{ModelName, RequestFacts, SessionSource};
use rand::{Rng, RngExt};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteRule {
    /// The models that it is for; empty for every model, and for requests that name none.
    pub matches: Vec<Box<str>>,
    /// What the engine may be asked for.
    pub targets: Vec<RewriteTarget>,
}

/// One target of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteTarget {
    /// The model.
    pub model: Box<str>,
    /// Its share of the requests, among all targets of the rule. Where no target has one, all have
    /// the same; else 0 is never chosen.
    pub weight: u32,
}

/// All rules of a pool. For each model one of them counts: the first that names it, else the first
/// that is for every model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrites {
    /// One for each rule.
    splits: Vec<Split>,
    /// The split of each model that a rule names.
    by_model: BTreeMap<Box<str>, usize>,
    /// The split of all other requests.
    for_all: Option<usize>,
}

/// The targets of a rule, each with the end of its part of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Split {
    ends: Vec<(u64, Box<str>)>,
}

impl Rewrites {
    /// These rules, in the order of their precedence.
    pub fn new(rules: Vec<RewriteRule>) -> Self {
        let mut rewrites = Self::default();
        for rule in rules {
            let Some(split) = Split::new(rule.targets) else {
                continue;
            };
            let index = rewrites.splits.len();
            rewrites.splits.push(split);
            if rule.matches.is_empty() {
                rewrites.for_all.get_or_insert(index);
            }
            for model in rule.matches {
                rewrites.by_model.entry(model).or_insert(index);
            }
        }
        rewrites
    }

    /// The model to ask the engine for; `None` where the body's own, or none, is what it is asked for.
    pub(crate) fn target<'a>(
        &'a self,
        facts: &'a RequestFacts,
        rng: &mut impl Rng,
    ) -> Result<Option<&'a str>, Refusal> {
        if facts.model == ModelName::Unread {
            // There is no place in the body for another name.
            return Ok(None);
        }
        let by_rule = self.split(&facts.model);
        let target = by_rule
            .and_then(|split| split.choose(facts, rng))
            .or(facts.model_override.as_deref())
            .or_else(|| facts.model.name());
        match target {
            Some(target) => Ok(Some(target)),
            None => self.demand_model(facts).map(|()| None),
        }
    }

    /// Refuses what names no model and gets none, where its dialect or a rule reads it. It is the
    /// same for a request whenever it is asked, as long as the rules are the same.
    pub(crate) fn demand_model(&self, facts: &RequestFacts) -> Result<(), Refusal> {
        let is_demanded = match facts.model {
            ModelName::Unread | ModelName::Named(_) => false,
            ModelName::Absent => !self.by_model.is_empty(),
            ModelName::Missing => true,
        };
        let is_given = self.for_all.is_some() || facts.model_override.is_some();
        if is_demanded && !is_given {
            Err(Refusal::ModelMissing)
        } else {
            Ok(())
        }
    }

    fn split(&self, model: &ModelName) -> Option<&Split> {
        let named = model.name().and_then(|name| self.by_model.get(name));
        let index = named.or(self.for_all.as_ref())?;
        self.splits.get(*index)
    }
}

impl Split {
    /// `None` without targets.
    fn new(targets: Vec<RewriteTarget>) -> Option<Self> {
        let has_weights = targets.iter().any(|target| target.weight > 0);
        let mut end = 0_u64;
        let ends = targets.into_iter().map(|target| {
            end += if has_weights {
                u64::from(target.weight)
            } else {
                1
            };
            (end, target.model)
        });
        let ends: Vec<_> = ends.collect();
        (!ends.is_empty()).then_some(Self { ends })
    }

    /// The target of one request; the same for all requests of a conversation.
    fn choose(&self, facts: &RequestFacts, rng: &mut impl Rng) -> Option<&str> {
        let whole = self.ends.last().map_or(0, |(end, _)| *end);
        let point = match &*self.ends {
            [_] => 0,
            _ => {
                let bits = conversation(facts).unwrap_or_else(|| rng.random());
                // Below `whole`, as the product is below `whole << 64`.
                ((u128::from(bits) * u128::from(whole)) >> 64) as u64
            }
        };
        let index = self.ends.partition_point(|(end, _)| *end <= point);
        self.ends.get(index).map(|(_, model)| &**model)
    }
}

/// Equal for requests of one conversation that names itself. One that is only known by the beginning
/// of its prompt may be that of many clients, who would all go to the same side.
fn conversation(facts: &RequestFacts) -> Option<u64> {
    let session = facts.session.filter(|session| match session.source {
        SessionSource::Header | SessionSource::Body => true,
        SessionSource::Prompt => false,
    })?;
    // Not the name's own hash, by which others may divide conversations too.
    Some(xxh3_64_with_seed(&session.id.0.to_le_bytes(), SPLIT_SEED))
}

const SPLIT_SEED: u64 = 0x7265_7772_6974_6573;

#[cfg(test)]
mod tests;
