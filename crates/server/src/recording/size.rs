//! How much memory an entry takes while it waits.

use pointsman_domain::decision::Decision;
use pointsman_domain::endpoint::{EndpointId, EndpointSpec};
use pointsman_domain::event::{Completed, Event, Picked};
use pointsman_domain::facts::RequestFacts;
use pointsman_pipeline::config::RuntimeConfig;
use pointsman_pipeline::pool::{Input, Output};
use pointsman_pipeline::record::{Entry, Step};

/// An estimate, which leaves out what allocators add and counts names that are shared as nothing.
pub(super) fn of(entry: &Entry) -> usize {
    let step = match &entry.step {
        Step::Input(input) | Step::Panicked(input) => of_input(input),
        Step::Configure(configuration) => configuration.text.len() + configuration.rewrites.len(),
        Step::Recover { .. } => 0,
    };
    let outputs = entry.outputs.iter().map(of_output).sum::<usize>();
    size_of::<Entry>() + size_of_val(&*entry.outputs) + step + outputs
}

fn of_input(input: &Input) -> usize {
    match input {
        Input::Offer { facts, .. } => of_facts(facts),
        Input::Endpoints(specs) => specs.iter().map(of_spec).sum(),
        Input::CacheStored { keys, .. } | Input::CacheRemoved { keys, .. } => size_of_val(&**keys),
        Input::Configure(_) => size_of::<RuntimeConfig>(),
        Input::Ended { .. }
        | Input::Observed { .. }
        | Input::ScrapeBegun(_)
        | Input::ScrapeDone(..)
        | Input::ScrapeFailed(..)
        | Input::CacheCleared(_)
        | Input::Pickers(_)
        | Input::Expire
        | Input::ShutDown => 0,
    }
}

fn of_facts(facts: &RequestFacts) -> usize {
    let names = [&facts.model_override, &facts.objective, &facts.fairness_id];
    let names = names.into_iter().flatten().map(|name| name.len());
    let names = names.chain(facts.model.name().map(str::len));
    let media = size_of_val(&*facts.media);
    let subset = facts.subset.as_deref().map_or(0, size_of_val);
    size_of::<RequestFacts>()
        + size_of_val(&*facts.prompt.blocks)
        + names.sum::<usize>()
        + subset
        + media
}

fn of_spec(spec: &EndpointSpec) -> usize {
    let labels = spec.labels.iter();
    let labels = labels.map(|(name, value)| 2 * size_of::<String>() + name.len() + value.len());
    size_of::<EndpointSpec>() + spec.name.len() + spec.incarnation.len() + labels.sum::<usize>()
}

fn of_output(output: &Output) -> usize {
    match output {
        Output::Endpoints { added, removed } => {
            let lives = size_of::<EndpointId>() * (added.len() + removed.len());
            lives + added.iter().map(|(_, spec)| of_spec(spec)).sum::<usize>()
        }
        Output::Event(Event::Picked(picked)) => {
            let scores = picked.scores.iter().flatten();
            let scores = scores.map(|score| size_of_val(score) + size_of_val(&*score.parts));
            let names = [&picked.model, &picked.target_model];
            let names = names.into_iter().flatten().map(|name| name.len());
            size_of::<Picked>() + scores.sum::<usize>() + names.sum::<usize>()
        }
        Output::Event(Event::Completed(_)) => size_of::<Completed>(),
        // A pick has a few destinations, which lie in it.
        Output::Decided {
            decision: Decision::Picked(pick),
            ..
        } => pick.model.as_ref().map_or(0, |name| name.len()),
        Output::Decided { .. } | Output::Event(_) => 0,
    }
}

#[cfg(test)]
mod tests;
