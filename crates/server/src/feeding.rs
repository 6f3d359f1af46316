//! What is read of endpoints for as long as they live.

use std::collections::BTreeMap;

use pointsman_domain::endpoint::{EndpointId, EndpointSpec};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::pool::Lives;
use crate::task::Tasks;

/// Something that is read of every endpoint, again and again.
pub(crate) trait Feed: Send + Sync {
    /// Starts a loop that reads it of a life that has just begun, and ends with that life.
    fn begin(&self, life: Life<'_>, tasks: &Tasks);

    /// Forgets a life whose loop was told to end.
    fn end(&self, _id: EndpointId) {}
}

/// A life of an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Life<'a> {
    pub(crate) id: EndpointId,
    pub(crate) spec: &'a EndpointSpec,
    /// Cancelled when it is over.
    pub(crate) over: CancellationToken,
}

/// Tells the feeds of each life that begins or ends, for ever.
pub(crate) async fn follow(
    mut lives: mpsc::UnboundedReceiver<Lives>,
    feeds: Vec<Box<dyn Feed>>,
    tasks: Tasks,
) {
    let mut living: BTreeMap<EndpointId, CancellationToken> = BTreeMap::new();
    while let Some(Lives { added, removed }) = lives.recv().await {
        for id in removed {
            if let Some(over) = living.remove(&id) {
                over.cancel();
            }
            for feed in &feeds {
                feed.end(id);
            }
        }
        for (id, spec) in &added {
            let over = CancellationToken::new();
            for feed in &feeds {
                let (id, over) = (*id, over.clone());
                feed.begin(Life { id, spec, over }, &tasks);
            }
            living.insert(*id, over);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    /// Notes when lives begin and end, and whether those that are over were cancelled by then.
    #[derive(Clone, Default)]
    struct Notes {
        all: Arc<Mutex<Vec<String>>>,
        over: Arc<Mutex<BTreeMap<EndpointId, CancellationToken>>>,
    }

    impl Feed for Notes {
        fn begin(&self, life: Life<'_>, _tasks: &Tasks) {
            let note = format!("{} {}", life.id, life.spec.name);
            self.all.lock().push(note);
            self.over.lock().insert(life.id, life.over);
        }

        fn end(&self, id: EndpointId) {
            let is_over = self.over.lock()[&id].is_cancelled();
            self.all.lock().push(format!("{id} over: {is_over}"));
        }
    }

    #[tokio::test]
    async fn every_feed_follows_every_life_from_its_beginning_to_its_end() {
        let feeds = [Notes::default(), Notes::default()];
        let boxed = feeds.iter().map(|notes| Box::new(notes.clone()) as _);
        let (sender, receiver) = mpsc::unbounded_channel();
        let life = |slot, generation| EndpointId { slot, generation };
        let spec = |name: &str| EndpointSpec::new(name.to_owned(), ([10, 0, 0, 1], 80).into());
        let begun = vec![(life(0, 0), spec("a")), (life(1, 0), spec("b"))];
        let told = [
            (begun, vec![]),
            (vec![(life(0, 1), spec("a"))], vec![life(0, 0)]),
        ];
        for (added, removed) in told {
            sender.send(Lives { added, removed }).unwrap();
        }
        drop(sender);
        follow(receiver, boxed.collect(), Tasks::default()).await;
        for notes in feeds {
            let all = notes.all.lock();
            assert_eq!(*all, ["0.0 a", "1.0 b", "0.0 over: true", "0.1 a"]);
            assert!(!notes.over.lock()[&life(1, 0)].is_cancelled());
        }
    }
}
