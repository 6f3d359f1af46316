//! The endpoints of the pool: slots, lives and what is known of each.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use pointsman_domain::endpoint::{EndpointId, EndpointSpec};
use pointsman_domain::time::Timestamp;
use pointsman_telemetry::cache_trust::CacheTrust;
use pointsman_telemetry::load::LoadTracker;

use crate::ejection::Health;

/// The table of endpoints.
#[derive(Debug, Default)]
pub(crate) struct Endpoints {
    slots: Vec<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    /// The life that the slot holds, or held last.
    generation: u32,
    member: Option<Member>,
}

/// One endpoint in one life.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) id: EndpointId,
    pub(crate) spec: EndpointSpec,
    pub(crate) load: LoadTracker,
    /// How far the index can be believed of it.
    pub(crate) cache_trust: CacheTrust,
    health: Health,
}

/// What a new set of endpoints changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) added: Vec<EndpointId>,
    pub(crate) removed: Vec<EndpointId>,
}

impl Endpoints {
    /// Makes `specs` the set of endpoints. One whose identity is unchanged keeps its life.
    pub(crate) fn replace(&mut self, now: Timestamp, specs: Vec<EndpointSpec>) -> Changes {
        let mut changes = Changes::default();
        let mut wanted: BTreeMap<String, EndpointSpec> = specs
            .into_iter()
            .map(|spec| (spec.name.clone(), spec))
            .collect();
        let present: Vec<_> = self
            .iter()
            .map(|member| (member.id, member.spec.name.clone()))
            .collect();
        for (id, name) in present {
            match (wanted.remove(&name), self.get_mut(id)) {
                (Some(spec), Some(member)) if member.spec.identity() == spec.identity() => {
                    member.spec = spec;
                }
                (successor, _) => {
                    self.remove(id);
                    changes.removed.push(id);
                    // Back among those to add, so that it starts a new life.
                    wanted.extend(successor.map(|spec| (name, spec)));
                }
            }
        }
        changes.added = wanted.into_values().map(|spec| self.insert(spec)).collect();
        self.readmit_beyond_half(now);
        changes
    }

    /// Starts a new life for an endpoint that restarted in place.
    pub(crate) fn renew(&mut self, id: EndpointId) -> Option<EndpointId> {
        let spec = self.remove(id)?.spec;
        Some(self.insert(spec))
    }

    /// The endpoint, if that life is still the present one.
    pub(crate) fn get(&self, id: EndpointId) -> Option<&Member> {
        let member = self.slots.get(id.index())?.member.as_ref();
        member.filter(|member| member.id == id)
    }

    /// Like [`get`](Self::get), to change it.
    pub(crate) fn get_mut(&mut self, id: EndpointId) -> Option<&mut Member> {
        let member = self.slots.get_mut(id.index())?.member.as_mut();
        member.filter(|member| member.id == id)
    }

    /// The endpoint that has this address now.
    pub(crate) fn find(&self, address: SocketAddr) -> Option<EndpointId> {
        self.iter()
            .find(|member| member.spec.address == address)
            .map(|member| member.id)
    }

    /// All endpoints, by slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Member> {
        self.slots.iter().filter_map(|slot| slot.member.as_ref())
    }

    /// How many endpoints there are.
    pub(crate) fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Whether the endpoint is out of the picks.
    pub(crate) fn is_ejected(&self, id: EndpointId, now: Timestamp) -> bool {
        self.get(id).is_some_and(|member| member.health.is_out(now))
    }

    /// Notes something about an endpoint's health; returns whether it is marked as out now, if that
    /// changed.
    ///
    /// An ejection that would take out more than half the pool is not made.
    pub(crate) fn note(
        &mut self,
        id: EndpointId,
        now: Timestamp,
        note: impl FnOnce(&mut Health),
    ) -> Option<bool> {
        let before = self.get(id)?.health;
        let mut after = before;
        note(&mut after);
        let goes_out = after.is_out(now) && !before.is_out(now);
        if goes_out && (self.out(now) + 1) * 2 > self.len() {
            return None;
        }
        self.get_mut(id)?.health = after;
        (after.is_marked() != before.is_marked()).then_some(after.is_marked())
    }

    fn out(&self, now: Timestamp) -> usize {
        self.iter()
            .filter(|member| member.health.is_out(now))
            .count()
    }

    /// When good endpoints leave, those that are out may become more than half of the rest.
    fn readmit_beyond_half(&mut self, now: Timestamp) {
        let mut excess = self.out(now).saturating_sub(self.len() / 2);
        for member in self
            .slots
            .iter_mut()
            .filter_map(|slot| slot.member.as_mut())
        {
            if excess > 0 && member.health.is_out(now) {
                member.health.answered();
                excess -= 1;
            }
        }
    }

    fn insert(&mut self, spec: EndpointSpec) -> EndpointId {
        let free = self.slots.iter().position(|slot| slot.member.is_none());
        let index = free.unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let mut id = EndpointId {
            slot: number,
            generation: 0,
        };
        if let Some(slot) = self.slots.get_mut(index) {
            slot.generation = slot.generation.wrapping_add(1);
            id.generation = slot.generation;
            slot.member = Some(Member {
                id,
                spec,
                load: LoadTracker::default(),
                cache_trust: CacheTrust::default(),
                health: Health::default(),
            });
        }
        id
    }

    fn remove(&mut self, id: EndpointId) -> Option<Member> {
        let slot = self.slots.get_mut(id.index())?;
        slot.member.take_if(|member| member.id == id)
    }
}
