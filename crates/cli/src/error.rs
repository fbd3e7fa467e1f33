//! What can go wrong in the command, in the house form.

/// Why a command could not be done.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum Error {
    #[error(transparent)]
    Farad(#[from] farad::Error),
    #[error(transparent)]
    Logic(#[from] farad_logic::Error),
    #[error(transparent)]
    Circuit(#[from] farad_circuit::Error),
    #[error(transparent)]
    Language(#[from] farad_lm::Error),
    #[error(transparent)]
    Dashboard(#[from] farad_dashboard::Error),
    #[error(transparent)]
    Serve(#[from] farad_serve::Error),
    #[error(
        "run: not a language model: {path} is a run of kind {kind}\nhelp: `farad train lm --data FILE` makes one; `farad runs` lists what there is"
    )]
    NoLanguageModel { path: String, kind: String },
    #[error(
        "predict: cannot be asked: {path}: {why}\nhelp: a model takes one batch of pictures or numbers and gives one batch of numbers"
    )]
    OddModel { path: String, why: String },
    #[error("sweep: {place}: {what}\nhelp: {help}")]
    SweepFile { place: String, what: String, help: String },
    #[error(
        "sweep: {place}: the results have no `{figure}`{nearest}\nhelp: they have {keys}; correct sweep.toml in {path}, and go on with: farad sweep --resume {path} (nothing is trained again)"
    )]
    SweepFigure { place: String, figure: String, nearest: String, keys: String, path: String },
    #[error(
        "sweep: not a sweep: {path}: it has no sweep.toml\nhelp: `farad sweep FILE.toml` makes one; `farad sweep --help` shows a file"
    )]
    NoSweep { path: String },
    #[error(
        "sweep: the folder is not empty: {path}\nhelp: `farad sweep --resume {path}` goes on with a sweep; for a new one, name another folder with --out"
    )]
    SweepExists { path: String },
    #[error("sweep: another process works on it: {path}\nhelp: wait until it ends, or end it with Ctrl-C")]
    SweepInUse { path: String },
    #[error(
        "sweep: damaged records: {path}\nhelp: move the file away; finished trials are then judged again, not trained again"
    )]
    SweepRecords { path: String },
    #[error(
        "sweep: sweep.toml in {path} asks for other trials than were trained: trial {number} differs\nhelp: a sweep goes on with the same space and seed, a larger count may be added; start a new one for anything else"
    )]
    OtherSweep { path: String, number: usize },
    #[error(
        "sweep: no trial succeeded ({count} failed): {why}\nhelp: the table says why; `farad sweep --resume {path} --retry` tries again"
    )]
    NoTrial { count: usize, why: String, path: String },
    #[error("data: there is no set `{name}`{nearest}\nhelp: use one of {names}")]
    NoPublishedSet { name: String, nearest: String, names: String },
    #[error("data: SET is missing\nusage: farad data get SET\nhelp: it is one of {names}")]
    NoSetNamed { names: String },
    #[error("{op}: {flag} needs {other}\nhelp: leave it out, or give both")]
    Needs { op: &'static str, flag: &'static str, other: &'static str },
    #[error(
        "grow: no creatures in this run: {path} is a run of kind {kind}\nhelp: name a run of `farad train evolve`, or a genotype in JSON"
    )]
    NoCreatures { path: String, kind: String },
    #[error("data: {set} could not be fetched: {what}\nhelp: {help}")]
    Fetch { set: &'static str, what: String, help: String },
    #[cfg_attr(not(feature = "download"), allow(dead_code))]
    #[error("data: damaged archive: {path}: {what}\nhelp: remove it, and run the command again")]
    Archive { path: String, what: String },
    #[error("eval: {flag} is not for a run of kind {kind}\nhelp: leave it out; {why}")]
    EvalFlag { flag: String, kind: String, why: &'static str },
    #[error("run: not a run: {path}: no such folder{nearest}\nhelp: {help}")]
    NoRun { path: String, nearest: String, help: String },
    #[error(
        "{op}: no circuit in this run: {path} is a run of kind {kind}\nhelp: circuits come from automata and from logic networks: `farad train --list` names them; networks are exported with --format onnx, and agents with --format html"
    )]
    NoCircuit { op: &'static str, path: String, kind: String },
    #[error(
        "export: the run did not begin from published weights: {path}\nhelp: these formats are for runs of `farad train lm --from DIR`; --format onnx is for all"
    )]
    NotPublished { path: String },
    #[error(
        "export: the run has no adapters: {path}\nhelp: --format huggingface has its whole weights; adapters are trained with --lora"
    )]
    NoAdapter { path: String },
    #[error("eval: --weights needs a text to judge on\nhelp: name a file or a folder with --data")]
    NeedsText,
    #[error(
        "eval: --speed does not go with --weights\nhelp: it times the circuits of logic networks; leave it out"
    )]
    SpeedOfText,
    #[error(
        "chat: --system needs a model with a chat template\nhelp: leave it out, or choose a chat model with --weights"
    )]
    NoSystem,
    #[error(
        "export: no network: {path} is of kind {kind}\nhelp: --format onnx is for networks, language models, logic networks and Boolean functions; automata have the other formats"
    )]
    NoNetwork { path: String, kind: String },
    #[error(
        "repair: no circuit in this run: {path} is a run of kind {kind}\nhelp: automata and logic networks can be repaired: `farad train --list` names them"
    )]
    NoRepair { path: String, kind: String },
    #[error("export: {flag} is for runs of automata: {path}\nhelp: leave it out")]
    ExportFlag { flag: &'static str, path: String },
    #[error(
        "export: --pipeline does not go with this: {why}\nhelp: it is for circuits without state, with --format verilog or blif"
    )]
    Pipeline { why: String },
    #[error("man: there is no page for `{name}`{nearest}\nhelp: the pages are {names}")]
    Page { name: String, nearest: String, names: String },
    #[error("rank {rank} on {host}: {message}")]
    OtherRank { rank: usize, host: String, message: String, code: u8 },
    #[error(
        "train: several ranks cannot train this together: {what} ({ranks} vs 1)\nhelp: start it without mpirun; `farad train --help` says what ranks can train together"
    )]
    OneRank { what: String, ranks: usize },
    #[error(
        "{op}: one process does this, and several were started together: ({ranks} vs 1)\nhelp: start it without mpirun"
    )]
    OneProcess { op: &'static str, ranks: usize },
    // Everything was said and saved; only the exit code is left to tell.
    #[error("interrupted")]
    Interrupted,
    #[error(
        "runs: {}: {path}\nhelp: `farad train` makes `runs` where it is started; name another folder",
        if std::path::Path::new(path).exists() { "not a folder" } else { "no such folder" }
    )]
    NoRuns { path: String },
    #[error(
        "runs: tags and notes belong to one run: {path} is none\nhelp: name its folder: farad runs runs/NAME --tag TAG"
    )]
    NotOneRun { path: String },
    #[error("{source}\nhelp: {saved}; go on with: farad train --resume {path}")]
    BrokenOff { source: Box<Error>, saved: String, path: String },
    #[error(
        "{op}: neither a run nor a circuit file: {path}: no such file or folder{nearest}\nhelp: a run is a folder that `farad train` made; a circuit file is JSON from its `circuits` folder"
    )]
    NoSource { op: &'static str, path: String, nearest: String },
    #[error("{op}: the run has no seed {seed}\nhelp: its seeds are {seeds}")]
    NoSeed { op: &'static str, seed: u64, seeds: String },
    #[error("export: there is no format `{name}`{nearest}\nhelp: the formats are {names}")]
    Format { name: String, nearest: String, names: String },
    #[error("{op}: a file is there already: {path}\nhelp: name another place with {flag}, or move it away")]
    FileExists { op: &'static str, path: String, flag: &'static str },
    #[error("simulate: --healing takes --steps from 1 to {most}, not {steps}\nhelp: such as --steps 16")]
    HealingSteps { steps: usize, most: usize },
    #[error("{op}: could not write {path}: {source}")]
    Write { op: &'static str, path: String, source: std::io::Error },
    #[error(
        "simulate: the grid is not WIDTHxHEIGHT with both at least 1: `{text}`\nhelp: such as --grid 128x128"
    )]
    Grid { text: String },
    #[error(
        "simulate: this circuit is no automaton: {path}\nhelp: export it and use the test bench, or simulate the circuit of a run"
    )]
    NoAutomaton { path: String },
    #[error(
        "watch: nothing acts in this run: {path} is a run of kind {kind}\nhelp: agents and controllers act, such as those of `farad train cartpole`"
    )]
    NotWatched { path: String, kind: String },
    #[error("train: there is nothing called `{name}` to learn{nearest}\nhelp: there are {names}")]
    UnknownName { name: String, nearest: String, names: String },
    #[error("train: {what} does not take {flag}\nhelp: use {instead}")]
    OtherFlag { what: String, flag: String, instead: &'static str },
    #[error(
        "repair: {flag} is for runs of automata\nhelp: leave it out; a classifier has one circuit, and the CPU searches it"
    )]
    AutomataOnly { flag: &'static str },
    #[error("train: {flag} and --set {key}=… are the same\nhelp: leave one of them out")]
    Twice { flag: &'static str, key: &'static str },
    #[error(
        "{op}: the folder of this file is not there: {path}\nhelp: make it first, or name another place with {flag}"
    )]
    NoFolder { op: &'static str, path: String, flag: &'static str },
    #[error("bench: a break-even needs a GPU: {device}\nhelp: `farad devices` lists what there is")]
    NoGpu { device: String },
    #[error("output: {0}")]
    Output(#[from] std::io::Error),
    #[error("bench: no case matches: {filter} (0 vs {count} cases)\nhelp: the cases are {names}")]
    Filter { filter: String, count: usize, names: String },
    #[error("bench: wrong result: {case} (error {error:.1e} vs at most {tolerance:.0e})")]
    Wrong { case: String, error: f64, tolerance: f64 },
    #[error("bench: the repeat is not a replay: {case} ({compiled} programs compiled while timing vs 0)")]
    Compiled { case: String, compiled: usize },
    #[error("bench: memory grows: {case}: {what} ({before} bytes vs {now} later)")]
    Grew { case: String, what: &'static str, before: usize, now: usize },
    #[error("bench: the first step failed in a process of its own: {message}")]
    Child { message: String },
    #[error("bench: cases failed: {names} ({failed} vs {total} run)")]
    Failed { names: String, failed: usize, total: usize },
}

impl Error {
    /// The exit code: 2 for a wrong command line, 130 after Ctrl-C, else 1.
    pub fn code(&self) -> u8 {
        use farad::TrainError;
        use farad_logic::Error as Logic;
        match self {
            Error::Interrupted => 130,
            Error::OtherRank { code, .. } => *code,
            Error::EvalFlag { .. }
            | Error::ExportFlag { .. }
            | Error::Pipeline { .. }
            | Error::Page { .. }
            | Error::Format { .. }
            | Error::Grid { .. }
            | Error::UnknownName { .. }
            | Error::OtherFlag { .. }
            | Error::AutomataOnly { .. }
            | Error::Twice { .. }
            | Error::Needs { .. }
            | Error::NoSetNamed { .. }
            | Error::HealingSteps { .. }
            | Error::NeedsText
            | Error::SpeedOfText
            | Error::NoSystem
            | Error::OneRank { .. }
            | Error::OneProcess { .. }
            | Error::NoSeed { .. }
            | Error::Filter { .. }
            | Error::Farad(farad::Error::DeviceName { .. }) => 2,
            Error::Language(error) => language(error),
            Error::Logic(Logic::Farad(error)) | Error::Farad(error) => match error.part() {
                Some(
                    TrainError::Assignment { .. }
                    | TrainError::UnknownKey { .. }
                    | TrainError::Setting { .. }
                    | TrainError::Choice { .. }
                    | TrainError::NeedsData { .. },
                ) => 2,
                _ if error.part().is_some_and(is_asked_for) => 2,
                _ => error.part().map_or(1, language),
            },
            Error::Logic(error) if is_asked_for(error) => 2,
            _ => 1,
        }
    }
}

/// Whether the command line asks for what logic cannot do.
fn is_asked_for(error: &farad_logic::Error) -> bool {
    use farad_logic::Error as Logic;
    matches!(
        error,
        Logic::UnknownRecipe { .. }
            | Logic::TooLarge { .. }
            | Logic::OtherWires { .. }
            | Logic::Seed { .. }
            | Logic::SpeedOfTable
            | Logic::Rule { .. }
            | Logic::RuleFile { .. }
            | Logic::RuleGap { .. }
            | Logic::LargePicture { .. }
            | Logic::ColorfulPicture { .. }
            | Logic::EmptyPicture { .. }
            | Logic::NeedsTask { .. }
            | Logic::OtherTask { .. }
    )
}

/// The same for what may be wrong with a language model.
fn language(error: &farad_lm::Error) -> u8 {
    use farad_lm::Error as Language;
    match error {
        Language::Value { .. }
        | Language::Sampling { .. }
        | Language::UnknownTokenizer { .. }
        | Language::OtherTokenizer { .. } => 2,
        _ => 1,
    }
}

/// `; did you mean …?`, if there is something near.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    farad::nearest(name, known).map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_house_form() {
        let wrong = Error::Wrong { case: "sum_dim0_8192_f32".into(), error: 0.25, tolerance: 1e-5 };
        assert_eq!(
            wrong.to_string(),
            "bench: wrong result: sum_dim0_8192_f32 (error 2.5e-1 vs at most 1e-5)"
        );
        let compiled = Error::Compiled { case: "x".into(), compiled: 3 };
        assert_eq!(
            compiled.to_string(),
            "bench: the repeat is not a replay: x (3 programs compiled while timing vs 0)"
        );
        let failed = Error::Failed { names: "a, b".into(), failed: 2, total: 5 };
        assert_eq!(failed.to_string(), "bench: cases failed: a, b (2 vs 5 run)");
    }
}
