//! The `pointsman-epp` program.

use std::process::ExitCode;

use pointsman_server::{flags, run};
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let (flags, warnings) = match flags::parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(error) => error.exit(),
    };
    start_log(&flags);
    std::panic::set_hook(Box::new(tell_place));
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::new(error).context("start the runtime")),
    };
    match runtime.block_on(run::run(flags, warnings)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn start_log(flags: &flags::Flags) {
    let filter = EnvFilter::try_new(flags.log_level()).unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    if flags.zap_encoder == "json" {
        log.json().init()
    } else {
        log.with_ansi(false).init()
    }
}

/// A panic's own text may quote what it was about, which may be a prompt. Only its place is told.
fn tell_place(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    tracing::error!(place = place.unwrap_or_default(), "panicked");
}

fn failed(error: &anyhow::Error) -> ExitCode {
    #[expect(
        clippy::print_stderr,
        reason = "the log may be filtered; the reason must be seen"
    )]
    {
        eprintln!("error: {error:#}");
    }
    if error.is::<run::Unusable>() {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}
