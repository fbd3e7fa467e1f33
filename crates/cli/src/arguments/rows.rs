//! The flags of `farad train` that are about what is trained, as a table: a row is a flag with its name, its words, what it takes,
//! and the kinds of training that take it.
//!
//! Parsing, help, completions, manual pages and refusals are made of the rows. A flag that is called like a setting sets it.
//! To add a flag, add a row to [`FLAGS`].

use std::ffi::OsStr;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use farad::fit::ModelKind;
use farad::optim::{self, schedule};
use farad::run::Run;
use farad::train::TrainingKind;
use farad_logic::classify::PRESETS;
use farad_rl::train::ALGORITHMS;

use super::flags::{AnyWord, MOST, number, whole};
use crate::error::{Error, Result};

/// What a flag takes.
enum FlagTakes {
    /// Nothing: it is there or not.
    Nothing,
    /// A whole number of two bounds.
    Whole(u64, u64),
    /// A number of two bounds, in words.
    Number(f64, f64, &'static str),
    /// Any text; these words are offered, and are the help where there is no other.
    Text(fn() -> Vec<&'static str>),
    /// One of these words and no other, with what they mean.
    OneOf(fn() -> Vec<(&'static str, &'static str)>),
    /// A file or a folder.
    Path(ValueHint),
}

/// What a flag means to a run that goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resume {
    /// It may change.
    Takes,
    /// It is as it was; the command line does not take both.
    Conflicts,
    /// It is as it was, and a message says so.
    Refuses,
}

/// A flag.
pub struct Flag {
    /// Its name, without dashes before it.
    name: &'static str,
    /// What earlier versions called it.
    former: &'static [&'static str],
    /// Under which heading the help has it.
    heading: &'static str,
    /// What its value is called in the help.
    value: &'static str,
    takes: FlagTakes,
    help: &'static str,
    /// The kinds that take it, by name; none: all.
    kinds: &'static [&'static str],
    resume: Resume,
}

impl Flag {
    /// As settings have it.
    fn key(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Whether a kind of training takes it.
    fn is_for(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    fn argument(&self) -> Arg {
        let argument =
            Arg::new(self.name).long(self.name).aliases(self.former.iter().copied()).help(self.help);
        let argument = argument.help_heading(self.heading).value_name(self.value);
        let argument = match &self.takes {
            FlagTakes::Nothing => return self.resumed(argument.action(ArgAction::SetTrue)),
            FlagTakes::Whole(least, most) => {
                argument.value_parser(whole(*least, *most)).allow_negative_numbers(true)
            }
            FlagTakes::Number(least, most, takes) => {
                argument.value_parser(number(*least, *most, takes)).allow_negative_numbers(true)
            }
            FlagTakes::Text(words) => {
                let help = if self.help.is_empty() { any_of(&words()) } else { self.help.into() };
                argument.value_parser(AnyWord::plain(words())).hide_possible_values(true).help(help)
            }
            FlagTakes::OneOf(words) => {
                let value = |(name, means): (&'static str, &'static str)| {
                    clap::builder::PossibleValue::new(name).help(means)
                };
                argument.value_parser(PossibleValuesParser::new(words().into_iter().map(value)))
            }
            FlagTakes::Path(hint) => {
                argument.value_parser(clap::value_parser!(std::path::PathBuf)).value_hint(*hint)
            }
        };
        self.resumed(argument)
    }

    fn resumed(&self, argument: Arg) -> Arg {
        match self.resume {
            Resume::Conflicts => argument.conflicts_with("resume"),
            _ => argument,
        }
    }
}

/// `a, b or c`
fn any_of(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

const AUTOMATA: &[&str] = &["automaton"];
const NETWORKS: &[&str] = &["fit"];
const LANGUAGE: &[&str] = &["lm"];
const ALL: &[&str] = &[];
/// Those that learn from samples.
const SAMPLED: &[&str] = &["automaton", "logic", "boolean", "fit", "lm"];

const SIZE: FlagTakes = FlagTakes::Whole(1, 1 << 24);
const COUNT: FlagTakes = FlagTakes::Whole(1, 1_000_000);

/// A row for all kinds.
const ANY: Flag = Flag {
    name: "",
    former: &[],
    heading: "Training",
    value: "N",
    takes: FlagTakes::Nothing,
    help: "",
    kinds: ALL,
    resume: Resume::Conflicts,
};
const OF_AUTOMATA: Flag = Flag { heading: "Automata", kinds: AUTOMATA, ..ANY };
const OF_LANGUAGE: Flag =
    Flag { heading: "Language models", kinds: LANGUAGE, resume: Resume::Refuses, takes: SIZE, ..ANY };

/// All of them, in the order of the help.
#[rustfmt::skip]
pub static FLAGS: [Flag; 31] = [
    Flag { name: "seed", takes: FlagTakes::Whole(0, MOST), help: "The seed of everything random [default: the recipe's]", ..ANY },
    Flag { name: "updates", takes: FlagTakes::Whole(1, MOST), kinds: &["automaton", "logic", "boolean", "lm", "rl", "controller", "evolve"], resume: Resume::Takes, help: "Total number of updates", ..ANY },
    Flag { name: "epochs", takes: COUNT, kinds: &["logic", "fit", "lm"], resume: Resume::Takes, help: "Passes over the training set", ..ANY },
    Flag { name: "batch", takes: COUNT, kinds: SAMPLED, help: "Samples, windows or grids per step", ..ANY },
    Flag { name: "learning-rate", value: "RATE", takes: FlagTakes::Number(0.0, f64::MAX, "a number from 0 on"), kinds: &["automaton", "logic", "boolean", "fit", "lm", "rl", "controller"], help: "The largest learning rate", ..ANY },
    Flag { name: "optimizer", former: &["optimiser"], value: "NAME", takes: FlagTakes::Text(|| optim::OptimizerRow::names().collect()), kinds: SAMPLED, ..ANY },
    Flag { name: "warm-up", takes: FlagTakes::Whole(0, MOST), kinds: &["automaton", "fit", "lm"], resume: Resume::Refuses, help: "Steps until the full learning rate is reached", ..ANY },
    Flag { name: "dropout", value: "SHARE", takes: FlagTakes::Number(0.0, BELOW_ONE, "a number from 0 to below 1"), kinds: &["fit", "lm"], resume: Resume::Refuses, help: "The share of features that are zeroed in training", ..ANY },
    Flag { name: "mixed", kinds: &["fit", "lm"], help: "Compute products in f16 (mixed precision)", ..ANY },
    Flag { name: "data", value: "PATH", takes: FlagTakes::Path(ValueHint::AnyPath), kinds: &["logic", "boolean", "fit", "lm", "rl", "evolve"], help: "Where the data are; `synthetic` draws digits [default: the usual places]", ..ANY },
    Flag { name: "config", value: "FILE.toml", takes: FlagTakes::Path(ValueHint::FilePath), resume: Resume::Refuses, help: "Settings from a TOML file; flags override them (`--list` shows the keys)", ..ANY },
    Flag { name: "from", value: "RUN", takes: FlagTakes::Path(ValueHint::DirPath), help: "Start from the weights of another run of this kind; language models: or of a Hugging Face folder; pictures: or of a ResNet file (.safetensors)", ..ANY },
    Flag { name: "recipe", value: "VARIANT", takes: FlagTakes::OneOf(variants), help: "Which settings the recipe starts from [default: default]", ..OF_AUTOMATA },
    Flag { name: "rule", value: "RULE", takes: FlagTakes::Text(Vec::new), help: "What `rule` learns: B2/S, the number of an elementary rule, or a file with neighborhoods", ..OF_AUTOMATA },
    Flag { name: "picture", value: "FILE.png", takes: FlagTakes::Path(ValueHint::FilePath), help: "What `grow` and `pattern` learn: up to 64 x 64 pixels and 16 colors; transparent is empty", ..OF_AUTOMATA },
    Flag { name: "steps", takes: COUNT, help: "Steps of the automaton before its result is judged", ..OF_AUTOMATA },
    Flag { name: "seeds", value: "K", takes: FlagTakes::Whole(1, 1024), kinds: &["automaton", "rl"], help: "Train this many seeds at once, counting up from the first [default: 1]", ..ANY },
    Flag { name: "quick", resume: Resume::Takes, help: "At the end only count the wrong bits; no simplification, proof, pictures and report", ..OF_AUTOMATA },
    Flag { name: "no-repair", resume: Resume::Takes, help: "Do not search for an exact circuit after training", ..OF_AUTOMATA },
    Flag { name: "tries", takes: FlagTakes::Whole(1, 1024), help: "If no circuit becomes exact, try the next seeds, up to this many times in all [default: 1]", ..OF_AUTOMATA },
    Flag { name: "model", heading: "Data sets", value: "MODEL", takes: FlagTakes::OneOf(models), kinds: &["logic", "fit"], help: "Which network [default: small for logic, cnn for pictures, mlp for tables]", ..ANY },
    Flag { name: "schedule", heading: "Data sets", value: "NAME", takes: FlagTakes::Text(|| schedule::ScheduleRow::names().collect()), kinds: NETWORKS, ..ANY },
    Flag { name: "algorithm", heading: "Worlds", value: "NAME", takes: FlagTakes::OneOf(algorithms), kinds: &["rl"], help: "What trains the agents [default: ppo]", ..ANY },
    Flag { name: "tokenizer", former: &["tokeniser"], value: "NAME", takes: FlagTakes::Text(|| vec!["bytes", "chars", "words", "bpe"]), help: "bytes, chars, words, bpe or a tokenizer.json [default: chars]", ..OF_LANGUAGE },
    Flag { name: "vocabulary", help: "Size of the vocabulary: words and byte pairs are cut to it, all are padded to it", ..OF_LANGUAGE },
    Flag { name: "layers", takes: FlagTakes::Whole(1, farad_lm::ModelOptions::MOST_LAYERS as u64), help: "Transformer blocks", ..OF_LANGUAGE },
    Flag { name: "heads", help: "Attention heads per block", ..OF_LANGUAGE },
    Flag { name: "width", help: "Features per token", ..OF_LANGUAGE },
    Flag { name: "context", help: "Tokens that the model sees at once", ..OF_LANGUAGE },
    Flag { name: "accumulate", takes: COUNT, help: "Batches per update", ..OF_LANGUAGE },
    Flag { name: "lora", value: "RANK", takes: FlagTakes::Whole(1, 1 << 16), help: "Train low-rank adapters of this rank instead of the weights", ..OF_LANGUAGE },
];

/// The words that give a kind of training a value: a flag if it takes one that is called so, else `--set`; none if it has neither.
pub fn words_of(kind: &dyn TrainingKind, key: &str, text: &str) -> Option<Vec<String>> {
    let is_set = kind.settings().iter().any(|row| row.is_called(key));
    let flag = flag_of(kind, key).filter(|flag| !is_set || !matches!(flag.takes, FlagTakes::Nothing));
    match flag {
        Some(Flag { takes: FlagTakes::Nothing, name, .. }) if text == "true" => {
            Some(vec![format!("--{name}")])
        }
        Some(Flag { takes: FlagTakes::Nothing, .. }) if text == "false" => Some(vec![]),
        Some(flag) => Some(vec![format!("--{}={text}", flag.name)]),
        None => is_set.then(|| vec!["--set".into(), format!("{key}={text}")]),
    }
}

/// Whether a kind of training takes a flag that is called so, also in a run that goes on.
pub fn resumes(kind: &dyn TrainingKind, key: &str) -> bool {
    flag_of(kind, key).is_some_and(|flag| flag.resume == Resume::Takes)
}

/// Everything that a kind of training can be given, by name.
pub fn known_keys(kind: &dyn TrainingKind) -> Vec<String> {
    let flags = FLAGS.iter().filter(|flag| flag.is_for(kind.name())).map(Flag::key);
    kind.settings().iter().map(|row| row.key.to_string()).chain(flags).collect()
}

fn flag_of(kind: &dyn TrainingKind, key: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.key() == key && flag.is_for(kind.name()))
}

/// A flag of `farad eval` that not every kind of training takes.
pub struct EvalFlag {
    /// Its name, without dashes before it.
    pub name: &'static str,
    /// The kinds whose runs take it.
    kinds: &'static [&'static str],
    /// Why the others do not.
    why: &'static str,
}

/// All of them.
pub static EVAL_FLAGS: [EvalFlag; 3] = [
    EvalFlag { name: "speed", kinds: &["logic"], why: "it times the circuits of logic networks" },
    EvalFlag { name: "data", kinds: LANGUAGE, why: "circuits and networks are judged on their own data" },
    EvalFlag { name: "device", kinds: &["fit", "lm", "rl", "evolve"], why: "circuits are judged on the CPU" },
];

impl EvalFlag {
    /// Refuses the flag for runs of a kind that does not take it.
    pub fn check(&self, kind: &str) -> Result<()> {
        match self.kinds.contains(&kind) {
            true => Ok(()),
            false => {
                Err(Error::EvalFlag { flag: format!("--{}", self.name), kind: kind.into(), why: self.why })
            }
        }
    }
}

/// The largest number below 1.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

fn variants() -> Vec<(&'static str, &'static str)> {
    vec![("default", "The settings that work best so far"), ("reference", "Exactly the published settings")]
}

fn algorithms() -> Vec<(&'static str, &'static str)> {
    ALGORITHMS.iter().map(|algorithm| (algorithm.name, algorithm.about)).collect()
}

fn models() -> Vec<(&'static str, &'static str)> {
    let networks = ModelKind::ALL.map(|model| (model.name(), model.about()));
    networks.into_iter().chain(PRESETS.iter().map(|preset| (preset.name, preset.about))).collect()
}

/// The flags of the table that were given, with their texts.
#[derive(Clone, Debug, Default)]
pub struct GivenFlags(Vec<(&'static str, String)>);

impl GivenFlags {
    /// The text of a flag, `true` where it takes none.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(flag, _)| *flag == name).map(|(_, text)| text.as_str())
    }

    /// The same with another text for a flag.
    pub fn with(&self, name: &'static str, text: String) -> GivenFlags {
        let others = self.0.iter().filter(|(flag, _)| *flag != name).cloned();
        GivenFlags(others.chain([(name, text)]).collect())
    }

    /// Keys of settings, or of their own, and texts.
    pub fn keys(&self) -> Vec<(String, String)> {
        self.rows().map(|(flag, text)| (flag.key(), text.to_string())).collect()
    }

    fn rows(&self) -> impl Iterator<Item = (&'static Flag, &str)> {
        let row = |name: &str| FLAGS.iter().find(|flag| flag.name == name);
        self.0.iter().filter_map(move |(name, text)| Some((row(name)?, text.as_str())))
    }

    /// Refuses flags that a kind of training does not take, at all or in a run that goes on.
    pub fn check(&self, kind: &dyn TrainingKind, subject: &str, resumed: Option<&Run>) -> Result<()> {
        let what = resumed.map_or_else(|| kind.called(subject), |run| kind.learns(run.config()));
        self.refuse(kind.name(), &what, kind.instead(), resumed.is_some())
    }

    /// The same by names.
    pub fn refuse(&self, kind: &str, what: &str, instead: &'static str, resumed: bool) -> Result<()> {
        for (flag, _) in self.rows() {
            let name = format!("--{}", flag.name);
            if !flag.is_for(kind) {
                return Err(Error::OtherFlag { what: what.into(), flag: name, instead });
            }
            if resumed && flag.resume != Resume::Takes {
                let what = "a run that goes on".to_string();
                return Err(Error::OtherFlag { what, flag: name, instead: "--updates or --epochs" });
            }
        }
        Ok(())
    }
}

impl Args for GivenFlags {
    fn augment_args(command: Command) -> Command {
        FLAGS.iter().fold(command, |command, flag| command.arg(flag.argument()))
    }

    fn augment_args_for_update(command: Command) -> Command {
        GivenFlags::augment_args(command)
    }
}

impl FromArgMatches for GivenFlags {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<GivenFlags, clap::Error> {
        let text = |flag: &Flag| match flag.takes {
            FlagTakes::Nothing => matches.get_flag(flag.name).then(|| "true".to_string()),
            _ => matches.get_raw(flag.name)?.next().map(OsStr::to_string_lossy).map(Into::into),
        };
        Ok(GivenFlags(FLAGS.iter().filter_map(|flag| Some((flag.name, text(flag)?))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = GivenFlags::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::KINDS;

    fn all_there(flag: &str, kinds: &[&str]) {
        for name in kinds {
            assert!(KINDS.named(name).is_some(), "--{flag}: there is no kind `{name}`");
        }
    }

    #[test]
    fn flags_of_eval_name_kinds_that_there_are_and_refuse_the_others() {
        for flag in &EVAL_FLAGS {
            all_there(flag.name, flag.kinds);
            for kind in KINDS.all() {
                let text = flag.check(kind.name()).map_err(|error| error.to_string());
                assert_eq!(text.is_ok(), flag.kinds.contains(&kind.name()), "--{} {text:?}", flag.name);
                assert!(text.is_ok() || text.is_err_and(|text| text.contains(flag.why)));
            }
        }
    }

    #[test]
    fn rows_name_kinds_that_there_are_and_settings_that_these_have() {
        /// Flags that are no settings.
        const OWN: [&str; 9] =
            ["seed", "seeds", "recipe", "quick", "no-repair", "tries", "config", "rule", "picture"];
        for flag in &FLAGS {
            all_there(flag.name, flag.kinds);
            for kind in KINDS.all().filter(|kind| flag.is_for(kind.name())) {
                let known = kind.settings().iter().any(|row| row.key == flag.key());
                assert!(known || OWN.contains(&flag.name), "{} has no setting --{}", kind.name(), flag.name);
            }
        }
    }
}
