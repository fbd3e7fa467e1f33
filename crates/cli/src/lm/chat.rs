//! `farad chat`: a line by you, a line by the model.

use std::io::{BufRead, IsTerminal, Write};

use farad_lm::Generator;
use farad_lm::train::Learned;

use super::generate::{needs_space, opened, prompted};
use crate::arguments::ChatOptions;
use crate::error::Result;

/// Answers lines until there are no more.
pub fn run(options: &ChatOptions) -> Result<()> {
    let learned = opened(&options.run, options.sampling.device.as_deref())?;
    let sampling = options.sampling.sampling();
    let mut generator = Generator::new(&learned.model, sampling)?;
    let terminal = std::io::stdin().is_terminal();
    let mut lines = std::io::stdin().lock().lines();
    loop {
        if terminal {
            eprint!("> ");
            std::io::stderr().flush()?;
        }
        let Some(line) = lines.next() else { return Ok(()) };
        let line = line?;
        match line.trim() {
            "/quit" => return Ok(()),
            "/new" => {
                generator = Generator::new(&learned.model, sampling)?;
                continue;
            }
            _ => {}
        }
        // What cannot be understood is said, and the next line may be.
        match prompted(&learned, &line).and_then(|tokens| Ok(generator.push(&tokens)?)) {
            Ok(()) => answer(&learned, &mut generator, options.tokens, needs_space(&learned, &line))?,
            Err(error) => eprintln!("error: {error}"),
        }
    }
}

/// Goes on with the text until an empty line.
fn answer(learned: &Learned, generator: &mut Generator, most: usize, space: bool) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let (mut decoder, mut said) = (learned.tokeniser.decoder(), String::new());
    for token in generator.take(most) {
        let more = decoder.push(token?);
        if space && said.is_empty() && !more.starts_with('\n') {
            write!(out, " ")?;
        }
        said += &more;
        if said.ends_with("\n\n") {
            break;
        }
        write!(out, "{more}")?;
        out.flush()?;
    }
    writeln!(out, "{}", decoder.finish())?;
    Ok(out.flush()?)
}
