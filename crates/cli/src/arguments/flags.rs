//! Flags that several commands share, so that the same thing has the same name and the same words everywhere.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, ValueEnum};
use farad::{AdapterKind, BACKENDS, Device, ENVIRONMENT};

use crate::error::Result;
use crate::look::{Talk, count};

/// Takes any text, and knows words that help and shells should offer. What is none of them gets its answer from whoever
/// knows the words best.
#[derive(Clone, Debug)]
pub struct AnyWord(Vec<(&'static str, &'static str)>);

impl AnyWord {
    /// Words with what they mean.
    pub fn explained(words: impl IntoIterator<Item = (&'static str, &'static str)>) -> AnyWord {
        AnyWord(words.into_iter().collect())
    }

    /// Words that speak for themselves.
    pub fn plain(words: impl IntoIterator<Item = &'static str>) -> AnyWord {
        AnyWord::explained(words.into_iter().map(|word| (word, "")))
    }
}

impl TypedValueParser for AnyWord {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> std::result::Result<String, clap::Error> {
        let text = value.to_str().map(String::from);
        text.ok_or_else(|| clap::Error::new(ErrorKind::InvalidUtf8).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|&(word, means)| match means {
            "" => PossibleValue::new(word),
            _ => PossibleValue::new(word).help(means),
        })))
    }
}

/// The largest seed, and the largest number of updates: a run's folder stores whole numbers with a sign.
pub const MOST: u64 = i64::MAX as u64;

/// Takes numbers within bounds. Whatever else is given, also a negative number, is answered with what the flag takes.
#[derive(Clone, Debug)]
pub struct NumberWithin<T> {
    least: T,
    most: T,
    /// What it takes, in words.
    takes: String,
    /// The same for those who ask for too much, where the words do not say how much there may be.
    bounded: Option<String>,
}

/// Whole numbers of two bounds, both included.
pub fn whole<T: Copy + TryInto<u128>>(least: T, most: T) -> NumberWithin<T> {
    let (from, to) = (count(least), count(most));
    let bounded = format!("a whole number from {from} to {to}");
    // Nobody counts as far as a word can hold.
    match most.try_into().unwrap_or_default() >= u128::from(MOST) {
        true => NumberWithin {
            least,
            most,
            takes: format!("a whole number from {from} on"),
            bounded: Some(bounded),
        },
        false => NumberWithin { least, most, takes: bounded, bounded: None },
    }
}

/// Numbers of two bounds, both included; `takes` says so in words.
pub fn number<T>(least: T, most: T, takes: &str) -> NumberWithin<T> {
    NumberWithin { least, most, takes: takes.into(), bounded: None }
}

impl<T: FromStr + PartialOrd + Clone + Send + Sync + 'static> TypedValueParser for NumberWithin<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> std::result::Result<T, clap::Error> {
        let text = value.to_string_lossy();
        // What is no number at all is in no range either.
        let found = text.parse().ok().filter(|found| (&self.least..=&self.most).contains(&found));
        found.ok_or_else(|| {
            let mut error = clap::Error::new(ErrorKind::ValueValidation).with_cmd(command);
            let said = |text: String| ContextValue::String(text);
            let name = argument.map(ToString::to_string).unwrap_or_default();
            error.insert(ContextKind::InvalidArg, said(name));
            let digits = text.chars().all(|letter| letter.is_ascii_digit()) && text.len() > 18;
            let takes = self.bounded.as_ref().filter(|_| digits).unwrap_or(&self.takes);
            error.insert(ContextKind::InvalidValue, said(text.into_owned()));
            error.insert(ContextKind::Custom, said(takes.clone()));
            error
        })
    }
}

/// Where to compute.
#[derive(Debug, Default, Args)]
pub struct DeviceFlag {
    #[arg(long, value_name = "DEVICE", help = device_help(), value_parser = device_words(), hide_possible_values = true, allow_negative_numbers = true)]
    pub device: Option<String>,
}

/// What `--device` takes, by the table of backends.
fn device_help() -> String {
    let names = farad::device_names_sentence("`");
    let tests: Vec<String> = BACKENDS
        .iter()
        .filter(|row| row.for_tests)
        .map(|row| format!("`{}`: {}", row.name, row.help))
        .collect();
    let tests = if tests.is_empty() { String::new() } else { format!(" ({})", tests.join("; ")) };
    format!(
        "Where to compute: {names}{tests} [default: best; the run's own for train --resume, eval, predict, generate and chat]"
    )
}

/// `best` and the backends, with what they are.
fn device_words() -> AnyWord {
    let rows = BACKENDS.iter().map(|row| (row.name, row.help));
    AnyWord::explained(std::iter::once(("best", "a GPU if there is one, else the processor")).chain(rows))
}

impl DeviceFlag {
    /// The device that was asked for.
    pub fn asked(&self) -> Result<Option<Device>> {
        Ok(self.device.as_deref().map(Device::named).transpose()?)
    }

    /// The device that was asked for, else the best.
    pub fn or_best(&self) -> Result<Device> {
        Ok(Device::named(self.name())?)
    }

    /// What was asked for, else `best`.
    pub fn name(&self) -> &str {
        self.device.as_deref().unwrap_or("best")
    }

    /// A device's name, and why it is the best if that is a surprise.
    pub fn described(&self, device: &Device) -> String {
        let name = device.name();
        if self.name() != "best" || ENVIRONMENT.device.is_some() || device.is_gpu() {
            return name.to_string();
        }
        let software = farad::adapters().iter().any(|adapter| adapter.kind == AdapterKind::Software);
        let why = if software { "only a software GPU was found" } else { "no GPU was found" };
        format!("{name}, as {why} (`farad devices` says more)")
    }
}

/// How much is said, and in which form.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// Print results as JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// Print only results, warnings and errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl OutputFlags {
    /// What may be said beside results.
    pub fn talk(self) -> Talk {
        Talk::new(self.quiet || crate::ranks::is_follower())
    }
}

/// What a profile measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProfileKind {
    /// Every kernel alone; waits for each run, so the whole takes longer
    #[default]
    Kernels,
    /// The host's time, with runs as usual; kernels are counted
    Host,
}

/// Options of every command that computes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct ProfileFlags {
    /// At the end, print where time and memory went; with a file, also write a trace for Perfetto
    #[arg(long, value_name = "TRACE.json", num_args = 0..=1, require_equals = true)]
    pub profile: Option<Option<PathBuf>>,
    /// What --profile measures
    #[arg(long, value_name = "MODE", value_enum, default_value_t, requires = "profile")]
    pub profile_mode: ProfileKind,
}
