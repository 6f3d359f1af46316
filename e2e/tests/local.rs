//! The whole system on this machine: real Envoy, real picker, engine stand-ins, real clients.

#[cfg(test)]
mod local {
    mod answering;
    mod benching;
    mod bodies;
    mod discovery;
    mod draining;
    mod failing;
    mod gateways;
    mod health;
    mod holding;
    mod leaving;
    mod recording;
    mod rejecting;
    mod resets;
    mod standing_in;
    mod starting;
    mod steering;
}
