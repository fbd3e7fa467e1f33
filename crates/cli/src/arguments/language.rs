//! What the command line may say about language models.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use farad_lm::hub::HubFolder;
use farad_lm::{Sampling, WeightFormat};

use super::flags::{DeviceFlag, OutputFlags, ProfileFlags, number, whole};
use crate::error::{Error, Result};

pub const GENERATE_EXAMPLES: &str = "\
Examples:
  farad generate runs/lm-1 --prompt \"ROMEO:\"
  farad generate runs/lm-1 --prompt \"The\" --tokens 500 --temperature 0.8 --top-k 40 --seed 7
  farad generate runs/lm-1 --temperature 0         always the most likely token
  farad generate --weights models/gpt2 --prompt \"The river\" --top-p 0.9
  farad generate --weights models/llama --prompt \"One\" --prompt \"Two\" --json      several at once
  farad generate --weights models/llama --store f16 --speed --texts 32                tokens per second

--weights is a folder as Hugging Face's: config.json, model.safetensors or its shards, tokenizer.json. Families: gpt2, llama,
qwen2, mistral. The memory that the model needs is told before it is loaded. Text ends at the model's end token. Several
prompts are continued side by side, and each gets the text that it would get alone.

A prompt may have as many tokens as the model's context. Text may be longer: once the context is full, its older half
is forgotten.

Control characters that a model writes are escaped (\\x1b) in a terminal; a pipe or a file gets them unchanged.

Keys of --json:
  prompt, text, tokens, seconds, tokens_per_second; with --speed: texts, prompt_tokens, prompt_seconds, prompt_tokens_per_second,
  tokens, seconds, tokens_per_second, first";

pub const CHAT_EXAMPLES: &str = "\
Examples:
  farad chat runs/lm-1
  farad chat runs/lm-1 --tokens 80 --temperature 0.7 < lines.txt

  farad chat --weights models/qwen2-instruct --system \"Be brief.\"

Every line is a prompt; the model continues it, and remembers the conversation. With --weights, or a run that began from
such weights, lines are turns of a conversation, written by the model's chat template; old turns are forgotten when the context is full. /new forgets it; /quit or the end of input
ends the chat. Control characters are escaped (\\x1b) in a terminal.

Keys of --json:
  prompt, text";

/// How the next token is chosen.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sampling")]
pub struct SamplingFlags {
    /// Below 1, likely tokens become more likely; 0: always the most likely token
    #[arg(long, value_name = "T", default_value_t = 1.0, allow_negative_numbers = true, value_parser = number(0.0, f32::MAX, "a number from 0 on"))]
    pub temperature: f32,
    /// Only this many of the most likely tokens; 0: all
    #[arg(long, value_name = "K", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, usize::MAX))]
    pub top_k: usize,
    /// Only the most likely tokens with this total probability
    #[arg(long, value_name = "P", default_value_t = 1.0, allow_negative_numbers = true, value_parser = number(f32::MIN_POSITIVE, 1.0, "a number above 0 and up to 1"))]
    pub top_p: f32,
    /// Above 1, tokens that are already in the text become less likely
    #[arg(long, value_name = "X", default_value_t = 1.0, allow_negative_numbers = true, value_parser = number(f32::MIN_POSITIVE, f32::MAX, "a number above 0"))]
    pub repetition_penalty: f32,
    /// The same seed draws the same text
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = whole(0, u64::MAX))]
    pub seed: u64,
}

impl SamplingFlags {
    /// As the library has it.
    pub fn sampling(&self) -> Sampling {
        Sampling {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            repetition_penalty: self.repetition_penalty,
            seed: self.seed,
        }
    }
}

/// A model that others have published.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Published models")]
pub struct WeightsFlags {
    /// A folder as Hugging Face's instead of a run
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub weights: Option<PathBuf>,
    /// A LoRA adapter for these weights, as PEFT saves it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "weights")]
    pub adapter: Option<PathBuf>,
    /// How weights are held in memory: smaller formats make tokens faster and are less exact [default: f32]
    #[arg(long, value_name = "FORMAT", requires = "weights", value_parser = ["f32", "f16", "bf16", "i8"])]
    pub store: Option<String>,
    /// Tokens that the model sees at once [default: as many as it can, up to 4096]
    #[arg(long, value_name = "N", requires = "weights", allow_negative_numbers = true, value_parser = whole(1, 1usize << 24))]
    pub context: Option<usize>,
}

impl WeightsFlags {
    /// Refuses what is said about weights where none are named; clap does not, if a run is named in their place.
    pub fn check(&self, op: &'static str) -> Result<()> {
        let given = [
            (self.adapter.is_some(), "--adapter"),
            (self.store.is_some(), "--store"),
            (self.context.is_some(), "--context"),
        ];
        match given.into_iter().find(|(given, _)| *given && self.weights.is_none()) {
            Some((_, flag)) => Err(Error::Needs { op, flag, other: "--weights" }),
            None => Ok(()),
        }
    }

    /// A folder, with everything that the flags say about it.
    pub fn open(&self, folder: &std::path::Path) -> Result<HubFolder> {
        let format = self.store.as_deref().and_then(WeightFormat::named).unwrap_or_default();
        Ok(HubFolder::open(folder, self.context.unwrap_or(0))?.with_format(format))
    }
}

/// Options of `farad generate`.
#[derive(Debug, Args)]
pub struct GenerateOptions {
    /// The folder of a run of a language model
    #[arg(value_hint = ValueHint::DirPath, required_unless_present = "weights", conflicts_with = "weights")]
    pub run: Option<PathBuf>,
    /// The text to continue; may be repeated [default: a new line]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Vec<String>,
    /// How many tokens to generate
    #[arg(long, value_name = "N", default_value_t = 200, allow_negative_numbers = true, value_parser = whole(0, usize::MAX))]
    pub tokens: usize,
    /// Time the model on prompts of numbers instead of text
    #[arg(long, requires = "weights", conflicts_with = "prompt")]
    pub speed: bool,
    /// How many texts are timed side by side
    #[arg(long, value_name = "N", requires = "speed", default_value_t = 1, allow_negative_numbers = true, value_parser = whole(1, 1usize << 12))]
    pub texts: usize,
    /// Tokens of each prompt that is timed
    #[arg(long, value_name = "N", requires = "speed", default_value_t = 512, allow_negative_numbers = true, value_parser = whole(1, 1usize << 20))]
    pub prompt_tokens: usize,
    #[command(flatten)]
    pub weights: WeightsFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub sampling: SamplingFlags,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub profile: ProfileFlags,
}

/// Options of `farad chat`.
#[derive(Debug, Args)]
pub struct ChatOptions {
    /// The folder of a run of a language model
    #[arg(value_hint = ValueHint::DirPath, required_unless_present = "weights", conflicts_with = "weights")]
    pub run: Option<PathBuf>,
    /// What a model with a chat template is told before the conversation
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub system: Option<String>,
    /// Tokens per answer at most; an empty line ends it earlier
    #[arg(long, value_name = "N", default_value_t = 200, allow_negative_numbers = true, value_parser = whole(0, usize::MAX))]
    pub tokens: usize,
    #[command(flatten)]
    pub weights: WeightsFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub sampling: SamplingFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}
