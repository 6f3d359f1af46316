//! The table of what each message does in each state is in the docs, and is made here.

use core::fmt::Write;

use super::*;

type Play = fn(&mut Exchange);

/// A gateway, and the states of its streams, each with what leads to it from the one before.
struct Plan {
    title: &'static str,
    request: BodySendMode,
    response: BodySendMode,
    states: &'static [(&'static str, Play)],
}

const DUPLEX: Plan = Plan {
    title: "`FULL_DUPLEX_STREAMED` both ways",
    request: BodySendMode::FullDuplexStreamed,
    response: BodySendMode::FullDuplexStreamed,
    states: &[
        ("new", |_| {}),
        ("headers came", post),
        ("body comes", |exchange| {
            exchange.body(&chat(), Ends::Later);
        }),
        ("asked", |exchange| {
            exchange.body(&Bytes::new(), Ends::Here);
        }),
        ("routed", picked),
        ("response begun", respond),
        ("response ended", |exchange| {
            exchange.send(response_body("{}", Ends::Here));
        }),
    ],
};

const BUFFERED: Plan = Plan {
    title: "`BUFFERED` both ways",
    request: BodySendMode::Buffered,
    response: BodySendMode::Buffered,
    states: &[
        ("new", |_| {}),
        ("headers came", post),
        ("asked", |exchange| {
            exchange.body(&chat(), Ends::Here);
        }),
        ("routed", picked),
        ("response begun", respond),
        ("response ended", |exchange| {
            exchange.send(response_body("{}", Ends::Here));
        }),
    ],
};

const STREAMED: Plan = Plan {
    title: "`STREAMED` both ways",
    request: BodySendMode::Streamed,
    response: BodySendMode::Streamed,
    states: &[
        ("new", |_| {}),
        ("asked", post),
        ("routed", picked),
        ("response begun", respond),
        ("response ended", |exchange| {
            exchange.send(response_body("{}", Ends::Here));
        }),
    ],
};

const STANDALONE: Plan = Plan {
    title: "`FULL_DUPLEX_STREAMED` requests, no response bodies",
    request: BodySendMode::FullDuplexStreamed,
    response: BodySendMode::None,
    states: &[
        ("routed", |exchange| {
            exchange.post().body(&chat(), Ends::Here).picked();
        }),
        ("response begun", respond),
        ("response ended", |exchange| {
            exchange.send(response_trailers(&[]));
        }),
    ],
};

fn post(exchange: &mut Exchange) {
    exchange.post();
}

fn picked(exchange: &mut Exchange) {
    exchange.picked();
}

fn trailers(exchange: &mut Exchange) {
    exchange.trailers();
}

fn respond(exchange: &mut Exchange) {
    exchange.send(response_headers("200", "application/json", Ends::Later));
}

/// What can happen to a stream in any state.
const EVENTS: [(&str, Play); 14] = [
    ("request headers", post),
    ("request headers, end", |exchange| {
        exchange.send(request_headers("GET", "/v1/models", Ends::Here));
    }),
    ("request body", |exchange| {
        exchange.body(&chat(), Ends::Later);
    }),
    ("request body, end", |exchange| {
        exchange.body(&chat(), Ends::Here);
    }),
    ("request trailers", trailers),
    ("the pool picks", picked),
    ("the pool refuses", |exchange| {
        let refused = Decision::Refused(Refusal::NoEndpoints);
        exchange.step("refused", |stream, actions| {
            stream.decided(&refused, actions);
        });
    }),
    ("response headers", respond),
    ("response headers, end", |exchange| {
        exchange.send(response_headers("200", "application/json", Ends::Here));
    }),
    ("response body", |exchange| {
        exchange.send(response_body("{}", Ends::Later));
    }),
    ("response body, end", |exchange| {
        exchange.send(response_body("{}", Ends::Here));
    }),
    ("response trailers", |exchange| {
        exchange.send(response_trailers(&[("grpc-status", "0")]));
    }),
    ("silence", |exchange| {
        exchange.step("overdue", |stream, actions| {
            if let Some(wait) = stream.waits_for() {
                stream.overdue(wait, actions);
            }
        });
    }),
    ("the stream ends", |exchange| {
        exchange.step("closed", Stream::closed);
    }),
];

#[test]
fn the_table_in_the_docs_is_what_the_machine_does() {
    let mut text = String::from(HEAD);
    for plan in [DUPLEX, STANDALONE, BUFFERED, STREAMED] {
        write_plan(&mut text, &plan);
    }
    assert!(
        text == DOCUMENT,
        "docs/states.md is not what the machine does, which is:\n{text}"
    );
}

fn write_plan(text: &mut String, plan: &Plan) {
    write!(text, "\n## {}\n\n| |", plan.title).unwrap();
    for (state, _) in plan.states {
        write!(text, " {state} |").unwrap();
    }
    let rule = "---|".repeat(plan.states.len() + 1);
    write!(text, "\n|{rule}\n").unwrap();
    for (event, happen) in EVENTS {
        write!(text, "| **{event}** |").unwrap();
        for reached in 1..=plan.states.len() {
            let mut exchange = Exchange::declared(plan.request, plan.response);
            for (_, advance) in &plan.states[..reached] {
                advance(&mut exchange);
            }
            let before = exchange.actions.len();
            happen(&mut exchange);
            write!(text, " {} |", cell(&exchange.actions[before..])).unwrap();
        }
        text.push('\n');
    }
}

fn cell(actions: &[Action]) -> String {
    let mut words: Vec<String> = Vec::new();
    for action in actions {
        let word = match action {
            Action::Ask(_) => "ask".to_owned(),
            Action::ListModels => "list models".to_owned(),
            Action::Observed(_) => continue,
            Action::Ended(cause) => format!("ends: {}", cause.label()),
            Action::Reply(reply) => match reply.response.as_ref().unwrap() {
                Response::ImmediateResponse(answer) => {
                    format!("{} to the client", answer.status.unwrap().code)
                }
                Response::RequestHeaders(_) | Response::ResponseHeaders(_) => "headers".to_owned(),
                Response::RequestBody(_) | Response::ResponseBody(_) => "body".to_owned(),
                Response::RequestTrailers(_) | Response::ResponseTrailers(_) => {
                    "trailers".to_owned()
                }
            },
        };
        if words.last() != Some(&word) {
            words.push(word);
        }
    }
    if words.is_empty() {
        return "–".to_owned();
    }
    words.join(", ")
}

const HEAD: &str = "\
# States of a stream

What each message does in each state of an ext_proc stream, by the body modes that the gateway
declares: what the pool is asked, what is answered (`headers`, `body`, `trailers`), and how the
request ends. A dash means that the message is taken in and nothing follows. No order of messages is
an error. The test [`the_table_in_the_docs_is_what_the_machine_does`](../crates/extproc/src/stream/tests/table.rs)
keeps this page true; [protocol.md](protocol.md) tells the rules behind it.
";

const DOCUMENT: &str = include_str!("../../../../../docs/states.md");
