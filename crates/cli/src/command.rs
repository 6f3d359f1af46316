//! The command line: what can be asked, and how an answer or a failure is shown.
//!
//! Exit codes: 0 when the command did its work or nobody reads its output any more, 1 when
//! it failed, 2 when it was called wrongly.

use core::fmt::Write as _;
use core::net::SocketAddr;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use tracing_subscriber::EnvFilter;

use crate::envoy::{self, EngineProtocol, EnvoySettings, PickerSecurity};
use crate::{bench, engine, lab, up};

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let line = CommandLine::parse();
    match run(line) {
        Ok(()) => ExitCode::SUCCESS,
        // `head` has seen enough.
        Err(error) if is_reader_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{}", describe(&error));
            ExitCode::from(exit_code(&error))
        }
    }
}

/// An Endpoint Picker for LLM inference, to try and to test on one machine.
#[derive(Parser)]
#[command(name = "pointsman", version, after_help = EXAMPLES)]
struct CommandLine {
    /// What to log on stderr: a level, or directives such as `pointsman_cli=debug`.
    #[arg(long, global = true, value_name = "FILTER", default_value = "warn", value_parser = filter)]
    log: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run an engine stand-in with the interface of vLLM.
    Engine(engine::Arguments),
    /// Run engines, picker and Envoy here, send them chats, and compare with round robin.
    Up(up::Arguments),
    /// Measure an endpoint picker over ext_proc, driven as Envoy drives it.
    Bench(Box<bench::Arguments>),
    /// Run the picker in a simulator: no sockets, no clock, the same again from the same seed.
    Lab(lab::Arguments),
    /// Print the configuration of the standalone Envoy as JSON.
    EnvoyConfig(EnvoyArguments),
    /// Print the completion script of a shell.
    Completion {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Args)]
struct EnvoyArguments {
    /// Where clients connect.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8081")]
    listen: SocketAddr,
    /// Where Envoy's admin interface listens.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:19000")]
    admin: SocketAddr,
    /// The picker's ext_proc port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9002")]
    ext_proc: SocketAddr,
    /// The picker's EDS port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9004")]
    eds: SocketAddr,
    /// Speak plain text to the picker, as with its --secure-serving=false.
    #[arg(long)]
    plain: bool,
    /// Share of responses whose body the picker sees, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = envoy::SAMPLE_PERCENT, value_parser = percent)]
    sample_percent: f64,
    /// Largest request body that the picker accepts, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = envoy::BODY_BYTES_MAX)]
    body_bytes_max: u32,
    /// How the engines are spoken to: h2c for those that serve gRPC.
    #[arg(long, value_name = "PROTOCOL", value_enum, default_value_t = EngineProtocol::Http1)]
    engine_protocol: EngineProtocol,
}

impl EnvoyArguments {
    fn settings(&self) -> EnvoySettings {
        EnvoySettings {
            security: if self.plain {
                PickerSecurity::Plain
            } else {
                PickerSecurity::UnverifiedTls
            },
            sample_percent: self.sample_percent,
            body_bytes_max: self.body_bytes_max,
            engine_protocol: self.engine_protocol,
            ..EnvoySettings::new(self.listen, self.admin, self.ext_proc, self.eds)
        }
    }
}

fn run(line: CommandLine) -> Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(&line.log))
        .with_writer(io::stderr)
        .init();
    match line.command {
        Command::Engine(arguments) => runtime()?.block_on(engine::run(arguments)),
        Command::Up(arguments) => runtime()?.block_on(up::run(arguments)),
        Command::Bench(arguments) => bench::runtime(&arguments)?.block_on(bench::run(*arguments)),
        Command::Lab(arguments) => lab::run(&arguments),
        Command::EnvoyConfig(arguments) => {
            let text = serde_json::to_string_pretty(&arguments.settings().configuration())?;
            writeln!(io::stdout(), "{text}").context("cannot write to stdout")
        }
        Command::Completion { shell } => {
            // Into memory first, as the generator cannot report a failure to write.
            let mut script = Vec::new();
            let mut command = CommandLine::command();
            clap_complete::generate(shell, &mut command, "pointsman", &mut script);
            io::stdout()
                .write_all(&script)
                .context("cannot write to stdout")
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the asynchronous runtime")
}

/// A command that was called wrongly says so as `clap` does.
fn exit_code(error: &anyhow::Error) -> u8 {
    if error.is::<clap::Error>() { 2 } else { 1 }
}

/// Whether whoever reads our output has left. Errors of sockets stand deeper in their libraries' own.
fn is_reader_gone(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The error and its causes, the outermost first.
fn describe(error: &anyhow::Error) -> String {
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        return usage.to_string().trim_end().to_owned();
    }
    let mut text = format!("error: {error}");
    for cause in error.chain().skip(1) {
        let _ = write!(text, "\n  caused by: {cause}");
    }
    text
}

fn filter(text: &str) -> Result<String, String> {
    EnvFilter::try_new(text)
        .map(|_| text.to_owned())
        .map_err(|error| error.to_string())
}

fn percent(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "expected a number from 0 to 100".to_owned())
}

const EXAMPLES: &str = "Examples:
  pointsman up                             compare round robin with the picker in about a minute
  DEMO_SECONDS=5 KEEP=1 pointsman up       a short run, then leave it running to try it by hand
  pointsman engine --listen 127.0.0.1:8000 one engine stand-in
  pointsman bench --against floor          what the picker costs, as a multiple of a trivial one
  pointsman lab run s01                    compare policies in the simulator
  pointsman envoy-config > envoy.json      then: envoy -c envoy.json
  pointsman completion bash > /etc/bash_completion.d/pointsman";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn an_error_is_shown_with_every_cause() {
        let error = anyhow::anyhow!("the root")
            .context("the middle")
            .context("the top");
        assert_eq!(
            describe(&error),
            "error: the top\n  caused by: the middle\n  caused by: the root"
        );
    }

    #[test]
    fn a_command_that_was_called_wrongly_ends_with_2_and_one_that_failed_with_1() {
        let usage = clap::Error::raw(clap::error::ErrorKind::ValueValidation, "no such name\n");
        let usage = anyhow::Error::from(usage);
        assert_eq!(exit_code(&usage), 2);
        assert_eq!(describe(&usage), "error: no such name");
        assert_eq!(exit_code(&anyhow::anyhow!("it failed")), 1);
    }

    #[test]
    fn a_reader_that_has_left_is_no_failure_to_speak_of() {
        let failed = |kind| anyhow::Error::from(io::Error::from(kind)).context("cannot write");
        assert!(is_reader_gone(&failed(io::ErrorKind::BrokenPipe)));
        assert!(!is_reader_gone(&failed(io::ErrorKind::StorageFull)));
    }

    #[test]
    fn a_wrong_value_is_refused_before_anything_starts() {
        for line in [
            ["pointsman", "envoy-config", "--sample-percent=101"],
            ["pointsman", "envoy-config", "--sample-percent=NaN"],
            ["pointsman", "envoy-config", "--log=a=b=c"],
            ["pointsman", "envoy-config", "--engine-protocol=h3"],
        ] {
            let error = CommandLine::try_parse_from(line).err().unwrap();
            assert_eq!(error.exit_code(), 2, "{line:?}");
        }
    }

    #[test]
    fn the_standalone_envoy_speaks_tls_unless_told_otherwise() {
        let settings = |line: &[&str]| {
            let line = CommandLine::try_parse_from(line).unwrap();
            let Command::EnvoyConfig(arguments) = line.command else {
                panic!("another command");
            };
            arguments.settings().security
        };
        let security = settings(&["pointsman", "envoy-config"]);
        assert_eq!(security, PickerSecurity::UnverifiedTls);
        let security = settings(&["pointsman", "envoy-config", "--plain"]);
        assert_eq!(security, PickerSecurity::Plain);
    }
}
