//! Completions for shells, and manual pages.

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::print;

pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "keyspring", &mut text);
    print(&text)
}

/// The page of a command, or of the program.
pub(crate) fn man(command: Option<&str>) -> Result<(), Failure> {
    let mut program = Cli::command().disable_help_subcommand(true);
    // Pages are named and titled keyspring-seal only once the whole is put together.
    program.build();
    let page = match command {
        None => Some(&program),
        Some(name) => program.find_subcommand(name),
    };
    let page = page.ok_or_else(|| Failure::Usage("there is no command of that name".into()))?;
    let mut text = Vec::new();
    let page = Man::new(page.clone()).source(concat!("keyspring ", env!("CARGO_PKG_VERSION")));
    page.render(&mut text).expect("memory takes all that is written");
    print(&text)
}
