//! Chats without a pause, while a test does something to the system.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

use anyhow::{Result, ensure};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::chat::{Answer, Chat, Form};
use crate::client::{Client, Protocol};
use crate::wait;

/// Users who chat until they are stopped.
#[derive(Debug)]
pub struct Traffic {
    users: JoinSet<Vec<Outcome>>,
    shared: Arc<Shared>,
}

/// One request and what came of it.
#[derive(Debug)]
pub struct Outcome {
    /// When it was sent.
    pub sent: Instant,
    /// The complete answer, or why there is none.
    pub answer: Result<Answer>,
}

#[derive(Debug, Default)]
struct Shared {
    finished: AtomicUsize,
    stopped: AtomicBool,
}

impl Traffic {
    /// Starts so many users, half of them over each protocol, who ask in both forms.
    pub fn start(address: SocketAddr, users: usize, output_tokens: u32) -> Self {
        let shared = Arc::new(Shared::default());
        let mut traffic = Self {
            users: JoinSet::new(),
            shared: Arc::clone(&shared),
        };
        for user in 0..users {
            let protocol = if user % 2 == 0 {
                Protocol::Http1
            } else {
                Protocol::Http2
            };
            let client = Client::new(address, protocol);
            let chats = chat_until_stopped(client, user, output_tokens, Arc::clone(&shared));
            traffic.users.spawn(chats);
        }
        traffic
    }

    /// Waits until so many more requests have come to an end.
    pub async fn more(&self, requests: usize) -> Result<()> {
        let wanted = self.shared.finished.load(Ordering::Relaxed) + requests;
        wait::until("more traffic", MORE_MAX, async || {
            let finished = self.shared.finished.load(Ordering::Relaxed);
            ensure!(finished >= wanted, "{finished} of {wanted} requests");
            Ok(())
        })
        .await
    }

    /// Lets every user finish the present request, and gives all outcomes.
    pub async fn stop(self) -> Vec<Outcome> {
        self.shared.stopped.store(true, Ordering::Relaxed);
        self.users.join_all().await.into_iter().flatten().collect()
    }
}

async fn chat_until_stopped(
    client: Client,
    user: usize,
    output_tokens: u32,
    shared: Arc<Shared>,
) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    while !shared.stopped.load(Ordering::Relaxed) {
        let turn = outcomes.len();
        let form = if turn.is_multiple_of(2) {
            Form::Plain
        } else {
            Form::Stream
        };
        let chat = Chat::new(&format!("question {turn} of user {user}"), output_tokens);
        let sent = Instant::now();
        let answer = client.chat(&chat, form).await;
        outcomes.push(Outcome { sent, answer });
        shared.finished.fetch_add(1, Ordering::Relaxed);
    }
    outcomes
}

const MORE_MAX: Duration = Duration::from_secs(30);
