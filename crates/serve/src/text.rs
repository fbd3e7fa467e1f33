//! Texts of a language model: several at a time, a token each in turn.
//!
//! Invariants: a text does not depend on what else is asked at the same time, only on its prompt, its sampling and its seed; and
//! a reader that takes nothing keeps no other waiting.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use farad_lm::tokenize::Decoder;
use farad_lm::train::Learned;
use farad_lm::{Generator, Sampling};
use tokio::sync::mpsc;

use crate::limits::ServeLimits;

/// A text that is wanted.
pub struct TextJob {
    /// What it goes on from.
    pub prompt: String,
    /// Tokens at most.
    pub tokens: usize,
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// Texts that end it; they are not part of it.
    pub stops: Vec<String>,
    /// Where the pieces go.
    pub pieces: mpsc::Sender<TextPiece>,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum TextPiece {
    /// More text.
    Text(String),
    /// The end.
    End(TextEnd),
    /// There is no more, since something failed.
    Failed(String),
}

/// How a text ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEnd {
    /// Whether a text that ends it came up; else it was long enough.
    pub stopped: bool,
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Tokens that were drawn.
    pub drawn: usize,
}

/// A text that is being made.
struct TextInWork<'a> {
    generator: Generator<'a>,
    decoder: Decoder<'a>,
    job: TextJob,
    prompt: usize,
    drawn: usize,
    /// What was made and not sent: it could be the beginning of a text that ends it.
    held: String,
    /// Whether a space comes before the first word.
    space: bool,
    /// Since when nobody takes what is ready.
    stalled: Option<Instant>,
}

/// Texts that nobody takes at the moment, for each one that is made.
const STALLED: usize = 4;
/// How long to wait if nobody takes anything.
const PAUSE: Duration = Duration::from_millis(2);

/// Makes texts until nobody can ask any more.
pub fn work(learned: &Learned, mut jobs: mpsc::Receiver<TextJob>, limits: ServeLimits) {
    let mut texts: VecDeque<TextInWork> = VecDeque::new();
    loop {
        while texts.len() < STALLED * limits.texts && moving(&texts) < limits.texts {
            let job = if texts.is_empty() { jobs.blocking_recv() } else { jobs.try_recv().ok() };
            match job {
                Some(job) => texts.extend(TextInWork::begin(learned, job)),
                None if texts.is_empty() => return,
                None => break,
            }
        }
        let Some(mut text) = texts.pop_front() else { continue };
        if !text.has_room() {
            // A reader that takes nothing for so long is gone, and so is its text.
            if text.stalled_for() < limits.time {
                texts.push_back(text);
            }
            if moving(&texts) == 0 {
                std::thread::sleep(PAUSE);
            }
            continue;
        }
        match catch_unwind(AssertUnwindSafe(|| text.advance())) {
            Ok(Ok(true)) => texts.push_back(text),
            Ok(Ok(false)) => {}
            Ok(Err(why)) => text.send(TextPiece::Failed(why)),
            Err(_) => text.send(TextPiece::Failed("serve: the model panicked".into())),
        }
    }
}

/// How many texts are taken as they are made.
fn moving(texts: &VecDeque<TextInWork>) -> usize {
    texts.iter().filter(|text| text.stalled.is_none()).count()
}

impl<'a> TextInWork<'a> {
    /// Takes a request up; a prompt that cannot be understood is answered at once.
    fn begin(learned: &'a Learned, job: TextJob) -> Option<TextInWork<'a>> {
        let begun = learned.prompted(&job.prompt).and_then(|tokens| {
            let mut generator = Generator::new(&learned.model, job.sampling)?;
            generator.push(&tokens)?;
            Ok((generator, tokens.len()))
        });
        match begun {
            Ok((generator, prompt)) => {
                let space = learned.tokenizer.name() == "words"
                    && job.prompt.ends_with(|last: char| !last.is_whitespace());
                let decoder = learned.tokenizer.decoder();
                Some(TextInWork {
                    generator,
                    decoder,
                    job,
                    prompt,
                    drawn: 0,
                    held: String::new(),
                    space,
                    stalled: None,
                })
            }
            Err(error) => {
                let _ = job.pieces.blocking_send(TextPiece::Failed(error.to_string()));
                None
            }
        }
    }

    /// Whether what a token may give, text and the end, would be taken without waiting.
    fn has_room(&mut self) -> bool {
        let has_room = self.job.pieces.is_closed() || self.job.pieces.capacity() >= 2;
        self.stalled = if has_room { None } else { self.stalled.or_else(|| Some(Instant::now())) };
        has_room
    }

    /// How long nobody has taken anything.
    fn stalled_for(&self) -> Duration {
        self.stalled.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Draws a token; whether there is more to come.
    fn advance(&mut self) -> Result<bool, String> {
        if self.job.pieces.is_closed() {
            return Ok(false);
        }
        let mut more = String::new();
        if self.drawn < self.job.tokens {
            let token = self.generator.next_token().map_err(|error| error.to_string())?;
            self.drawn += 1;
            more = self.decoder.push(token);
        }
        if std::mem::take(&mut self.space) && !more.starts_with('\n') {
            more.insert(0, ' ');
        }
        let last = self.drawn >= self.job.tokens;
        if last {
            more += &self.decoder.finish();
        }
        self.held += &more;
        let stopped = cut(&mut self.held, &self.job.stops);
        let keep = if stopped || last { 0 } else { possible_start(&self.held, &self.job.stops) };
        let rest = self.held.split_off(self.held.len() - keep);
        let ready = std::mem::replace(&mut self.held, rest);
        if !ready.is_empty() {
            self.send(TextPiece::Text(ready));
        }
        if stopped || last {
            self.send(TextPiece::End(TextEnd { stopped, prompt: self.prompt, drawn: self.drawn }));
        }
        Ok(!(stopped || last))
    }

    fn send(&self, piece: TextPiece) {
        // Who has gone needs no answer.
        let _ = self.job.pieces.blocking_send(piece);
    }
}

/// Cuts a text before the first of these; whether there was one.
fn cut(text: &mut String, stops: &[String]) -> bool {
    let first =
        stops.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| text.find(stop.as_str())).min();
    first.map(|at| text.truncate(at)).is_some()
}

/// The bytes at the end of a text that could be the beginning of one of these.
fn possible_start(text: &str, stops: &[String]) -> usize {
    let ends = text.char_indices().map(|(at, _)| &text[at..]);
    let open = |end: &&str| stops.iter().any(|stop| stop.len() > end.len() && stop.starts_with(*end));
    ends.filter(open).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad_lm::tokenize::Tokenizer;
    use farad_lm::train::LmSettings;
    use farad_lm::{ModelOptions, Transformer};

    /// A model that has learned nothing.
    fn fresh() -> Learned {
        let mut settings = LmSettings::new();
        let model =
            ModelOptions { layers: 1, heads: 1, width: 8, context: 8, vocabulary: 256, ..settings.model };
        settings.model = model.clone();
        let model = Transformer::new(&model).unwrap();
        Learned { model, tokenizer: Tokenizer::Bytes, settings, updates: 0, validation_loss: None }
    }

    fn job(tokens: usize, room: usize) -> (TextJob, mpsc::Receiver<TextPiece>) {
        let (pieces, taken) = mpsc::channel(room);
        let sampling = Sampling::default();
        (TextJob { prompt: "a".into(), tokens, sampling, stops: vec![], pieces }, taken)
    }

    #[test]
    fn readers_that_take_nothing_keep_no_other_waiting() {
        let limits = ServeLimits { texts: 2, time: Duration::from_secs(1), ..ServeLimits::default() };
        let (queue, jobs) = mpsc::channel(16);
        let idle: Vec<_> = (0..3)
            .map(|_| {
                let (job, taken) = job(1000, 4);
                assert!(queue.try_send(job).is_ok());
                taken
            })
            .collect();
        let (quick, mut answer) = job(3, 16);
        assert!(queue.try_send(quick).is_ok());
        drop(queue);
        let worker = std::thread::spawn(move || work(&fresh(), jobs, limits));
        let begin = Instant::now();
        while !matches!(answer.blocking_recv().expect("an end"), TextPiece::End(_)) {}
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
        worker.join().unwrap(); // those that nobody reads are given up
        assert!(idle.iter().all(|taken| taken.len() >= 3), "what was ready stays to be taken");
    }

    #[test]
    fn a_stop_is_found_across_pieces() {
        let stops = vec!["\n\n".to_string(), "END".into()];
        assert_eq!(possible_start("text E", &stops), 1);
        assert_eq!(possible_start("text EN", &stops), 2);
        assert_eq!(possible_start("text\n", &stops), 1);
        assert_eq!(possible_start("text", &stops), 0);
        let mut text = "one END two\n\n".to_string();
        assert!(cut(&mut text, &stops));
        assert_eq!(text, "one ");
        let mut text = "nothing".to_string();
        assert!(!cut(&mut text, &stops) && !cut(&mut text, &[String::new()]));
    }
}
