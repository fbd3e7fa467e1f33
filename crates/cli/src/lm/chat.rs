//! `farad chat`: a line by you, a line by the model.

use std::io::{BufRead, IsTerminal, Write};

use farad_lm::Generator;
use farad_lm::hub::{ChatMessage, ChatTemplate};
use serde_json::json;

use super::speaker::Speaker;
use crate::arguments::ChatOptions;
use crate::error::{Error, Result};
use crate::look;

/// Answers lines until there are no more.
pub fn run(options: &ChatOptions) -> Result<()> {
    crate::ranks::one_process("chat")?;
    let talk = options.output.talk();
    options.weights.check("chat")?;
    let speaker = Speaker::open(options.run.as_deref(), &options.weights, &options.device, (1, talk))?;
    let mut conversation = Conversation::new(&speaker, options)?;
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
                conversation = Conversation::new(&speaker, options)?;
                continue;
            }
            _ => {}
        }
        // What cannot be understood is said, and the next line may be.
        match conversation.ask(line) {
            Ok(()) => {
                let said = conversation.answer(line)?;
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

/// A conversation so far.
struct Conversation<'a> {
    speaker: &'a Speaker,
    options: &'a ChatOptions,
    generator: Generator<'a>,
    /// Turns, for models that have a template.
    messages: Vec<ChatMessage>,
}

impl<'a> Conversation<'a> {
    fn new(speaker: &'a Speaker, options: &'a ChatOptions) -> Result<Conversation<'a>> {
        if options.system.is_some() && speaker.template.is_none() {
            return Err(Error::NoSystem);
        }
        let generator = Generator::new(&speaker.model, options.sampling.sampling())?;
        let messages = options.system.iter().map(|text| ChatMessage::new("system", text)).collect();
        Ok(Conversation { speaker, options, generator, messages })
    }

    /// Takes in a line; nothing has changed if that fails.
    fn ask(&mut self, line: &str) -> Result<()> {
        match &self.speaker.template {
            None => Ok(self.generator.push(&self.speaker.prompted(line)?)?),
            Some(template) => {
                let before = self.messages.clone();
                self.messages.push(ChatMessage::new("user", line));
                let asked = self.turn(template);
                if asked.is_err() {
                    self.messages = before;
                }
                asked
            }
        }
    }

    /// Gives the model the conversation up to its turn. Old turns are forgotten until there is room for an answer.
    fn turn(&mut self, template: &ChatTemplate) -> Result<()> {
        let context = self.speaker.model.options().context;
        let room = self.options.tokens.min(context / 2);
        loop {
            let text = template.render(&self.messages, true)?;
            let tokens = self.speaker.tokenizer.encode(text.as_bytes())?;
            let first = usize::from(self.messages.first().is_some_and(|message| message.role == "system"));
            if tokens.len() + room > context && self.messages.len() > first + 2 {
                self.messages.drain(first..first + 2);
                continue;
            }
            // What the model has seen already stays as it is.
            if let Some(new) = tokens.strip_prefix(self.generator.text()).filter(|new| !new.is_empty()) {
                return Ok(self.generator.push(new)?);
            }
            let mut generator = Generator::new(&self.speaker.model, self.options.sampling.sampling())?;
            generator.push(&tokens)?;
            self.generator = generator;
            return Ok(());
        }
    }

    /// Goes on with the text until it ends, and shows it as it is made unless it is wanted as JSON. Without a template it
    /// ends at an empty line.
    fn answer(&mut self, line: &str) -> Result<String> {
        let Conversation { speaker, options, generator, .. } = self;
        let turns = speaker.template.is_some();
        let space = speaker.needs_space(line);
        let mut out = std::io::stdout().lock();
        let (mut decoder, mut said) = (speaker.tokenizer.decoder(), String::new());
        let mut tell = |text: &str| match options.output.json {
            true => Ok(()),
            false => write!(out, "{}", look::by_a_model(text)).and_then(|()| out.flush()),
        };
        for token in generator.take(options.tokens) {
            let token = token?;
            if speaker.ends(token) {
                break;
            }
            let more = decoder.push(token);
            if space && said.is_empty() && !more.starts_with('\n') {
                tell(" ")?;
            }
            said += &more;
            if !turns && said.ends_with("\n\n") {
                break;
            }
            tell(&more)?;
        }
        let rest = decoder.finish();
        tell(&format!("{rest}\n"))?;
        said += &rest;
        if turns {
            self.messages.push(ChatMessage::new("assistant", &said));
        }
        Ok(said)
    }
}
