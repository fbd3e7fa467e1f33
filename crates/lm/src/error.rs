//! What can go wrong with language models.

use std::path::PathBuf;

/// An error of a model's sizes, its weights, its data, or text made with it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A size that makes no model.
    #[error("model: {key} takes {wanted}, not `{found}`")]
    Value {
        /// The key.
        key: String,
        /// What it takes.
        wanted: &'static str,
        /// What it was given.
        found: String,
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
        "model: rotary positions turn columns in pairs: width {width}, heads {heads} ({} columns per head)\nhelp: choose sizes that give each head an even number of columns, or learned positions",
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
    /// Weights to start from whose tokens mean something else.
    #[error("train: the tokenizer is that of the run to start from: {} ({found} vs {wanted})\nhelp: leave --tokenizer out, or --from", path.display())]
    OtherTokenizer {
        /// The run to start from.
        path: PathBuf,
        /// What it has.
        found: String,
        /// What was asked for.
        wanted: String,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// A result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What a kind of training reports: this crate's errors are parts of farad's.
impl From<Error> for farad::Error {
    fn from(error: Error) -> farad::Error {
        match error {
            Error::Farad(error) => error,
            error => farad::Error::Part(Box::new(error)),
        }
    }
}

/// The same as `Display`, so that `fn main() -> Result<()>` prints the message.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
