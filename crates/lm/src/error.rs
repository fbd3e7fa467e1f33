//! What can go wrong with language models.

/// An error of a model's sizes, its weights, or text made with it.
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
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// A result with this crate's [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;
