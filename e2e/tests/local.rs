//! The whole system on this machine: real Envoy, real picker, engine stand-ins, real clients.

#[cfg(test)]
mod local {
    mod answering;
    mod bodies;
    mod discovery;
    mod draining;
    mod failing;
    mod gateways;
    mod health;
    mod holding;
    mod leaving;
    mod rejecting;
    mod resets;
    mod starting;
    mod steering;
}
