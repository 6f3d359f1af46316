//! Any header, step and output.

use core::net::{IpAddr, SocketAddr};
use core::num::NonZeroU32;
use core::time::Duration;

use pointsman_domain::adapter::{AdapterKey, Adapters};
use pointsman_domain::block::{BlockHash, BlockKey, BlockSize, SaltHash};
use pointsman_domain::decision::{Decision, Destination, Pick, Refusal};
use pointsman_domain::endpoint::{EndpointId, EndpointSpec, SubsetEntry};
use pointsman_domain::event::{CandidateScore, Completed, Event, Late, Picked, ScorePart, Timings};
use pointsman_domain::facts::{
    Dialect, Effort, Features, LatencyGoals, MediaItem, MediaKind, ModelName, NameHash, Prompt,
    Reasoning, RequestFacts, RequestId, Session, SessionSource,
};
use pointsman_domain::load::{Counters, EngineSample, LoadSample};
use pointsman_domain::observation::{EndCause, Observation, ObservationMode, Usage};
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::{Milliseconds, Tokens, Unit};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use crate::config::Attachment;
use crate::pool::{Detail, Input, Output, ScrapeFault};
use crate::record::{Configuration, End, EndReason, Entry, FORMAT, Header, Line, Step};

pub(super) fn line() -> impl Strategy<Value = Line> {
    prop_oneof![
        1 => header().prop_map(Line::Header),
        8 => entry().prop_map(Line::Entry),
        1 => (any::<u64>(), end_reason())
            .prop_map(|(entries, reason)| Line::End(End { entries, reason })),
    ]
}

pub(super) fn entry() -> impl Strategy<Value = Entry> {
    (any::<u64>(), any::<u64>(), step(), vec(output(), 0..4)).prop_map(
        |(sequence, nanos, step, outputs)| Entry {
            sequence,
            now: Timestamp::from_nanos(nanos),
            step,
            outputs,
        },
    )
}

fn header() -> impl Strategy<Value = Header> {
    (
        any::<String>(),
        any::<String>(),
        any::<u64>(),
        configuration(),
    )
        .prop_map(|(version, pool, seed, configuration)| Header {
            format: FORMAT,
            version,
            pool,
            seed,
            configuration,
        })
}

fn configuration() -> impl Strategy<Value = Configuration> {
    let attachment = prop_oneof![Just(Attachment::Gateway), Just(Attachment::Standalone)];
    (any::<String>(), any::<String>(), attachment).prop_map(|(text, rewrites, attachment)| {
        Configuration::new(text, attachment).with_rewrites(rewrites)
    })
}

fn end_reason() -> impl Strategy<Value = EndReason> {
    prop_oneof![
        Just(EndReason::Complete),
        Just(EndReason::QueueFull),
        Just(EndReason::BytesMax),
        Just(EndReason::Unwritable),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => input().prop_map(Step::Input),
        1 => input().prop_map(Step::Panicked),
        1 => configuration().prop_map(Step::Configure),
        1 => option::of(request_id()).prop_map(|lost| Step::Recover { lost }),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    let detail = prop_oneof![Just(Detail::Brief), Just(Detail::Explained)];
    let fault = prop_oneof![Just(ScrapeFault::Unreachable), Just(ScrapeFault::Unusable)];
    prop_oneof![
        4 => (request_id(), facts(), detail).prop_map(|(id, facts, detail)| Input::Offer {
            id,
            facts: Box::new(facts),
            detail,
        }),
        1 => (request_id(), cause()).prop_map(|(id, cause)| Input::Ended { id, cause }),
        1 => (request_id(), observation())
            .prop_map(|(id, observation)| Input::Observed { id, observation }),
        1 => endpoint_id().prop_map(Input::ScrapeBegun),
        2 => (endpoint_id(), engine_sample()).prop_map(|(id, sample)| Input::ScrapeDone(id, Box::new(sample))),
        1 => (endpoint_id(), fault).prop_map(|(id, fault)| Input::ScrapeFailed(id, fault)),
        1 => vec(spec(), 0..3).prop_map(Input::Endpoints),
        1 => (endpoint_id(), block_keys())
            .prop_map(|(endpoint, keys)| Input::CacheStored { endpoint, keys }),
        1 => (endpoint_id(), block_keys())
            .prop_map(|(endpoint, keys)| Input::CacheRemoved { endpoint, keys }),
        1 => endpoint_id().prop_map(Input::CacheCleared),
        1 => any::<NonZeroU32>().prop_map(Input::Pickers),
        1 => Just(Input::Expire),
        1 => Just(Input::ShutDown),
    ]
}

fn output() -> impl Strategy<Value = Output> {
    let lives = (vec((endpoint_id(), spec()), 0..3), vec(endpoint_id(), 0..3));
    prop_oneof![
        2 => (request_id(), decision()).prop_map(|(id, decision)| Output::Decided { id, decision }),
        1 => lives.prop_map(|(added, removed)| Output::Endpoints { added, removed }),
        4 => event().prop_map(Output::Event),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        request_id().prop_map(|request| Event::Held { request }),
        picked().prop_map(|picked| Event::Picked(Box::new(picked))),
        (request_id(), refusal(), duration()).prop_map(|(request, refusal, waited)| {
            Event::Refused {
                request,
                refusal,
                waited,
            }
        }),
        (request_id(), duration())
            .prop_map(|(request, after)| Event::FirstOutput { request, after }),
        (request_id(), endpoint_id(), endpoint_id()).prop_map(|(request, picked, served)| {
            Event::ServedElsewhere {
                request,
                picked,
                served,
            }
        }),
        completed().prop_map(|completed| Event::Completed(Box::new(completed))),
        any::<usize>().prop_map(|endpoints| Event::EndpointsChanged { endpoints }),
        (endpoint_id(), any::<bool>()).prop_map(|(endpoint, out)| Event::Ejected { endpoint, out }),
        prop_oneof![
            Just(Late::Scrape),
            Just(Late::Observation),
            Just(Late::Served),
            Just(Late::CacheReport)
        ]
        .prop_map(|what| Event::Dropped { what }),
    ]
}

fn picked() -> impl Strategy<Value = Picked> {
    let choice = (request_id(), endpoint_id(), address(), duration());
    let models = (option::of(name()), option::of(name()));
    let sizes = (any::<u64>(), any::<u64>(), any::<usize>());
    let scores = option::of(vec(candidate_score(), 0..3));
    (choice, models, sizes, scores).prop_map(
        |(choice, (model, target_model), (prompt, cached, candidates), scores)| Picked {
            request: choice.0,
            endpoint: choice.1,
            address: choice.2,
            waited: choice.3,
            model,
            target_model,
            prompt_tokens: Tokens(prompt),
            cached_tokens: Tokens(cached),
            candidates,
            scores,
        },
    )
}

fn candidate_score() -> impl Strategy<Value = CandidateScore> {
    let part = (any::<String>(), number(), number());
    let parts = vec(part, 0..3).prop_map(|parts| {
        let named = |(scorer, score, weight): (String, f64, f64)| ScorePart {
            scorer: scorer.into(),
            score,
            weight,
        };
        parts.into_iter().map(named).collect()
    });
    (
        endpoint_id(),
        address(),
        any::<u64>(),
        any::<u32>(),
        number(),
        parts,
    )
        .prop_map(
            |(endpoint, address, cached, own_requests, total, parts)| CandidateScore {
                endpoint,
                address,
                cached_tokens: Tokens(cached),
                own_requests,
                total,
                parts,
            },
        )
}

fn completed() -> impl Strategy<Value = Completed> {
    let endpoint = option::of(endpoint_id());
    (
        request_id(),
        endpoint,
        cause(),
        duration(),
        option::of(usage()),
        timings(),
    )
        .prop_map(
            |(request, endpoint, cause, duration, usage, timings)| Completed {
                request,
                endpoint,
                cause,
                duration,
                usage,
                timings,
            },
        )
}

fn timings() -> impl Strategy<Value = Timings> {
    let moment = || option::of(duration());
    (moment(), moment(), moment()).prop_map(|(first_output, first_visible, finished)| Timings {
        first_output,
        first_visible,
        finished,
    })
}

fn decision() -> impl Strategy<Value = Decision> {
    let destination = (endpoint_id(), address())
        .prop_map(|(endpoint, address)| Destination { endpoint, address });
    prop_oneof![
        (vec(destination, 1..5), option::of(name())).prop_map(|(destinations, model)| {
            Decision::Picked(Pick {
                destinations: destinations.into(),
                model,
            })
        }),
        refusal().prop_map(Decision::Refused),
    ]
}

fn facts() -> impl Strategy<Value = RequestFacts> {
    let names = (model(), option::of(name()), option::of(name()));
    let dialect = prop_oneof![
        Just(Dialect::ChatCompletions),
        Just(Dialect::Completions),
        Just(Dialect::Passthrough),
    ];
    let counts = (option::of(any::<u64>()), any::<u64>(), any::<u64>());
    let salt = option::of(any::<String>());
    let subset = option::of(vec(subset_entry(), 0..3));
    (
        dialect,
        any::<bool>(),
        prompt(),
        names,
        counts,
        salt,
        subset,
        wishes(),
    )
        .prop_map(
            |(dialect, stream, prompt, names, counts, salt, subset, wishes)| RequestFacts {
                dialect,
                model: names.0,
                stream,
                prompt,
                output_tokens_max: counts.0.map(Tokens),
                cache_salt: salt.map(|salt| SaltHash::of(&salt)),
                template_inputs: counts.1,
                objective: names.1,
                fairness_id: names.2,
                subset,
                body_bytes: counts.2,
                ..wishes
            },
        )
}

fn name() -> impl Strategy<Value = Box<str>> {
    any::<String>().prop_map(String::into_boxed_str)
}

fn model() -> impl Strategy<Value = ModelName> {
    prop_oneof![
        name().prop_map(ModelName::Named),
        Just(ModelName::Unread),
        Just(ModelName::Absent),
        Just(ModelName::Missing),
    ]
}

/// What a request asks for beside its prompt, in the facts of no other request.
fn wishes() -> impl Strategy<Value = RequestFacts> {
    let effort = prop_oneof![Just(Effort::None), Just(Effort::High)];
    let reasoning = (
        option::of(effort),
        option::of(any::<u64>().prop_map(Tokens)),
    )
        .prop_map(|(effort, budget)| Reasoning { effort, budget });
    let features = (any::<u32>(), any::<bool>(), any::<bool>()).prop_map(
        |(tools, response_format, template_arguments)| Features {
            tools,
            response_format,
            template_arguments,
        },
    );
    let media = vec((any::<u64>(), any::<u64>()), 0..3).prop_map(|items| {
        let item = |(content, tokens)| MediaItem {
            kind: MediaKind::Video,
            content,
            tokens: Tokens(tokens),
        };
        items.into_iter().map(item).collect()
    });
    let hash = || option::of(any::<u64>().prop_map(NameHash));
    let goal = || option::of(any::<u32>().prop_map(Milliseconds));
    (
        (reasoning, features, media, option::of(name())),
        (hash(), hash(), hash(), 1..u32::MAX),
        (goal(), goal(), any::<bool>()),
    )
        .prop_map(|(asked, hashes, goals)| RequestFacts {
            reasoning: asked.0,
            features: asked.1,
            media: asked.2,
            model_override: asked.3,
            prompt_cache_key: hashes.0,
            user: hashes.1,
            session: hashes.2.map(|id| Session {
                id,
                source: SessionSource::Body,
            }),
            choices: NonZeroU32::new(hashes.3).unwrap(),
            goals: LatencyGoals {
                ttft: goals.0,
                tpot: goals.1,
            },
            observation: if goals.2 {
                ObservationMode::HeadersOnly
            } else {
                ObservationMode::Full
            },
            ..RequestFacts::passthrough(BlockSize::DEFAULT)
        })
}

fn prompt() -> impl Strategy<Value = Prompt> {
    let blocks = vec(any::<u64>(), 0..5);
    (blocks, 1..u32::MAX, any::<u64>(), any::<bool>()).prop_map(
        |(blocks, size, tokens, is_counted)| Prompt {
            blocks: blocks.into_iter().map(BlockHash).collect(),
            block_size: BlockSize::new(size).unwrap(),
            tokens: Tokens(tokens),
            is_counted,
        },
    )
}

fn subset_entry() -> impl Strategy<Value = SubsetEntry> {
    (any::<IpAddr>(), option::of(any::<u16>())).prop_map(|(ip, port)| SubsetEntry { ip, port })
}

fn sample() -> impl Strategy<Value = LoadSample> {
    let count = || option::of(any::<u32>());
    let usage = option::of(0.0..=1.0);
    (
        count(),
        count(),
        usage,
        count(),
        count(),
        option::of(number()),
    )
        .prop_map(
            |(waiting, running, usage, kv_block_tokens, kv_blocks, start)| LoadSample {
                waiting,
                running,
                kv_usage: usage.map(Unit::clamped),
                kv_block_tokens,
                kv_blocks,
                process_start_seconds: start,
            },
        )
}

fn engine_sample() -> impl Strategy<Value = EngineSample> {
    (sample(), option::of(adapters()), counters()).prop_map(|(load, adapters, counters)| {
        EngineSample {
            load,
            adapters,
            counters,
        }
    })
}

fn adapters() -> impl Strategy<Value = Adapters> {
    let set = || {
        vec(any::<u8>(), 0..12).prop_map(|names| {
            names
                .iter()
                .map(|name| AdapterKey::of_bytes(&[*name]))
                .collect()
        })
    };
    (set(), set(), option::of(any::<u32>())).prop_map(|(running, waiting, slots)| Adapters {
        running,
        waiting,
        slots,
    })
}

fn counters() -> impl Strategy<Value = Counters> {
    let counter = || option::of(number());
    (
        counter(),
        counter(),
        counter(),
        counter(),
        counter(),
        counter(),
        counter(),
    )
        .prop_map(
            |(prompt, cached, output, prefill, decode, preemptions, finished)| Counters {
                prompt_tokens: prompt,
                cached_tokens: cached,
                output_tokens: output,
                prefill_seconds: prefill,
                decode_seconds: decode,
                preemptions,
                finished,
            },
        )
}

fn block_keys() -> impl Strategy<Value = Vec<BlockKey>> {
    vec(any::<u64>().prop_map(BlockKey), 0..4)
}

fn spec() -> impl Strategy<Value = EndpointSpec> {
    let labels = btree_map(any::<String>(), any::<String>(), 0..3);
    (
        any::<String>(),
        address(),
        address(),
        any::<String>(),
        labels,
    )
        .prop_map(
            |(name, address, metrics_address, incarnation, labels)| EndpointSpec {
                name,
                address,
                metrics_address,
                incarnation,
                labels,
            },
        )
}

fn observation() -> impl Strategy<Value = Observation> {
    prop_oneof![
        any::<u16>().prop_map(|status| Observation::Answered { status }),
        address().prop_map(Observation::Served),
        Just(Observation::FirstOutput),
        Just(Observation::FirstVisible),
        Just(Observation::Finished),
        sample().prop_map(Observation::Load),
        usage().prop_map(Observation::Usage),
    ]
}

fn usage() -> impl Strategy<Value = Usage> {
    let share = || option::of(any::<u64>().prop_map(Tokens));
    (any::<u64>(), any::<u64>(), share(), share()).prop_map(
        |(prompt, output, cached, reasoning)| Usage {
            prompt: Tokens(prompt),
            output: Tokens(output),
            cached,
            reasoning,
        },
    )
}

fn cause() -> impl Strategy<Value = EndCause> {
    prop_oneof![
        Just(EndCause::Complete),
        Just(EndCause::EngineError),
        Just(EndCause::Cut),
        Just(EndCause::Refused),
    ]
}

fn refusal() -> impl Strategy<Value = Refusal> {
    proptest::sample::select(&Refusal::ALL[..])
}

fn request_id() -> impl Strategy<Value = RequestId> {
    any::<u64>().prop_map(RequestId)
}

fn endpoint_id() -> impl Strategy<Value = EndpointId> {
    (any::<u32>(), any::<u32>()).prop_map(|(slot, generation)| EndpointId { slot, generation })
}

fn address() -> impl Strategy<Value = SocketAddr> {
    (any::<IpAddr>(), any::<u16>()).prop_map(SocketAddr::from)
}

fn duration() -> impl Strategy<Value = Duration> {
    any::<Duration>()
}

/// Any float at all, finite or not.
fn number() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits)
}
