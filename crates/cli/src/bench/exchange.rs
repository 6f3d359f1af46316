//! One stream, as Envoy 1.40 leads it for one HTTP request and its response.
//!
//! In duplex modes the request goes out without waiting for an answer, and its body ends with an
//! empty message. The response begins once the request came back. At the end the stream is reset,
//! unless the picker has closed it.

use core::time::Duration;

use pointsman_proto::ext_proc::processing_response::Response;
use pointsman_proto::ext_proc::{
    CommonResponse, HeaderValueOption, ProcessingRequest, ProcessingResponse,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::metadata::MetadataValue;
use tonic::{Status, Streaming};

use super::cell::BodyMode;
use super::connection::Client;
use super::expected::Expected;
use super::script::{Body, Script};

/// How long a stream took. Both times count from when it was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timing {
    /// Until the destination was there.
    pub(super) pick: Duration,
    /// Until its end.
    pub(super) whole: Duration,
}

/// Why a stream counts as failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// The call failed, or the stream broke.
    #[error("gRPC status {0}")]
    Grpc(String),
    /// The picker answered in the place of an engine.
    #[error("answered here with status {0}")]
    Immediate(i32),
    /// The request came back without a destination.
    #[error("no destination")]
    NoDestination,
    /// A body did not come back as it was sent.
    #[error("wrong echo: {0}")]
    Echo(&'static str),
    /// An answer that Envoy would not take at this point.
    #[error("unexpected: {0}")]
    Unexpected(&'static str),
    /// The picker closed the stream before its last answer.
    #[error("closed early")]
    ClosedEarly,
    /// An answer took too long.
    #[error("not complete within {} s", STREAM_WAIT_MAX.as_secs())]
    Overdue,
}

/// Leads the stream with this number, which was due at `due`.
pub(super) async fn exchange(
    client: &Client,
    script: &Script,
    number: u64,
    due: Instant,
) -> Result<Timing, Failure> {
    let wait_max = STREAM_WAIT_MAX + script.response_time();
    timeout(wait_max, lead(client, script, number, due))
        .await
        .unwrap_or(Err(Failure::Overdue))
}

async fn lead(
    client: &Client,
    script: &Script,
    number: u64,
    due: Instant,
) -> Result<Timing, Failure> {
    let prompt = script
        .prompt(number)
        .ok_or(Failure::Unexpected("no prompt"))?;
    let mut exchange = Exchange::open(client, script, prompt, number).await?;
    exchange.request(prompt).await?;
    let pick = exchange
        .picked
        .ok_or(Failure::NoDestination)?
        .duration_since(due);
    exchange.respond().await?;
    Ok(Timing {
        pick,
        whole: due.elapsed(),
    })
}

/// An open stream. Dropping it resets the stream.
struct Exchange<'a> {
    script: &'a Script,
    /// Holds no more than the messages of one stream, whose bytes exist anyway.
    outgoing: mpsc::UnboundedSender<ProcessingRequest>,
    incoming: Streaming<ProcessingResponse>,
    /// When the destination came.
    picked: Option<Instant>,
    request: Expected,
    /// `None` until the response begins.
    response: Option<Expected>,
}

impl<'a> Exchange<'a> {
    async fn open(
        client: &Client,
        script: &'a Script,
        prompt: &Body,
        number: u64,
    ) -> Result<Self, Failure> {
        let (outgoing, messages) = mpsc::unbounded_channel();
        send_all(&outgoing, &[script.request_headers(number)]);
        if script.mode.is_duplex() {
            send_all(&outgoing, &prompt.messages);
        }
        let mut call = tonic::Request::new(UnboundedReceiverStream::new(messages));
        let metadata = call.metadata_mut();
        metadata.insert("x-envoy-internal", MetadataValue::from_static("true"));
        metadata.insert("x-forwarded-for", MetadataValue::from_static("127.0.0.1"));
        let incoming = client.clone().process(call).await?.into_inner();
        Ok(Self {
            script,
            outgoing,
            incoming,
            picked: None,
            request: Expected::of_request(script.mode, prompt),
            response: None,
        })
    }

    /// Sends the rest of the request and takes all answers to it.
    async fn request(&mut self, prompt: &Body) -> Result<(), Failure> {
        if !self.script.mode.is_duplex() {
            while !self.request.has_headers() {
                self.take_next().await?;
            }
            send_all(&self.outgoing, &prompt.messages);
        }
        while !self.request.is_complete() {
            self.take_next().await?;
        }
        Ok(())
    }

    /// Sends the response and takes all answers to it.
    async fn respond(&mut self) -> Result<(), Failure> {
        let script = self.script;
        self.response = Some(Expected::of_response(script.mode, &script.response));
        let begin = Instant::now();
        self.send(&script.response_headers);
        if script.mode != BodyMode::Duplex {
            while !self.response.as_ref().is_some_and(Expected::has_headers) {
                self.take_next().await?;
            }
        }
        match script.mode {
            BodyMode::Duplex | BodyMode::Streamed => {
                let mut due = begin;
                for message in &script.response.messages {
                    self.take_until(due).await?;
                    self.send(message);
                    due += script.gap;
                }
            }
            BodyMode::Buffered => {
                self.take_until(begin + script.response_time()).await?;
                send_all(&self.outgoing, &script.response.messages);
            }
            BodyMode::HeadersOnly => self.take_until(begin + script.response_time()).await?,
        }
        while !self.response.as_ref().is_some_and(Expected::is_complete) {
            self.take_next().await?;
        }
        Ok(())
    }

    /// Takes what comes until `due`.
    async fn take_until(&mut self, due: Instant) -> Result<(), Failure> {
        if self.script.gap.is_zero() {
            return Ok(());
        }
        loop {
            let answer = tokio::select! {
                answer = self.incoming.message() => answer,
                () = sleep_until(due) => return Ok(()),
            };
            self.take(answer?.ok_or(Failure::ClosedEarly)?)?;
        }
    }

    async fn take_next(&mut self) -> Result<(), Failure> {
        let answer = self.incoming.message().await?;
        self.take(answer.ok_or(Failure::ClosedEarly)?)
    }

    fn take(&mut self, answer: ProcessingResponse) -> Result<(), Failure> {
        match answer.response {
            Some(Response::RequestHeaders(answer)) => {
                self.note_destination(answer.response.as_ref());
                self.request.headers()
            }
            Some(Response::RequestBody(answer)) => {
                // In the other modes Envoy has let go of the headers by then.
                if self.script.mode == BodyMode::Buffered {
                    self.note_destination(answer.response.as_ref());
                }
                self.request.body(answer)
            }
            Some(Response::ResponseHeaders(_)) => self.begun_response()?.headers(),
            Some(Response::ResponseBody(answer)) => self.begun_response()?.body(answer),
            Some(Response::RequestTrailers(_) | Response::ResponseTrailers(_)) => {
                Err(Failure::Unexpected("an answer to trailers"))
            }
            Some(Response::ImmediateResponse(answer)) => Err(Failure::Immediate(
                answer.status.map_or(0, |status| status.code),
            )),
            None => Err(Failure::Unexpected("an empty answer")),
        }
    }

    fn begun_response(&mut self) -> Result<&mut Expected, Failure> {
        self.response
            .as_mut()
            .ok_or(Failure::Unexpected("an answer to a response not yet sent"))
    }

    fn note_destination(&mut self, answer: Option<&CommonResponse>) {
        if self.picked.is_none() && answer.is_some_and(names_destination) {
            self.picked = Some(Instant::now());
        }
    }

    fn send(&self, message: &ProcessingRequest) {
        send_all(&self.outgoing, core::slice::from_ref(message));
    }
}

/// A message that cannot be sent is not missed: the stream is gone then, and the next answer says so.
fn send_all(outgoing: &mpsc::UnboundedSender<ProcessingRequest>, messages: &[ProcessingRequest]) {
    for message in messages {
        let _ = outgoing.send(message.clone());
    }
}

fn names_destination(answer: &CommonResponse) -> bool {
    let is_destination = |set: &HeaderValueOption| {
        set.header.as_ref().is_some_and(|header| {
            header.key.eq_ignore_ascii_case(DESTINATION_HEADER)
                && !(header.raw_value.is_empty() && header.value.is_empty())
        })
    };
    let mutation = answer.header_mutation.as_ref();
    mutation.is_some_and(|mutation| mutation.set_headers.iter().any(is_destination))
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        let message: String = status.message().chars().take(STATUS_LETTERS_MAX).collect();
        Self::Grpc(format!("{:?}: {message}", status.code()))
    }
}

const DESTINATION_HEADER: &str = "x-gateway-destination-endpoint";

/// A stream that takes longer than this and its response has failed.
const STREAM_WAIT_MAX: Duration = Duration::from_secs(30);

const STATUS_LETTERS_MAX: usize = 60;
