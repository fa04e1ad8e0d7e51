//! What `kirikae-lab bench`, `kirikae-lab sim` and `kirikae-lab validate` have in common.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use kirikae_algorithms::Algorithm;
use kirikae_command::{Choice, Setting, print, setting as settings};
use kirikae_results::outcome::Outcome;
use kirikae_results::report;
use kirikae_results::summary::Summary;
use kirikae_scenario::{Contender, Controls, Scenario, refuse_second_choice};
use kirikae_terminal::colour_wanted;

/// What is compared, and how the result is told.
#[derive(clap::Args)]
pub struct Comparison {
    /// Scenario files; those in scenarios/ explain themselves
    #[arg(required = true, value_name = "SCENARIO.toml")]
    scenarios: Vec<PathBuf>,
    /// Who is compared, instead of whom the scenarios name: such as cubic,kk_hybla,kirikae; or all
    #[arg(long, value_name = "CONTENDER,...", value_parser = contenders)]
    contenders: Option<Contenders>,
    /// Set a parameter of an algorithm, such as kk_vegas.alpha=4, for all scenarios; `kirikae
    /// algorithms` lists them with their ranges. May be given several times
    #[arg(long, value_name = "ALGORITHM.PARAMETER=VALUE", value_parser = setting)]
    set: Vec<Setting>,
    #[command(flatten)]
    choice: Choice,
}

/// How the real kernel's side is measured, and where its records go.
#[derive(clap::Args)]
pub struct OnKernel {
    /// Most networks emulated at the same time; what is compared is measured in so many turns as it takes
    #[arg(long, value_name = "NETWORKS", default_value = "56")]
    at_once: NonZeroUsize,
    /// Directory in which the run makes a directory of its own for its records
    #[arg(long, value_name = "DIRECTORY", default_value = "results")]
    output: PathBuf,
}

impl OnKernel {
    /// For the bench, which is to record no calls of the switcher.
    pub fn options(&self, controls: Controls) -> kirikae_bench::Options {
        let OnKernel { at_once, output } = self;
        kirikae_bench::Options {
            output: output.clone(),
            controls,
            at_once: *at_once,
            recording: None,
        }
    }
}

#[derive(Clone)]
struct Contenders(Vec<Contender>);

fn contenders(text: &str) -> Result<Contenders, String> {
    Contender::list(text).map(Contenders)
}

fn setting(text: &str) -> Result<Setting, String> {
    Setting::parse(text, Algorithm::all())
}

impl Comparison {
    /// The scenarios, read and validated.
    pub fn scenarios(&self) -> Result<Vec<Scenario>, kirikae_results::Error> {
        let mut scenarios = Scenario::load_all(&self.scenarios)?;
        if let Some(Contenders(contenders)) = &self.contenders {
            for scenario in &mut scenarios {
                scenario.contenders.clone_from(contenders);
            }
        }
        if self.choice.is_given() {
            refuse_second_choice(&scenarios)?;
        }
        Ok(scenarios)
    }

    /// Every algorithm, with what was set, and the table.
    pub fn controls(&self) -> anyhow::Result<Controls> {
        let algorithms = settings::apply(&self.set, Algorithm::all())?;
        let table = self.choice.kernel_table()?;
        Ok(Controls { algorithms, table, ..Controls::default() })
    }
}

/// Prints the tables, or the summary as JSON.
pub fn print_outcome(outcome: &Outcome, json: bool) -> anyhow::Result<()> {
    let text = || report::render(outcome, colour_wanted());
    print(&Summary::of(outcome), text, json)
}
