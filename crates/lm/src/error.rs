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
    /// Adapters of weights that nobody has trained.
    #[error(
        "train: there are no weights that adapters could adapt\nhelp: name them with --from, or leave --lora out"
    )]
    NothingToAdapt,
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
    /// Heads of queries that cannot share those of keys evenly.
    #[error(
        "model: heads of keys do not divide those of queries: heads {heads}, key_heads {key_heads} ({} left over)\nhelp: key_heads {} would fit",
        heads % key_heads, (1..=*key_heads).rev().find(|n| heads % n == 0).unwrap_or(1)
    )]
    KeyHeads {
        /// Heads of queries.
        heads: usize,
        /// Heads of keys and values.
        key_heads: usize,
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
    /// A folder without a model.
    #[error("weights: there is no config.json in {}\nhelp: name a folder as Hugging Face's: config.json, model.safetensors, tokenizer.json", path.display())]
    NoHubFolder {
        /// The folder.
        path: PathBuf,
    },
    /// More tokens at once than a published model is made for.
    #[error("weights: the model sees fewer tokens at once ({asked} vs {most})\nhelp: give {most} at most")]
    LongContext {
        /// What was asked for.
        asked: usize,
        /// The most that it takes.
        most: usize,
    },
    /// A `config.json`, or an index of weights, that cannot be used.
    #[error("weights: {}: {what}\nhelp: fetch the file again, or use a model of a known family", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A folder without weights that can be read.
    #[error("weights: there is no model.safetensors in {}\nhelp: {}", path.display(), if *pickled { "its weights are Python objects (.bin, .pt), which are not read; save them with save_pretrained(safe_serialization=True)" } else { "fetch model.safetensors, or all shards with model.safetensors.index.json" })]
    NoWeights {
        /// The folder.
        path: PathBuf,
        /// Whether there are weights as Python objects.
        pickled: bool,
    },
    /// A file of weights that is damaged.
    #[error("weights: {}: cut or damaged: {what}\nhelp: fetch the file again", path.display())]
    DamagedShard {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Weights that are not those that `config.json` asks for.
    #[error("weights: {}: {what}\nhelp: config.json and the weights are of different models; fetch both again", path.display())]
    HubWeights {
        /// The folder.
        path: PathBuf,
        /// What is wrong with them.
        what: String,
    },
    /// Weights with tensors that the family does not have.
    #[error(
        "weights: tensors that a model of family {family} does not have: {first} ({count} in all)\nhelp: the model is of another kind than config.json says, or has parts that are not supported"
    )]
    ForeignTensors {
        /// The first of them.
        first: String,
        /// How many there are.
        count: usize,
        /// The family.
        family: String,
    },
    /// A folder without a tokenizer.
    #[error("tokenizer: there is no tokenizer.json in {}\nhelp: fetch it; older folders have vocab.json or tokenizer.model only: load and save them once with the transformers library", path.display())]
    NoHubTokenizer {
        /// The folder.
        path: PathBuf,
    },
    /// A tokenizer that is not the model's.
    #[error("tokenizer: it has more tokens than the model: {} ({tokens} vs {vocabulary})\nhelp: tokenizer.json is of another model; fetch the model's own", path.display())]
    OtherHubTokenizer {
        /// The folder.
        path: PathBuf,
        /// Tokens of the tokenizer.
        tokens: usize,
        /// Tokens of the model.
        vocabulary: usize,
    },
    /// A model that a device cannot hold.
    #[error(
        "weights: too large for the device: {device}: weights {weights}, cache {cache} ({needed} vs {has})\nhelp: take --store bf16 or i8, a smaller --context, fewer prompts at once, or another device"
    )]
    TooLargeToLoad {
        /// The device.
        device: String,
        /// Bytes of the weights.
        weights: String,
        /// Bytes of the cache.
        cache: String,
        /// All of it.
        needed: String,
        /// What there is.
        has: String,
    },
    /// An adapter that cannot be used.
    #[error("adapter: {}: {what}\nhelp: it must be a LoRA adapter of this model, as PEFT saves it", path.display())]
    Adapter {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A product that the model does not have.
    #[error("adapter: there is no product `{target}` in the model\nhelp: there are {known}")]
    NoLoraTarget {
        /// What was asked for.
        target: String,
        /// What there is.
        known: String,
    },
    /// A template that cannot be used.
    #[error("template: {message}")]
    Template {
        /// What is wrong.
        message: String,
    },
    /// A template whose text before an answer depends on the answer.
    #[error(
        "template: an answer changes the text before it\nhelp: this chat template cannot mark answers; train on text instead"
    )]
    TemplateRewrites,
    /// A conversation with a model that has no template.
    #[error("template: the model has no chat template: {}\nhelp: it is no chat model; use `farad generate`", path.display())]
    NoTemplate {
        /// The folder.
        path: PathBuf,
    },
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
    /// A line of a file of conversations that cannot be used.
    #[error("data: {}: line {line}: {what}\nhelp: each line is {{\"messages\": [{{\"role\": \"user\", \"content\": \"…\"}}, {{\"role\": \"assistant\", \"content\": \"…\"}}]}}", path.display())]
    Conversation {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// Conversations for a model that has no template.
    #[error("data: conversations need a chat template: {}\nhelp: start from a chat model with --from DIR, or train on text", path.display())]
    NeedsTemplate {
        /// The file of conversations.
        path: PathBuf,
    },
    /// Sizes that are not those of the weights to start from.
    #[error("train: the sizes of the model are those of its weights: {}\nhelp: with --from, leave out --layers, --heads, --width, --vocabulary and settings of the model; --context and dropout may change", path.display())]
    OtherSizes {
        /// The folder of the weights.
        path: PathBuf,
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
