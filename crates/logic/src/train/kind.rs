//! Automata as a kind of training: `farad train life` and others.

use std::borrow::Cow;

use farad::Device;
use farad::group::{Group, share};
use farad::run::{Run, Table, Value, count, json};
use farad::train::settings::{Setting, SettingsTable as _, no_choice};
use farad::train::{Asked, Measure, Outcome, Prepared, Subject, TrainError, Trainee, TrainingKind, Unit};
use farad_circuit::Statistics;

use super::trainee::Learners;
use super::{AutomatonTrainer, Configuration, KIND, LearnedAutomata, LearnedCircuit};
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::recipe::own::{self, Own};
use crate::report;
use crate::settings::AutomatonSettings;

/// The variants of settings that a recipe may start from.
const VARIANTS: [&str; 2] = ["default", "reference"];

/// Automata, of one or more seeds.
pub struct Automata;

impl TrainingKind for Automata {
    fn name(&self) -> &'static str {
        KIND
    }

    fn title(&self) -> &'static str {
        "automata"
    }

    fn subjects(&self) -> Vec<Subject> {
        let published = Recipe::all().into_iter().filter_map(|recipe| match recipe.about {
            Cow::Borrowed(about) => {
                Some(Subject { former: recipe.former, ..Subject::new(recipe.name, about) })
            }
            Cow::Owned(_) => None,
        });
        let own = own::TASKS.iter().map(|task| Subject::new(task.name, task.about));
        published.chain(own).collect()
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn settings(&self) -> Vec<Setting> {
        AutomatonSettings::rows()
    }

    fn defaults(&self, subject: &str) -> farad::Result<Vec<(&'static str, Table)>> {
        let recipe = Own::named(subject).map_or_else(|| Recipe::named(subject), Own::example)?;
        Ok(vec![("default", recipe.settings.table()), ("reference", recipe.reference.table())])
    }

    fn prepare(&self, asked: &Asked) -> farad::Result<Box<dyn Prepared>> {
        let recipe = recipe(asked)?;
        let mut settings = match asked.flag("recipe") {
            None | Some("default") => recipe.settings.clone(),
            Some("reference") => recipe.reference.clone(),
            Some(other) => return Err(no_choice("recipe", other, &VARIANTS)),
        };
        let (file, mut stored) = read_config(asked.file.clone().unwrap_or_default());
        settings.take(&file)?;
        Asked { file: None, flags: asked.flags.clone(), device: None, ..*asked }.fill(&mut settings)?;
        settings.repair &= asked.flag("no_repair").is_none();
        settings.check()?;
        let other = other_run(&settings.course.from, &recipe)?;
        stored = stored.or_else(|| other.as_ref().map(|(_, seeds)| seeds.clone()));
        let seeds = seeds(asked, &recipe, stored)?;
        let from = other.map(|(run, known)| places(&run, &known, &seeds)).transpose()?;
        let device = asked.device_or_best()?;
        let configuration = Configuration { recipe, settings, seeds, device: device.name().to_string() };
        Ok(Box::new(ReadyAutomaton::new(configuration, &device, asked, from.unwrap_or_default())?))
    }

    fn resume(&self, run: &Run, asked: &Asked) -> farad::Result<Box<dyn Prepared>> {
        let mut configuration = Configuration::of(run)?;
        asked.fill(&mut configuration.settings)?;
        configuration.settings.repair &= asked.flag("no_repair").is_none();
        configuration.settings.check()?;
        let device = asked.device_of(run)?;
        configuration.device = device.name().to_string();
        // A run that was killed before its first checkpoint starts again, from the same weights.
        let from = match run.checkpoint()? {
            Some(_) => None,
            None => other_run(&configuration.settings.course.from, &configuration.recipe)?
                .map(|(other, known)| places(&other, &known, &configuration.seeds))
                .transpose()?,
        };
        Ok(Box::new(ReadyAutomaton::new(configuration, &device, asked, from.unwrap_or_default())?))
    }

    fn judge(&self, run: &Run, asked: &Asked, _: &Device) -> farad::Result<Outcome> {
        Ok(report::outcome(&report::judge(run, asked.watcher)?))
    }

    fn use_instead(&self, run: &Run) -> String {
        format!("`farad simulate {}` runs it on a grid", farad::run::shell_word(run.path()))
    }

    fn judges_on(&self, _: &Run) -> farad::Result<Device> {
        Ok(Device::cpu())
    }

    fn inspect(&self, run: &Run) -> farad::Result<Value> {
        let configuration = Configuration::of(run)?;
        let mut value = json!({
            "run": run.path().display().to_string(),
            "kind": run.kind(),
            "recipe": configuration.recipe.name,
            "device": configuration.device,
            "seeds": configuration.seeds,
        });
        let (mut updates, of) = (0, count(configuration.settings.updates));
        if run.checkpoint()?.is_some() {
            let learned = LearnedAutomata::of(run)?;
            updates = learned.updates;
            value["circuits"] = learned.circuits.iter().map(circuit).collect();
        }
        value["updates"] = json!(format!("{} of {of}", count(updates)));
        Ok(value)
    }

    fn instead(&self) -> &'static str {
        "--updates and --set"
    }

    fn learns(&self, config: &Table) -> String {
        config.get("recipe").and_then(|recipe| recipe.as_str()).unwrap_or_default().into()
    }

    fn measures(&self, _: &Table) -> Vec<Measure> {
        vec![
            Measure { column: "wrong", name: "wrong bits in training", unit: Unit::Wrong },
            Measure { column: "hard_loss", name: "loss of hard gates", unit: Unit::Number },
            Measure { column: "soft_loss", name: "training loss of soft gates", unit: Unit::Number },
        ]
    }

    fn planned(&self, config: &Table) -> Option<u64> {
        let updates = config.get("settings")?.get("updates")?.as_integer()?;
        u64::try_from(updates).ok().filter(|&updates| updates > 0)
    }
}

/// The recipe to learn: a published one, or one from a flag or a run's own `config.toml`.
fn recipe(asked: &Asked) -> Result<Recipe> {
    let own = Own::named(asked.subject);
    let foreign =
        |task: &&Own| asked.flag(task.flag).is_some() && own.is_none_or(|own| own.flag != task.flag);
    if let Some(task) = own::TASKS.iter().find(foreign) {
        let takers = own::TASKS.iter().filter(|other| other.flag == task.flag).map(|other| other.about);
        let tasks = takers.collect::<Vec<_>>().join("; ");
        return Err(Error::OtherTask { name: asked.subject.into(), flag: task.flag, tasks });
    }
    let Some(own) = own else { return Recipe::named(asked.subject) };
    let stored = asked.file.as_ref().and_then(|file| file.get("task")?.as_table());
    match (asked.flag(own.flag), stored) {
        (Some(text), _) => own.read(text),
        (None, Some(task)) => own.recipe(task),
        (None, None) => Err(Error::NeedsTask { name: own.name, flag: own.flag, about: own.about }),
    }
}

/// The settings in a file and, if it is a run's own `config.toml`, its seeds.
fn read_config(mut file: Table) -> (Table, Option<Vec<u64>>) {
    let seeds = file.remove("seeds");
    ["recipe", "device", "task"].into_iter().for_each(|key| drop(file.remove(key)));
    if let Some(toml::Value::Table(settings)) = file.remove("settings") {
        file.extend(settings);
    }
    let whole = |seed: &toml::Value| seed.as_integer().and_then(|seed| u64::try_from(seed).ok());
    let seeds = seeds.and_then(|seeds| seeds.as_array()?.iter().map(whole).collect::<Option<Vec<u64>>>());
    (file, seeds.filter(|seeds| !seeds.is_empty()))
}

/// The run that training starts from, with its seeds, if there is one; it must have the same recipe.
fn other_run(from: &str, recipe: &Recipe) -> farad::Result<Option<(Run, Vec<u64>)>> {
    if from.is_empty() {
        return Ok(None);
    }
    let other = Run::open(from)?;
    let refuse = |found: &str, wanted: &str| {
        let (path, found, wanted) = (other.path().into(), found.into(), wanted.into());
        Err(TrainError::OtherKind { path, found, wanted }.into())
    };
    if other.kind() != KIND {
        return refuse(other.kind(), KIND);
    }
    let configuration = Configuration::of(&other)?;
    match configuration.recipe.name == recipe.name {
        true => Ok(Some((other, configuration.seeds))),
        false => refuse(configuration.recipe.name, recipe.name),
    }
}

/// How many seeds another run has, and which of them these are: gates are meaningful only on the wires of their
/// seed.
fn places(other: &Run, known: &[u64], seeds: &[u64]) -> Result<(usize, Vec<usize>)> {
    let place = |seed: &u64| {
        known.iter().position(|other| other == seed).ok_or_else(|| {
            let found = known.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            Error::OtherWires { path: other.path().into(), found, wanted: seed.to_string() }
        })
    };
    Ok((known.len(), seeds.iter().map(place).collect::<Result<_>>()?))
}

/// The requested seeds: `--seeds` of them starting at `--seed`; without both, those that are stored somewhere.
fn seeds(asked: &Asked, recipe: &Recipe, stored: Option<Vec<u64>>) -> farad::Result<Vec<u64>> {
    let number = |flag: &str| {
        let wrong = |found: &str| TrainError::Setting {
            key: flag.into(),
            wanted: "a whole number from 0 on".into(),
            found: found.into(),
        };
        asked.flag(flag).map(|text| text.parse::<u64>().map_err(|_| wrong(text))).transpose()
    };
    let (first, count) = (number("seed")?, number("seeds")?);
    if let (None, None, Some(seeds)) = (first, count, stored) {
        return Ok(seeds);
    }
    let first = first.unwrap_or(recipe.seed);
    let seeds: Vec<u64> = (0..count.unwrap_or(1).max(1)).map(|n| first.wrapping_add(n)).collect();
    match seeds.iter().any(|&seed| seed > i64::MAX as u64) {
        true => Err(Error::Seed { seed: first }.into()),
        false => Ok(seeds),
    }
}

/// Everything that a training consists of.
struct ReadyAutomaton {
    configuration: Configuration,
    /// Of the seeds of this rank.
    trainer: AutomatonTrainer,
    quick: bool,
    from: (usize, Vec<usize>),
    group: Group,
}

impl ReadyAutomaton {
    fn new(
        configuration: Configuration,
        device: &Device,
        asked: &Asked,
        (runs, mut places): (usize, Vec<usize>),
    ) -> Result<ReadyAutomaton> {
        let (group, count) = (asked.group(), configuration.seeds.len());
        if count < group.size() {
            let few = TrainError::FewForRanks { what: "seeds", count, ranks: group.size() };
            return Err(farad::Error::from(few).into());
        }
        let own = share(count, group.size(), group.rank());
        if !places.is_empty() {
            places = places[own.clone()].to_vec();
        }
        let seeds = configuration.seeds[own].to_vec();
        let (recipe, settings) = (configuration.recipe.clone(), configuration.settings.clone());
        let part = Configuration { recipe, settings, seeds, device: configuration.device.clone() };
        // A training that is impossible leaves no run behind.
        let help = "use a smaller grid, batch, number of steps or of seeds, or another device";
        part.need().check(device, help)?;
        let trainer = AutomatonTrainer::new(part.recipe, part.settings, &part.seeds, device);
        let (quick, from) = (asked.flag("quick").is_some(), (runs, places));
        Ok(ReadyAutomaton { trainer, quick, from, configuration, group })
    }
}

impl Prepared for ReadyAutomaton {
    fn config(&self) -> Table {
        self.configuration.table()
    }

    fn seed(&self) -> u64 {
        self.configuration.seeds.first().copied().unwrap_or(0)
    }

    fn begin(self: Box<Self>, _: &Run) -> farad::Result<Box<dyn Trainee>> {
        Ok(Box::new(Learners::new(self.configuration, self.trainer, self.quick, self.from, &self.group)?))
    }
}

fn circuit(circuit: &LearnedCircuit) -> Value {
    let statistics = Statistics::of(&circuit.automaton.cell);
    json!({
        "seed": circuit.seed, "kept_after": circuit.update, "right": circuit.right,
        "repaired": circuit.repair.is_some(),
        "learned_gates": circuit.gates.len(), "active_gates": circuit.active_gates(),
        "gates_of_a_cell": statistics.gates, "depth": statistics.depth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(asked: Asked) -> Result<Table> {
        let asked = Asked { device: Some(Device::cpu()), ..asked };
        Ok(Automata.prepare(&asked)?.config())
    }

    #[test]
    fn the_configuration_of_a_run_makes_the_same_run() {
        let flags = |all: &[(&'static str, &str)]| {
            all.iter().map(|&(flag, text)| (flag.to_string(), text.to_string())).collect::<Vec<_>>()
        };
        let asked = Asked {
            flags: flags(&[("seed", "7"), ("seeds", "2"), ("recipe", "reference"), ("updates", "9")]),
            ..Asked::new("life")
        };
        let first = config(asked).unwrap();
        assert_eq!(first["seeds"].as_array().map(Vec::len), Some(2));
        assert_eq!(Automata.planned(&first), Some(9));
        let again = config(Asked { file: Some(first.clone()), ..Asked::new("life") }).unwrap();
        assert_eq!(again, first);
        let other = Asked { file: Some(first), flags: flags(&[("seed", "3")]), ..Asked::new("life") };
        assert_eq!(config(other).unwrap()["seeds"].to_string(), "[3]");
    }

    #[test]
    fn what_is_asked_for_wrongly_is_refused() {
        let refused = |flag: &'static str, text: &str| {
            let asked = Asked { flags: vec![(flag.to_string(), text.into())], ..Asked::new("life") };
            config(asked).unwrap_err().to_string()
        };
        assert!(refused("recipe", "referense").contains("did you mean `reference`?"));
        assert!(refused("seed", "9223372036854775808").starts_with("settings: seeds must be below 2^63"));
        let file = |key: &str| {
            let file = [(key.to_string(), 1.into())].into_iter().collect();
            config(Asked { file: Some(file), ..Asked::new("life") })
        };
        assert!(file("batch").is_ok() && file("bach").is_err());
        assert_eq!(Automata.subjects().iter().filter(|subject| subject.is_called("coloured-g")).count(), 1);
    }
}
