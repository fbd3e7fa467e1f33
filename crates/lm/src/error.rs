//! What can go wrong with language models.

use std::path::PathBuf;

/// An error of a model's sizes, its weights, its data, or text made with it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no key of this name.
    #[error("model: there is no key `{key}`{}\nhelp: the keys are {}", did_you_mean(.nearest), .keys.join(", "))]
    UnknownKey {
        /// What was asked for.
        key: String,
        /// The key that looks most like it.
        nearest: Option<String>,
        /// All keys.
        keys: Vec<String>,
    },
    /// Something that should set a key does not.
    #[error("model: `{text}` is not key=value")]
    Assignment {
        /// What was given.
        text: String,
    },
    /// A key has a value that makes no sense.
    #[error("model: {key} takes {wanted}, not `{found}`")]
    Value {
        /// The key.
        key: String,
        /// What it takes.
        wanted: &'static str,
        /// What it was given.
        found: String,
    },
    /// Options that could not be read.
    #[error("model: {place}: {message}")]
    Unreadable {
        /// Where they stand.
        place: String,
        /// What the parser said.
        message: String,
    },
    /// Heads that do not share the width evenly.
    #[error(
        "model: heads do not divide the width: width {width}, heads {heads} ({} left over)\nhelp: width {} or heads {} would fit",
        width % heads, width.next_multiple_of(*heads), (1..=*heads).rev().find(|n| width % n == 0).unwrap_or(1)
    )]
    Heads {
        /// Features of a token.
        width: usize,
        /// Parts of them.
        heads: usize,
    },
    /// Heads that rotary positions cannot turn.
    #[error(
        "model: rotary positions turn columns in pairs: width {width}, heads {heads} ({} columns a head)\nhelp: choose sizes that give each head an even number of columns, or learned positions",
        width / heads
    )]
    OddHeads {
        /// Features of a token.
        width: usize,
        /// Parts of them.
        heads: usize,
    },
    /// Weights that do not say what model they are of.
    #[error("weights: {what}\nhelp: expected GPT-2's names: wte.weight, h.0.attn.c_attn.weight, …")]
    Weights {
        /// What is missing or odd.
        what: String,
    },
    /// Weights whose head is not their table of tokens.
    #[error(
        "weights: lm_head.weight and wte.weight differ, and the model is tied\nhelp: load them with tied = false"
    )]
    Untied,
    /// A way to draw tokens that makes no sense.
    #[error("generate: {key} takes {wanted}, not `{found}`")]
    Sampling {
        /// The key.
        key: String,
        /// What it takes.
        wanted: &'static str,
        /// What it was given.
        found: String,
    },
    /// A token that the model does not have.
    #[error("generate: the model does not know token {token} ({token} vs {vocabulary} tokens)")]
    UnknownToken {
        /// Its number.
        token: u32,
        /// How many there are.
        vocabulary: usize,
    },
    /// Nothing to go on with.
    #[error("generate: there is no token to go on with\nhelp: a prompt has at least one")]
    NoTokens,
    /// More tokens than places are left.
    #[error("generate: no room in the context: {cached} tokens cached, {tokens} more ({} vs {context})", cached + tokens)]
    NoRoom {
        /// How many came.
        tokens: usize,
        /// How many were there.
        cached: usize,
        /// How many there may be.
        context: usize,
    },
    /// A prompt that the model cannot see whole.
    #[error(
        "generate: the prompt is longer than the context: {tokens} tokens ({tokens} vs {context})\nhelp: give it the last {context} at most"
    )]
    PromptTooLong {
        /// How many came.
        tokens: usize,
        /// How many there may be.
        context: usize,
    },
    /// Logits that nothing can be drawn from.
    #[error(
        "generate: the logit of token {token} is not a number\nhelp: the weights are broken, or training diverged"
    )]
    NotANumber {
        /// The first such token.
        token: u32,
    },
    /// The engine.
    #[error(transparent)]
    Farad(#[from] farad::Error),
    /// There is no tokenizer of this name.
    #[error("tokenizer: there is no `{name}`{}\nhelp: use bytes, chars, words, bpe, or the path of a tokenizer.json", did_you_mean(.nearest))]
    UnknownTokenizer {
        /// What was asked for.
        name: String,
        /// The name that looks most like it.
        nearest: Option<String>,
    },
    /// Bytes that a tokenizer of text cannot take.
    #[error(
        "tokenizer: not UTF-8: byte {at}\nhelp: use --tokenizer bytes or bpe, which take any bytes, or convert the text"
    )]
    NotText {
        /// The first byte that is no text.
        at: usize,
    },
    /// A character that was not there when the tokenizer was made.
    #[error(
        "tokenizer: a character that the model does not know: {letter:?} at {place} (1 vs {known} known ones)\nhelp: use characters of the training text only, or train with --tokenizer bytes or bpe"
    )]
    UnknownCharacter {
        /// The character.
        letter: char,
        /// Where it stands, counted in characters.
        place: usize,
        /// How many the tokenizer knows.
        known: usize,
    },
    /// A vocabulary that cannot be as small.
    #[error(
        "tokenizer: vocabulary is too small: {why} ({entries} vs at least {least})\nhelp: --vocabulary {least} or more"
    )]
    SmallVocabulary {
        /// What was asked for.
        entries: usize,
        /// What is needed.
        least: usize,
        /// For what.
        why: &'static str,
    },
    /// A stored vocabulary that is damaged.
    #[error("tokenizer: damaged vocabulary: {what}")]
    Vocabulary {
        /// What is wrong with it.
        what: &'static str,
    },
    /// A `tokenizer.json` that could not be used.
    #[error("tokenizer: tokenizer.json: {message}")]
    ForeignTokenizer {
        /// What the library said.
        message: String,
    },
    /// A `tokenizer.json` where the feature is off.
    #[error(
        "tokenizer: this build reads no tokenizer.json\nhelp: build it with `cargo build --release --features tokenizers`"
    )]
    NoForeignTokenizers,
    /// Files without text.
    #[error("data: no text: {} (0 bytes in {files} {})\nhelp: name a text file, or a folder with some in it", path.display(), if *files == 1 { "file" } else { "files" })]
    NoText {
        /// The file or folder.
        path: PathBuf,
        /// How many files were read.
        files: usize,
    },
    /// A file that is not in UTF-8.
    #[error("data: not UTF-8: {}: byte {at}\nhelp: use --tokenizer bytes or bpe, which take any bytes, or convert the file", path.display())]
    TextEncoding {
        /// The file.
        path: PathBuf,
        /// The first byte that is no text.
        at: usize,
    },
    /// A text without one whole window.
    #[error("data: text is shorter than the context: {name} ({tokens} tokens vs at least {})\nhelp: use more text, or a smaller --context", context + 1)]
    ShortText {
        /// Which text.
        name: String,
        /// How many tokens it has.
        tokens: usize,
        /// Tokens of a window.
        context: usize,
    },
    /// A file of tokens that cannot be used.
    #[error("tokens: {}: {what}\nhelp: remove the file to make it again from the text", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// There is no setting of this name.
    #[error("settings: there is no key `{key}`{}\nhelp: the keys are {}", did_you_mean(.nearest), .keys.join(", "))]
    UnknownSetting {
        /// What was asked for.
        key: String,
        /// The key that looks most like it.
        nearest: Option<String>,
        /// All keys.
        keys: Vec<String>,
    },
    /// Something that should set a key does not.
    #[error("settings: `{text}` is not key=value")]
    SettingAssignment {
        /// What was given.
        text: String,
    },
    /// A setting has a value that makes no sense.
    #[error("settings: {key} takes {wanted}, not `{found}`")]
    Setting {
        /// The key.
        key: String,
        /// What it takes.
        wanted: &'static str,
        /// What it was given.
        found: String,
    },
    /// Settings that could not be read.
    #[error("settings: {place}: {message}")]
    Settings {
        /// Where they stand.
        place: String,
        /// What the parser said.
        message: String,
    },
    /// A checkpoint whose vocabulary is not the run's.
    #[error("checkpoint: another vocabulary: {} ({found} vs {wanted})\nhelp: the file belongs to another run; copy it back to where it came from", path.display())]
    OtherVocabulary {
        /// The file.
        path: PathBuf,
        /// What it has.
        found: String,
        /// What the run has.
        wanted: String,
    },
    /// The loss is infinite or not a number.
    #[error(
        "lm: the loss is not finite: update {update} ({loss})\nhelp: try a smaller learning rate; FARAD_DEBUG=nan names the first op that made a bad value"
    )]
    Diverged {
        /// The update.
        update: u64,
        /// Its loss.
        loss: f32,
    },
    /// A run is asked to end before where it stands.
    #[error(
        "settings: updates: more were made already ({asked} vs {made})\nhelp: ask for more than {made}; the run is whole as it is"
    )]
    UpdatesMade {
        /// Where it should end.
        asked: u64,
        /// Where it stands.
        made: u64,
    },
    /// A run that has not learned anything yet.
    #[error("run: nothing was learned yet: {} has no checkpoint\nhelp: go on with `farad train --resume {}`", path.display(), farad::run::shell_word(path))]
    NothingLearned {
        /// The run.
        path: PathBuf,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// A result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;
