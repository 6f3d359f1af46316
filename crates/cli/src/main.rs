//! The `pointsman` binary; all of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    pointsman_cli::command::main()
}
