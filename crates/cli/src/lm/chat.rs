//! `farad chat`: a line by you, a line by the model.

use std::io::{BufRead, IsTerminal, Write};

use farad_lm::Generator;
use farad_lm::train::Learned;
use serde_json::json;

use super::generate::{needs_space, opened};
use crate::arguments::ChatOptions;
use crate::error::Result;
use crate::look;

/// Answers lines until there are no more.
pub fn run(options: &ChatOptions) -> Result<()> {
    let learned = opened(&options.run, &options.device)?;
    let sampling = options.sampling.sampling();
    let mut generator = Generator::new(&learned.model, sampling)?;
    let asking = std::io::stdin().is_terminal() && !options.output.quiet;
    if asking {
        look::tell("every line is a prompt; /new forgets what was said, /quit ends");
    }
    let mut input = std::io::stdin().lock();
    loop {
        if asking {
            let mut prompt = std::io::stderr();
            // Whoever closed stderr needs no prompt.
            let _ = write!(prompt, "> ").and_then(|()| prompt.flush());
        }
        let mut bytes = vec![];
        if input.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(());
        }
        let Ok(line) = String::from_utf8(bytes) else {
            look::fail("chat: the line is not UTF-8, and is left out");
            continue;
        };
        let line = line.strip_suffix('\n').unwrap_or(&line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        match line.trim() {
            "/quit" => return Ok(()),
            "/new" => {
                generator = Generator::new(&learned.model, sampling)?;
                continue;
            }
            _ => {}
        }
        // What cannot be understood is said, and the next line may be.
        match learned.prompted(line).and_then(|tokens| generator.push(&tokens)) {
            Ok(()) => {
                let space = needs_space(&learned, line);
                let said = answer(&learned, &mut generator, options, space)?;
                if options.output.json {
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "{}", json!({ "prompt": line, "text": said }))?;
                    out.flush()?;
                }
            }
            Err(error) => look::fail(error),
        }
    }
}

/// Goes on with the text until an empty line, and shows it as it is made unless it is wanted as JSON.
fn answer(
    learned: &Learned,
    generator: &mut Generator,
    options: &ChatOptions,
    space: bool,
) -> Result<String> {
    let mut out = std::io::stdout().lock();
    let (mut decoder, mut said) = (learned.tokenizer.decoder(), String::new());
    let mut tell = |text: &str| match options.output.json {
        true => Ok(()),
        false => write!(out, "{}", look::by_a_model(text)).and_then(|()| out.flush()),
    };
    for token in generator.take(options.tokens) {
        let more = decoder.push(token?);
        if space && said.is_empty() && !more.starts_with('\n') {
            tell(" ")?;
        }
        said += &more;
        if said.ends_with("\n\n") {
            break;
        }
        tell(&more)?;
    }
    let rest = decoder.finish();
    tell(&format!("{rest}\n"))?;
    Ok(said + &rest)
}
