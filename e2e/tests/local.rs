//! The whole system on this machine: real Envoy, real picker, engine stand-ins, real clients.

#[cfg(test)]
mod local {
    mod answering;
    mod benching;
    mod bodies;
    mod bodyless;
    mod dialects;
    mod discovery;
    mod draining;
    mod encoding;
    mod failing;
    mod gateways;
    mod grpc;
    mod headers;
    mod health;
    mod holding;
    mod leaving;
    mod load_reports;
    mod many_streams;
    mod models;
    mod recording;
    mod rejecting;
    mod resets;
    mod responses;
    mod retrying;
    mod rewriting;
    mod standing_in;
    mod starting;
    mod steering;
    mod trailers;
    mod uploading;
}
