//! Conversations as the model expects them: the Jinja template that comes with a tokenizer.

use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, context};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::ConfigFile;
use crate::error::{Error, Result};

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// Who speaks: `system`, `user` or `assistant`.
    pub role: String,
    /// What is said.
    pub content: String,
}

impl ChatMessage {
    /// By its two parts.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> ChatMessage {
        ChatMessage { role: role.into(), content: content.into() }
    }
}

/// How a model's conversations are written.
///
/// ```
/// use farad_lm::hub::{ChatMessage, ChatTemplate};
/// let source = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}";
/// let template = ChatTemplate::new(source, "<s>", "</s>")?;
/// let text = template.render(&[ChatMessage::new("user", "Hello")], true)?;
/// assert_eq!(text, "[user] Hello\n[assistant] ");
/// # Ok::<(), farad_lm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatTemplate {
    source: String,
    begin: String,
    end: String,
}

impl ChatTemplate {
    /// From the text of a template, and what begins and ends a text.
    pub fn new(source: &str, begin: &str, end: &str) -> Result<ChatTemplate> {
        let source = without_marks(source);
        environment().template_from_str(&source).map_err(wrong)?;
        Ok(ChatTemplate { source, begin: begin.into(), end: end.into() })
    }

    /// That of a folder, if it has one: `chat_template.jinja`, or a key of `tokenizer_config.json`.
    pub fn of_folder(folder: &Path) -> Result<Option<ChatTemplate>> {
        let path = folder.join("tokenizer_config.json");
        let config = if path.exists() { Some(ConfigFile::read(path)?) } else { None };
        let key = |key: &str| config.as_ref().and_then(|config| config.get(key));
        // A token is a text, or an object with its text.
        let token = |name: &str| {
            let value = key(name).map(|value| value.get("content").unwrap_or(value));
            value.and_then(Value::as_str).unwrap_or_default().to_string()
        };
        let path = folder.join("chat_template.jinja");
        let source = match path.exists() {
            true => {
                let fail = |source| farad::Error::File { op: "template", path: path.clone(), source };
                Some(std::fs::read_to_string(&path).map_err(fail)?)
            }
            false => key("chat_template").and_then(chosen),
        };
        source.map(|source| ChatTemplate::new(&source, &token("bos_token"), &token("eos_token"))).transpose()
    }

    /// A conversation as text; with `answers`, up to where the model answers.
    pub fn render(&self, messages: &[ChatMessage], answers: bool) -> Result<String> {
        let values = context! {
            messages => Serde(messages),
            add_generation_prompt => answers,
            bos_token => self.begin.as_str(),
            eos_token => self.end.as_str(),
        };
        environment().render_str(&self.source, values).map_err(wrong)
    }

    /// A conversation in pieces: each with whether the model is to say it. Together they are the text of
    /// [`ChatTemplate::render`].
    pub fn pieces(&self, messages: &[ChatMessage]) -> Result<Vec<(String, bool)>> {
        let (mut pieces, mut done) = (vec![], String::new());
        let answers = messages.iter().enumerate().filter(|(_, message)| message.role == "assistant");
        for (n, _) in answers {
            let (before, after) = (self.render(&messages[..n], true)?, self.render(&messages[..=n], false)?);
            let asked = before.strip_prefix(&done);
            let said = after.strip_prefix(&before);
            let (Some(asked), Some(said)) = (asked, said) else { return Err(Error::TemplateRewrites) };
            pieces.push((asked.to_string(), false));
            pieces.push((said.to_string(), true));
            done = after;
        }
        Ok(pieces)
    }
}

/// One template, or the one called `default` of several.
fn chosen(value: &Value) -> Option<String> {
    let named =
        |value: &Value| (value.get("name")?.as_str()? == "default").then(|| value.get("template"))?.cloned();
    match value {
        Value::Array(all) => all.iter().find_map(named)?.as_str().map(str::to_string),
        value => value.as_str().map(str::to_string),
    }
}

/// A template without the marks of what a model says (`{% generation %}`): blocks that always count, which give the
/// same text.
fn without_marks(source: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(source.len()), source);
    while let Some(start) = rest.find("{%") {
        let Some(len) = rest[start..].find("%}") else { break };
        let (before, tag) = rest[..start + len].split_at(start);
        text += before;
        match tag[2..].trim_matches(|c: char| c == '-' || c == '+' || c.is_whitespace()) {
            "generation" => text += &tag.replace("generation", "if true"),
            "endgeneration" => text += &tag.replace("endgeneration", "endif"),
            _ => text += tag,
        }
        rest = &rest[start + len..];
    }
    text + rest
}

/// As the transformers library sets Jinja up.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual marks"));
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function(
        "raise_exception",
        |message: String| -> std::result::Result<String, minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
        },
    );
    environment
}

fn wrong(error: minijinja::Error) -> Error {
    Error::Template { message: error.to_string() }
}
