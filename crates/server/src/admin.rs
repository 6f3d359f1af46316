//! The admin HTTP server: metrics, readiness, and why picks were made.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use pointsman_domain::event::{CandidateScore, Picked, ScorePart};
use pointsman_pipeline::pool::EndpointState;
use serde::{Deserialize, Serialize};

use crate::health::Readiness;
use crate::held::HeldBytes;
use crate::pool::PoolDoor;
use crate::record::Recorder;

/// What the admin server shows.
#[derive(Clone, Debug)]
pub(crate) struct Admin {
    pub(crate) pool_name: Arc<str>,
    pub(crate) door: Arc<PoolDoor>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) readiness: Readiness,
    pub(crate) held: Arc<HeldBytes>,
}

impl Admin {
    /// The routes.
    pub(crate) fn router(self) -> Router {
        Router::new()
            .route("/metrics", get(metrics))
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .route("/debug/endpoints", get(endpoints))
            .route("/debug/picks", get(picks))
            .with_state(self)
    }
}

async fn metrics(State(admin): State<Admin>) -> impl IntoResponse {
    let endpoints = admin.door.endpoints();
    let sizes = admin.door.sizes();
    match admin
        .recorder
        .metrics
        .render(&admin.pool_name, &endpoints, sizes, admin.held.now())
    {
        Ok(text) => Ok((
            [(
                header::CONTENT_TYPE,
                "text/plain; version=0.0.4; charset=utf-8",
            )],
            text,
        )),
        Err(error) => Err((StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    }
}

async fn ready(State(admin): State<Admin>) -> (StatusCode, &'static str) {
    if admin.readiness.is_ready() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
    }
}

async fn endpoints(State(admin): State<Admin>) -> Json<Vec<EndpointRow>> {
    Json(
        admin
            .door
            .endpoints()
            .iter()
            .map(EndpointRow::from)
            .collect(),
    )
}

async fn picks(State(admin): State<Admin>, Query(query): Query<PicksQuery>) -> Json<Vec<PickRow>> {
    let limit = query.limit.unwrap_or(PICKS_DEFAULT);
    Json(
        admin
            .recorder
            .explained(limit)
            .iter()
            .map(PickRow::from)
            .collect(),
    )
}

#[derive(Deserialize)]
struct PicksQuery {
    limit: Option<usize>,
}

#[derive(Serialize)]
struct EndpointRow {
    name: String,
    address: String,
    generation: u32,
    waiting: u32,
    running: u32,
    kv_usage: f64,
    kv_tokens: Option<u64>,
    age_ms: Option<u64>,
    own_requests: u32,
    foreign_requests: u32,
    ejected: bool,
}

#[derive(Serialize)]
struct PickRow {
    request: u64,
    endpoint: String,
    prompt_tokens: u64,
    cached_tokens: u64,
    candidates: usize,
    waited_ms: f64,
    scores: Vec<CandidateRow>,
}

#[derive(Serialize)]
struct CandidateRow {
    endpoint: String,
    total: f64,
    cached_tokens: u64,
    own_requests: u32,
    parts: Vec<PartRow>,
}

#[derive(Serialize)]
struct PartRow {
    scorer: String,
    score: f64,
    weight: f64,
}

impl From<&EndpointState> for EndpointRow {
    fn from(state: &EndpointState) -> Self {
        Self {
            name: state.name.clone(),
            address: state.address.to_string(),
            generation: state.id.generation,
            waiting: state.load.waiting,
            running: state.load.running,
            kv_usage: state.load.kv_usage.value(),
            kv_tokens: state.load.kv_tokens.map(|tokens| tokens.0),
            age_ms: state
                .load_age
                .map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
            own_requests: state.own.requests,
            foreign_requests: state.foreign_requests,
            ejected: state.ejected,
        }
    }
}

impl From<&Picked> for PickRow {
    fn from(picked: &Picked) -> Self {
        Self {
            request: picked.request.0,
            endpoint: picked.address.to_string(),
            prompt_tokens: picked.prompt_tokens.0,
            cached_tokens: picked.cached_tokens.0,
            candidates: picked.candidates,
            waited_ms: picked.waited.as_secs_f64() * 1000.0,
            scores: picked
                .scores
                .iter()
                .flatten()
                .map(CandidateRow::from)
                .collect(),
        }
    }
}

impl From<&CandidateScore> for CandidateRow {
    fn from(candidate: &CandidateScore) -> Self {
        Self {
            endpoint: candidate.address.to_string(),
            total: candidate.total,
            cached_tokens: candidate.cached_tokens.0,
            own_requests: candidate.own_requests,
            parts: candidate.parts.iter().map(PartRow::from).collect(),
        }
    }
}

impl From<&ScorePart> for PartRow {
    fn from(part: &ScorePart) -> Self {
        Self {
            scorer: part.scorer.to_string(),
            score: part.score,
            weight: part.weight,
        }
    }
}

/// Picks shown unless the query says otherwise.
const PICKS_DEFAULT: usize = 20;
