//! Learns to write a rhyme character by character with a GRU.
//!
//!     cargo run --release --example char_lm -p farad [device] [text file, or short]
//!
//! Without a file it learns a few lines that it brings along; with `short`, for a shorter time and less well.

use farad::optim::Clip;
use farad::prelude::*;

/// The text that is learned if no file is given.
const RHYME: &str = "a gate is a choice and a choice is a gate,\nthe early ones open, the late ones wait;\n\
    a wire is a promise, a cell is a door,\nand what was forgotten is learned once more.\n";
/// Characters that the network sees at once, and sequences per step.
const LENGTH: usize = 24;
const BATCH: usize = 32;
/// Units of the GRU, and the step size of AdamW.
const UNITS: usize = 64;
const RATE: f32 = 1e-2;

#[derive(Module)]
struct Writer {
    letters: Embedding,
    gru: Gru,
    last: Linear,
}

impl Writer {
    /// Scores of the next character at every place: `[time, batch] -> [time · batch, characters]`.
    fn forward(&self, characters: &Tensor) -> Tensor {
        let (y, _) = self.gru.forward(&self.letters.forward(characters));
        self.last.forward(&y.reshape([y.shape()[0] * y.shape()[1], UNITS]))
    }
}

fn main() -> farad::Result<()> {
    let mut words = std::env::args().skip(1);
    let device = Device::named(&words.next().unwrap_or("best".into()))?;
    let source = words.next();
    // Steps, and the mean loss in nats a character that a working network reaches on the rhyme; guessing has 3.2.
    let (steps, threshold) = if source.as_deref() == Some("short") { (50, 1.8) } else { (100, 0.6) };
    let own =
        source.filter(|path| path != "short").map(|path| std::fs::read_to_string(path).expect("a text file"));
    let text: Vec<char> = own.as_deref().unwrap_or(RHYME).chars().collect();
    let mut alphabet = text.clone();
    alphabet.sort();
    alphabet.dedup();
    let code = |c: &char| alphabet.binary_search(c).expect("a character of the text") as i32;
    let codes: Vec<i32> = text.iter().map(code).collect();

    farad::seed(1);
    let (letters, gru) = (Embedding::new(alphabet.len(), UNITS), Gru::new(UNITS, UNITS));
    let model = Writer { letters, gru, last: Linear::new(UNITS, alphabet.len()) }.to_device(&device);
    let mut adam = AdamW::new(model.parameters()).learning_rate(RATE).clip(Clip::Norm(1.0));
    let mut mean = 0.0;
    for step in 0..steps {
        // Sequences start anywhere; a step ahead of each character is the one to guess.
        let start = |row: usize| (step * 7919 + row * 104_729) % (codes.len() - LENGTH - 1);
        let slice = |shift: usize| -> Vec<i32> {
            (0..LENGTH * BATCH).map(|n| codes[start(n % BATCH) + n / BATCH + shift]).collect()
        };
        let seen = Tensor::from_vec(slice(0), [LENGTH, BATCH], &device);
        let next = Tensor::from_vec(slice(1), [LENGTH * BATCH], &device);
        let loss = model.forward(&seen).cross_entropy(&next);
        adam.step(&loss)?;
        if (step + 1) % 50 == 0 {
            mean = loss.item()?;
            println!("step {:4}  loss {mean:.4}", step + 1);
        }
    }

    // What it writes, most likely character first.
    let mut written: Vec<i32> = codes[..LENGTH].to_vec();
    for _ in 0..60 {
        let seen = written[written.len() - LENGTH..].to_vec();
        let scores = model.forward(&Tensor::from_vec(seen, [LENGTH, 1], &device));
        written.push(scores.argmax(-1).to_vec::<i32>()?[LENGTH - 1]);
    }
    let letters: String = written.iter().map(|&code| alphabet[code as usize]).collect();
    println!("on {device}: loss {mean:.4}, wrote\n{letters}");
    assert!(mean < threshold || own.is_some(), "it did not learn: {mean} is not below {threshold}");
    Ok(())
}
