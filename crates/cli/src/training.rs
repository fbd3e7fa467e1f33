//! A training of any kind of the table, from the command line to its last word.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};

use farad::group::Group;
use farad::run::{Run, visible};
use farad::train::settings::read_file;
use farad::train::{
    Asked, Glimpse, Outcome, Prepared, Progress as Trained, TextTable, Tone, Toned, Training, TrainingKind,
    Watcher,
};

use crate::arguments::TrainOptions;
use crate::error::{Error, Result};
use crate::look::{
    self, BAD, Closing, DOUBTFUL, FAINT, GOOD, HEADING, JobProgress, SmallCurve, Table, TableCell, Talk,
    counted, half_blocks, left, paint, right,
};
use crate::profile::Profiling;
use crate::ranks;
use crate::train::{broken_off, described, folder, interrupts, is_world};

/// Trains a subject of a kind, or goes on with a run if there is one. Where it does not succeed, the next seeds are tried.
pub fn train(
    kind: &'static dyn TrainingKind,
    options: &TrainOptions,
    subject: &'static str,
    resumed: Option<Run>,
    group: &Group,
) -> Result<()> {
    let number = |flag: &str| options.flags.text(flag).and_then(|text| text.parse::<u64>().ok());
    let (tries, talk) = (number("tries").unwrap_or(1), options.output.talk());
    let Some(mut tried) = one(kind, options, subject, resumed, None, group)? else { return Ok(()) };
    let (first, seeds) = (tried.seed, number("seeds").unwrap_or(1));
    for n in 1..tries {
        if tried.succeeded != Some(false) {
            break;
        }
        let seed = first + n * seeds;
        talk.say(format!("try {} of {tries}: seed {seed}", n + 1));
        match one(kind, options, subject, None, Some(seed), group)? {
            Some(next) => tried = next,
            None => return Ok(()),
        }
    }
    if tries > 1 {
        let seeds =
            if seeds > 1 { format!("seeds from {} on", tried.seed) } else { format!("seed {}", tried.seed) };
        talk.say(match tried.succeeded {
            Some(true) => format!("{seeds} succeeded"),
            _ => format!("no seed succeeded in {tries} tries"),
        });
    }
    Ok(())
}

/// How a try went.
struct Tried {
    seed: u64,
    succeeded: Option<bool>,
}

/// Trains once: with the seed that is asked for, or another one.
fn one(
    kind: &'static dyn TrainingKind,
    options: &TrainOptions,
    subject: &'static str,
    resumed: Option<Run>,
    seed: Option<u64>,
    group: &Group,
) -> Result<Option<Tried>> {
    let (talk, fresh) = (options.output.talk(), resumed.is_none());
    let screen = Screen::new(talk);
    let asked = asked(options, subject, &screen, seed, resumed.as_ref(), group);
    let training = begin(kind, &ranks::together(group, asked)?, options, resumed, seed)?;
    ranks::unless_ended(group, trained(training, options, &screen, fresh, group))
}

/// Trains to the end, and says what came out.
fn trained(
    mut training: Training,
    options: &TrainOptions,
    screen: &Screen,
    fresh: bool,
    group: &Group,
) -> Result<Option<Tried>> {
    let talk = options.output.talk();
    let device = training.trainee().device().clone();
    let profiling = Profiling::start(&options.profile, &device);
    let folder = training.run().path().to_path_buf();
    let device = described(options, fresh, &device);
    let device = if group.is_alone() { device } else { format!("{device}, {} ranks", group.size()) };
    talk.begins(&training.trainee().title(), &device, &folder);
    let (stop, ended) = interrupts(talk, &folder);
    let unit = training.trainee().unit();
    screen.draws(CurveOf::columns(&training.trainee().columns()));
    screen.begin(&format!("{unit}s"), training.trainee().steps_in_all(), training.steps());
    let trained = training.train(&stop, screen);
    screen.end();
    let summary = trained.map_err(|error| broken_off(&folder, error))?;
    ended.set();
    let steps = counted(summary.steps, unit);
    if summary.interrupted {
        talk.stopped(&steps, &folder);
        if group.is_first() {
            profiling.finish()?;
        }
        return Err(Error::Interrupted);
    }
    let early = summary.early.as_ref().map_or(String::new(), |why| format!(", {why}"));
    talk.say(format!("trained {steps}{early}; {}", training.trainee().concluding()));
    screen.tell_curve();
    screen.work(&training.trainee().concluding());
    // The run stays locked until everything is written.
    let outcome = training.conclude(&summary, screen).map_err(|error| broken_off(&folder, error))?;
    screen.end();
    if group.is_first() {
        show(&outcome, options.output.json)?;
    }
    outcome.said.iter().for_each(|said| talk.say(toned(said)));
    let next = outcome.next.iter();
    if !group.is_first() {
        return told(group, None);
    }
    let closing = next.fold(Closing::new(&folder), |closing, (command, does)| closing.next(command, does));
    talk.ends(&closing.dashboard());
    profiling.finish()?;
    let config = training.run().config();
    let first = config.get("seeds").and_then(|seeds| seeds.as_array()?.first()?.as_integer());
    told(group, first.map(|seed| Tried { seed: seed as u64, succeeded: outcome.succeeded }))
}

/// How a try went, from the first rank, which alone knows it: whether there is another one is the same for all.
fn told(group: &Group, tried: Option<Tried>) -> Result<Option<Tried>> {
    if group.is_alone() {
        return Ok(tried);
    }
    let succeeded = |tried: &Tried| match tried.succeeded {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    let mine = tried.map_or(String::new(), |tried| format!("{} {}", tried.seed, succeeded(&tried)));
    let first = group.all_texts(&mine)?.swap_remove(0);
    Ok(first.split_once(' ').and_then(|(seed, succeeded)| {
        let succeeded = (succeeded != "unknown").then_some(succeeded == "yes");
        Some(Tried { seed: seed.parse().ok()?, succeeded })
    }))
}

/// A training in its folder, new or going on. Of several ranks the first makes the folder and begins, then the others.
fn begin(
    kind: &dyn TrainingKind,
    asked: &Asked,
    options: &TrainOptions,
    resumed: Option<Run>,
    seed: Option<u64>,
) -> Result<Training> {
    let group = asked.group();
    let prepared = match &resumed {
        Some(run) => kind.resume(run, asked),
        None => kind.prepare(asked),
    };
    let prepared = ranks::together(&group, prepared.map_err(Error::from))?;
    ranks::agree(&group, kind, &*prepared, resumed.as_ref())?;
    if !group.is_first() {
        ranks::together(&group, Ok(()))?;
        let folder = group.all_texts("")?.swap_remove(0);
        return ranks::together(&group, follow(&group, prepared, folder.as_ref()));
    }
    let config = prepared.config();
    let begun = match resumed {
        Some(run) => open(&group, prepared, run, None).map(|training| (training, None)),
        None => create(kind, options, asked.subject, &*prepared, seed)
            .and_then(|(run, made)| Ok((open(&group, prepared, run, made.as_deref())?, made))),
    };
    let (mut training, made) = ranks::together(&group, begun)?;
    group.all_texts(&training.run().path().display().to_string())?;
    if let Err(error) = ranks::together(&group, Ok(())) {
        drop(training);
        remove(made.as_deref());
        return Err(error);
    }
    if *training.run().config() != config {
        training.set_config(config)?;
    }
    Ok(training)
}

/// The same training as another rank sees it.
fn follow(group: &Group, prepared: Box<dyn Prepared>, folder: &Path) -> Result<Training> {
    let run = Run::open(folder)?;
    let trainee = prepared.begin(&run)?;
    Ok(Training::open_in(group, run, trainee)?)
}

/// Prints what came out: lines of JSON, or a table and lines for people.
pub fn show(outcome: &Outcome, json: bool) -> Result<()> {
    let mut out = look::out();
    if json {
        outcome.json.iter().try_for_each(|value| writeln!(out, "{value}"))?;
    } else {
        if let Some(grid) = &outcome.table {
            write!(out, "{}", table(grid))?;
        }
        outcome.lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(out.flush()?)
}

/// Everything that the command line asks a kind for.
fn asked<'a>(
    options: &'a TrainOptions,
    subject: &'a str,
    screen: &'a Screen,
    seed: Option<u64>,
    resumed: Option<&Run>,
    group: &'a Group,
) -> Result<Asked<'a>> {
    let file = options.flags.text("config").map(|path| read_file(path.as_ref())).transpose()?;
    let mut flags = match seed {
        Some(seed) => options.flags.with("seed", seed.to_string()).keys(),
        None => options.flags.keys(),
    };
    // A file in the place of a name is what is learned from.
    if let Some(name) = options.name.as_deref().filter(|name| is_world(name)) {
        flags.push(("data".into(), name.into()));
    }
    let device = ranks::device(group, &options.device, resumed)?;
    Ok(Asked { subject, file, flags, set: &options.set, device, watcher: screen, group: Some(group) })
}

/// A new run, and its folder if nothing was there before.
fn create(
    kind: &dyn TrainingKind,
    options: &TrainOptions,
    subject: &str,
    prepared: &dyn Prepared,
    seed: Option<u64>,
) -> Result<(Run, Option<PathBuf>)> {
    let folder = match (seed, &options.out) {
        // Each try has a folder of its own.
        (Some(seed), Some(out)) => PathBuf::from(format!("{}-{seed}", out.display())),
        _ => folder(options, subject, prepared.seed()),
    };
    let made = (!folder.exists()).then(|| folder.clone());
    Ok((Run::create(&folder, kind.name(), prepared.config())?, made))
}

/// A training in its folder. What cannot begin leaves no folder behind that was not there before.
fn open(group: &Group, prepared: Box<dyn Prepared>, run: Run, made: Option<&Path>) -> Result<Training> {
    let opened = prepared.begin(&run).and_then(|trainee| Training::open_in(group, run, trainee));
    if opened.is_err() {
        remove(made);
    }
    Ok(opened?)
}

/// Takes a folder away that was made for nothing.
fn remove(made: Option<&Path>) {
    if let Some(folder) = made {
        // Nothing is in it but what was just written; what is left may be looked at and removed by hand.
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Words in their colors.
pub fn toned(toned: &Toned) -> String {
    let style = match toned.tone {
        Tone::Plain => return toned.words.clone(),
        Tone::Good => GOOD,
        Tone::Doubtful => DOUBTFUL,
        Tone::Bad => BAD,
        Tone::Heading => HEADING,
        Tone::Faint => FAINT,
    };
    paint(style, &toned.words)
}

fn table(grid: &TextTable) -> Table {
    let columns =
        grid.columns.iter().map(|(title, numbers)| if *numbers { right(title) } else { left(title) });
    let mut table = Table::new(columns);
    for row in &grid.rows {
        table.row(row.iter().map(|cell| match cell.tone {
            Tone::Good => TableCell::new(GOOD, &cell.words),
            Tone::Bad => TableCell::new(BAD, &cell.words),
            Tone::Doubtful => TableCell::new(DOUBTFUL, &cell.words),
            _ => TableCell::from(&cell.words),
        }));
    }
    table
}

/// Shows what libraries have to say: lines and a bar on stderr.
pub struct Screen {
    talk: Talk,
    bar: RefCell<Option<ShownBar>>,
    curve: RefCell<Option<(CurveOf, SmallCurve)>>,
}

/// What is shown just now.
enum ShownBar {
    /// How far something is.
    Counts(JobProgress),
    /// That something goes on.
    Works(JobProgress),
}

/// Letters of a curve beside a bar, and after the training.
const BESIDE: usize = 8;
const AFTER: usize = 28;

/// Which of a training's numbers are drawn as a curve.
struct CurveOf {
    name: String,
    /// All numbers are of this kind, one per model; else the first is.
    all: bool,
}

impl CurveOf {
    /// By the columns of the log: the loss, else what comes first.
    fn columns(columns: &[String]) -> CurveOf {
        let is_loss = |column: &&String| column.as_str() == "loss" || column.starts_with("soft_loss");
        match columns.iter().find(is_loss) {
            Some(_) => CurveOf { name: "loss".into(), all: true },
            None => {
                let first = columns.first().map_or("", String::as_str);
                let name = first.rsplit_once('_').filter(|(_, seed)| seed.parse::<u64>().is_ok());
                CurveOf { name: name.map_or(first, |(name, _)| name).into(), all: false }
            }
        }
    }

    fn value(&self, losses: &[f32]) -> f64 {
        let taken = if self.all { losses } else { &losses[..losses.len().min(1)] };
        let finite: Vec<f64> = taken.iter().copied().filter(|loss| loss.is_finite()).map(f64::from).collect();
        finite.iter().sum::<f64>() / finite.len() as f64
    }
}

impl Screen {
    /// Nothing is shown yet.
    pub fn new(talk: Talk) -> Screen {
        Screen { talk, bar: RefCell::new(None), curve: RefCell::new(None) }
    }

    /// Shows a bar.
    fn begin(&self, what: &str, all: u64, done: u64) {
        // One at a time: the one before goes first.
        self.end();
        *self.bar.borrow_mut() = Some(ShownBar::Counts(self.talk.progress(what, all, done)));
    }

    /// Shows that work goes on whose end is not known.
    fn work(&self, what: &str) {
        self.end();
        *self.bar.borrow_mut() = Some(ShownBar::Works(self.talk.working(what)));
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.borrow_mut().take();
    }

    /// Draws a curve, where something can be drawn.
    fn draws(&self, curve: CurveOf) {
        *self.curve.borrow_mut() = self.talk.draws().then(|| (curve, SmallCurve::default()));
    }

    /// The curve of the whole training, in a line.
    fn tell_curve(&self) {
        let curve = self.curve.borrow();
        let Some((of, curve)) = &*curve else { return };
        if let (Some(letters), Some((first, last))) = (curve.letters(AFTER), curve.ends()) {
            self.talk.fact(&of.name, format!("{letters}  {first:.4} → {last:.4}"));
        }
    }

    /// Notes numbers for the curve; the curve so far.
    fn drawn(&self, losses: &[f32]) -> Option<String> {
        let mut curve = self.curve.borrow_mut();
        let (of, curve) = curve.as_mut()?;
        curve.push(of.value(losses));
        curve.letters(BESIDE)
    }
}

impl Watcher for Screen {
    fn say(&self, words: &str) {
        match &*self.bar.borrow() {
            Some(ShownBar::Counts(bar) | ShownBar::Works(bar)) => bar.suspend(|| self.talk.say(words)),
            None => self.talk.say(words),
        }
    }

    fn trained(&self, progress: &Trained) {
        let drawn = self.drawn(&progress.losses).map_or(String::new(), |curve| format!("{curve}  "));
        if let Some(ShownBar::Counts(bar)) = &*self.bar.borrow() {
            bar.set(progress.step, || format!("{drawn}{}", progress.words));
        }
    }

    fn looks(&self) -> bool {
        self.talk.draws()
    }

    fn glimpsed(&self, step: u64, glimpse: &Glimpse) {
        let Some(ShownBar::Counts(bar)) = &*self.bar.borrow() else { return };
        match glimpse {
            Glimpse::Picture(picture) => bar.above(half_blocks(picture, look::colored_errors()), false),
            Glimpse::Text(text) => {
                let text = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
                bar.above(format!("after {}: {text}", counted(step, "update")), true);
            }
        }
    }

    fn works(&self, share: f64, what: &str) {
        if !matches!(&*self.bar.borrow(), Some(ShownBar::Works(_))) {
            self.work(what);
        }
        if let Some(ShownBar::Works(bar)) = &*self.bar.borrow() {
            bar.works(share, what);
        }
    }

    fn advanced(&self, done: u64, all: u64, what: &str) {
        if !matches!(&*self.bar.borrow(), Some(ShownBar::Counts(_))) {
            self.begin("parts", all, 0);
        }
        if let Some(ShownBar::Counts(bar)) = &*self.bar.borrow() {
            bar.set_length(all);
            bar.set(done, || what.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_of_losses_or_of_what_comes_first() {
        let of =
            |columns: &[&str]| CurveOf::columns(&columns.iter().map(|&name| name.into()).collect::<Vec<_>>());
        let loss = of(&["epoch", "loss", "learning_rate"]);
        assert_eq!((loss.name.as_str(), loss.value(&[1.0, f32::NAN, 3.0])), ("loss", 2.0));
        assert_eq!(of(&["soft_loss_3", "hard_loss_3"]).name, "loss");
        let agents = of(&["return_mean_7", "length_7"]);
        assert_eq!((agents.name.as_str(), agents.value(&[1.0, 9.0])), ("return_mean", 1.0));
    }
}
