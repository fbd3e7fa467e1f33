//! What can go wrong when automata are trained and evaluated.

/// An error of training, evaluation or a recipe.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no recipe with this name.
    #[error("recipe: there is no `{name}`{}\nhelp: the recipes are {}", did_you_mean(.nearest), .names.join(", "))]
    UnknownRecipe {
        /// What was asked for.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
        /// All names.
        names: Vec<String>,
    },
    /// A run's configuration lacks something.
    #[error("settings: config.toml has no usable `{key}`")]
    Configuration {
        /// What it lacks.
        key: &'static str,
    },
    /// Grids that are too large to train on.
    #[error(
        "settings: the grids are too large to train on: {height} × {width} × batch {batch} ({} vs at most {})",
        farad::run::counted(*.cells, "cell"),
        farad::run::count(*.most)
    )]
    TooLarge {
        /// Cells from top to bottom.
        height: usize,
        /// Cells from left to right.
        width: usize,
        /// Grids per update.
        batch: usize,
        /// The number of cells.
        cells: usize,
        /// The largest number allowed.
        most: usize,
    },
    /// A seed that a run's folder cannot store.
    #[error("settings: seeds must be below 2^63 ({seed})")]
    Seed {
        /// The first seed asked for.
        seed: u64,
    },
    /// An encoding that does not match its data.
    #[error("encoding: {what} ({found} vs {wanted})")]
    Encoding {
        /// What is wrong.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The number expected.
        wanted: usize,
    },
    /// Text that is not a rule.
    #[error(
        "rule: not a rule: `{text}`: {what}\nhelp: `B3/S23` is born with 3 neighbors and stays with 2 or 3, 0 to 255 are elementary rules, and a file has a line such as `0001.1000 -> 1` for neighborhoods"
    )]
    Rule {
        /// What was given.
        text: String,
        /// What is wrong with it.
        what: String,
    },
    /// A line of a file that is not part of a rule.
    #[error(
        "rule: {path}, line {line}: {what}\nhelp: nine of 0, 1 and . row by row, then what becomes of the middle: `0001.1000 -> 1`"
    )]
    RuleFile {
        /// The file.
        path: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A file that does not cover all neighborhoods.
    #[error(
        "rule: {path} does not say what becomes of {patch} ({missing} vs 0 neighborhoods are missing)\nhelp: add them, or a line `else 0`"
    )]
    RuleGap {
        /// The file.
        path: String,
        /// The first neighborhood that is missing, row by row.
        patch: String,
        /// How many are missing.
        missing: usize,
    },
    /// A file that is not a table of bits.
    #[error(
        "table: {path}: {what}\nhelp: a line of names, then rows of 0 and 1; the last column is learned, or those of --set target=NAME,NAME"
    )]
    TruthFile {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// A picture with too many cells.
    #[error(
        "picture: too large: {path} has {width}×{height} pixels (vs at most {most}×{most})\nhelp: scale it down; a pixel is a cell"
    )]
    LargePicture {
        /// The file.
        path: String,
        /// Pixels across.
        width: usize,
        /// Pixels down.
        height: usize,
        /// As many as there may be.
        most: usize,
    },
    /// A picture with too many colors.
    #[error(
        "picture: too many colors: {path} has {colors} (vs at most {most})\nhelp: reduce them to a palette, without smoothing at edges; JPEG files rarely have few"
    )]
    ColorfulPicture {
        /// The file.
        path: String,
        /// Colors in it.
        colors: usize,
        /// As many as there may be.
        most: usize,
    },
    /// A picture of one color.
    #[error(
        "picture: nothing to learn: {path} has one color only\nhelp: draw something on it; what is transparent is empty"
    )]
    EmptyPicture {
        /// The file.
        path: String,
    },
    /// A task without its required flag.
    #[error("train: {name} needs --{flag}\nhelp: {about}")]
    NeedsTask {
        /// The task.
        name: &'static str,
        /// The flag that is missing.
        flag: &'static str,
        /// What the flag takes.
        about: &'static str,
    },
    /// A flag of another task.
    #[error("train: --{flag} is not for {name}\nhelp: {tasks}")]
    OtherTask {
        /// What is trained.
        name: String,
        /// The flag.
        flag: &'static str,
        /// The tasks that take it.
        tasks: String,
    },
    /// The circuit of a table cannot be timed.
    #[error(
        "speed: it times circuits that read pictures, and this one reads a table\nhelp: leave --speed out"
    )]
    SpeedOfTable,
    /// Wires that cannot be drawn.
    #[error("wiring: {what}: {inputs} inputs, {outputs} gates ({found} vs {wanted})")]
    Wiring {
        /// What is wrong.
        what: &'static str,
        /// Inputs of the layer.
        inputs: usize,
        /// Its gates.
        outputs: usize,
        /// The number found.
        found: usize,
        /// The number expected.
        wanted: usize,
    },
    /// A layer that does not match the one before it.
    #[error("logic network: layer {layer} does not match the layer before it ({found} bits vs {wanted})")]
    Layers {
        /// Its index; the head comes after all layers.
        layer: usize,
        /// Bits of the layer before.
        found: usize,
        /// Bits that it reads.
        wanted: usize,
    },
    /// Outputs that cannot be divided into equal groups.
    #[error(
        "group sum: outputs cannot be divided equally among the classes: {features} outputs ({features} vs a multiple of {classes} classes)\nhelp: make the last layer a multiple of the classes"
    )]
    Groups {
        /// Outputs of the last layer.
        features: usize,
        /// Classes.
        classes: usize,
    },
    /// Too few classes.
    #[error("classify: too few classes ({} vs at least 2)", farad::run::counted(*.classes, "class"))]
    OneClass {
        /// Classes found.
        classes: usize,
    },
    /// A column of numbers where classes are expected.
    #[error(
        "classify: {target} is a number, not a class: {} ({values} values vs {samples} samples)\nhelp: a circuit tells classes apart: put ranges of the number into the column (e.g. low, middle, high), name another column with --set target=NAME, or learn the number itself with farad train csv",
        farad::run::counted(*.values, "different value")
    )]
    NumericTarget {
        /// The column.
        target: String,
        /// How many different numbers it has.
        values: usize,
        /// In how many samples.
        samples: usize,
    },
    /// A set that is too small to be split.
    #[error("classify: too few samples to train, choose and judge ({samples} vs at least 4)")]
    FewSamples {
        /// Samples found.
        samples: usize,
    },
    /// Gates of another run, which has other wires.
    #[error(
        "train: weights belong to other wires: {} (seed {found} vs {wanted})\nhelp: gates are meaningful only on the wires of their seed; leave --seed out, or name one that the run has", path.display()
    )]
    OtherWires {
        /// The other run.
        path: std::path::PathBuf,
        /// Its seeds.
        found: String,
        /// The seed asked for.
        wanted: String,
    },
    /// A checkpoint does not belong to its run.
    #[error("checkpoint: does not match the run: {what}")]
    Mismatch {
        /// What disagrees.
        what: String,
    },
    /// An error of the engine.
    #[error(transparent)]
    Farad(#[from] farad::Error),
    /// An error of a circuit.
    #[error(transparent)]
    Circuit(#[from] farad_circuit::Error),
    /// A file that could not be written or read.
    #[error("{op}: {path}: {source}")]
    File {
        /// The operation.
        op: &'static str,
        /// With which file.
        path: std::path::PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl From<farad::TrainError> for Error {
    fn from(error: farad::TrainError) -> Error {
        Error::Farad(error.into())
    }
}

/// Converts to the error type that the training loop passes on.
impl From<Error> for farad::Error {
    fn from(error: Error) -> farad::Error {
        match error {
            Error::Farad(error) => error,
            error => farad::Error::Part(Box::new(error)),
        }
    }
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// A result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The same as `Display`, so that `fn main() -> Result<()>` prints the message.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
