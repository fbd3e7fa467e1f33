//! What the command line may say about language models.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use farad_lm::Sampling;

use super::flags::{DeviceFlag, OutputFlags, ProfileFlags, number, whole};

pub const GENERATE_EXAMPLES: &str = "\
Examples:
  farad generate runs/lm-1 --prompt \"ROMEO:\"
  farad generate runs/lm-1 --prompt \"The\" --tokens 500 --temperature 0.8 --top-k 40 --seed 7
  farad generate runs/lm-1 --temperature 0         always the most likely token

A prompt may have as many tokens as the model's context. Text may be longer: once the context is full, its older half
is forgotten.

Control characters that a model writes are escaped (\\x1b) in a terminal; a pipe or a file gets them unchanged.

Keys of --json:
  prompt, text, tokens, seconds, tokens_per_second";

pub const CHAT_EXAMPLES: &str = "\
Examples:
  farad chat runs/lm-1
  farad chat runs/lm-1 --tokens 80 --temperature 0.7 < lines.txt

Every line is a prompt; the model continues it, and remembers the conversation. /new forgets it; /quit or the end of input
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

/// Options of `farad generate`.
#[derive(Debug, Args)]
pub struct GenerateOptions {
    /// The folder of a run of a language model
    #[arg(value_hint = ValueHint::DirPath)]
    pub run: PathBuf,
    /// The text to continue [default: a new line]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// How many tokens to generate
    #[arg(long, value_name = "N", default_value_t = 200, allow_negative_numbers = true, value_parser = whole(0, usize::MAX))]
    pub tokens: usize,
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
    #[arg(value_hint = ValueHint::DirPath)]
    pub run: PathBuf,
    /// Tokens per answer at most; an empty line ends it earlier
    #[arg(long, value_name = "N", default_value_t = 200, allow_negative_numbers = true, value_parser = whole(0, usize::MAX))]
    pub tokens: usize,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub sampling: SamplingFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}
