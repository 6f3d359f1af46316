//! Writes every generated file of the tree. CI fails when one of them is not as this writes it.

use std::path::Path;

use anyhow::{Context, Result};

/// Generates all.
pub(crate) fn run() -> Result<()> {
    messages()
}

/// `proto/*.proto` to `crates/proto/src/generated/`.
fn messages() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let protos = root.join("proto");
    let out = root.join("crates/proto/src/generated");
    std::fs::create_dir_all(&out).with_context(|| format!("create {}", out.display()))?;
    let files = protox::compile(
        [protos.join("ext_proc.proto"), protos.join("health.proto")],
        [&protos],
    )
    .context("compile the messages")?;
    tonic_prost_build::configure()
        .build_transport(false)
        .bytes(".")
        .out_dir(&out)
        .compile_fds(files)
        .context("generate Rust for the messages")
}
