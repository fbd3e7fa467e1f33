//! Texts in the form of the OpenAI API: `/v1/chat/completions` and `/v1/completions`, at once or as a stream.
//!
//! What a model does not have is refused or ignored as that API does: `model` may be anything, several answers (`n`) may not.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use farad_lm::Sampling;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::answers::{RequestRefusal, json_text};
use crate::limits::ServeLimits;
use crate::pieces::Pieces;
use crate::text::{TextEnd, TextJob, TextPiece};

/// Tokens of an answer if the request does not say.
const TOKENS: usize = 128;
/// Texts that may end an answer.
const STOPS: usize = 4;
/// Pieces that wait for a slow reader.
const WAITING: usize = 16;

/// Which form a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatForm {
    /// Messages.
    Chat,
    /// A prompt.
    Prompt,
}

/// A request, of either form. Other fields are ignored.
#[derive(Debug, Default)]
struct ChatRequest {
    messages: Option<Vec<String>>,
    prompt: Option<String>,
    max_tokens: Option<usize>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    seed: Option<u64>,
    stop: Option<Vec<String>>,
    n: Option<u64>,
    stream: bool,
}

/// Characters of a value that a message shows.
const SHOWN: usize = 60;

impl ChatRequest {
    fn read(body: &[u8]) -> Result<ChatRequest, RequestRefusal> {
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| RequestRefusal::wrong(format!("serve: the body is not JSON: {error}")))?;
        let Value::Object(asked) = value else {
            return Err(RequestRefusal::wrong(
                "serve: the body is no object\nhelp: such as {\"prompt\": \"Once\"}",
            ));
        };
        let count = |value: &Value| value.as_u64();
        let tokens = |value: &Value| value.as_u64().and_then(|count| count.try_into().ok());
        let number = |value: &Value| value.as_f64().map(|number| number as f32);
        let most = match asked.contains_key("max_tokens") {
            true => "max_tokens",
            false => "max_completion_tokens",
        };
        Ok(ChatRequest {
            messages: field(&asked, "messages", "a list of objects with role and content", messages)?,
            prompt: field(&asked, "prompt", "a text", prompt)?,
            max_tokens: field(&asked, most, "a whole number from 1 on", tokens)?,
            temperature: field(&asked, "temperature", "a number from 0 on", number)?,
            top_p: field(&asked, "top_p", "a number above 0 and up to 1", number)?,
            seed: field(&asked, "seed", "a whole number from 0 on", count)?,
            stop: field(&asked, "stop", "a text or a list of texts", texts)?,
            n: field(&asked, "n", "1", count)?,
            stream: field(&asked, "stream", "true or false", Value::as_bool)?.unwrap_or(false),
        })
    }
}

/// A field, if it is there; `wanted` says what it is.
fn field<T>(
    asked: &Map<String, Value>,
    name: &str,
    wanted: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Option<T>, RequestRefusal> {
    let Some(value) = asked.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let wrong = || {
        let text = value.to_string();
        let shown: String = text.chars().take(SHOWN).collect();
        let more = if shown.len() < text.len() { "…" } else { "" };
        RequestRefusal::wrong(format!("serve: `{name}` is {wanted}, not {shown}{more}"))
    };
    read(value).map(Some).ok_or_else(wrong)
}

/// The contents of messages: a text, parts of one, or nothing.
fn messages(value: &Value) -> Option<Vec<String>> {
    let content = |message: &Value| match message.as_object()?.get("content")? {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.iter().map(|part| part["text"].as_str()).collect(),
        _ => None,
    };
    value.as_array()?.iter().map(content).collect()
}

/// One prompt, alone or in a list.
fn prompt(value: &Value) -> Option<String> {
    match value.as_array().map(Vec::as_slice) {
        Some([one]) => one.as_str().map(Into::into),
        Some(_) => None,
        None => value.as_str().map(Into::into),
    }
}

/// A text or several.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(all) => all.iter().map(|text| text.as_str().map(Into::into)).collect(),
        _ => None,
    }
}

/// A request that was understood: a text to make, where its pieces come from, and how it is answered.
pub struct ChatOrder {
    /// For the model's queue.
    pub job: TextJob,
    pieces: mpsc::Receiver<TextPiece>,
    stream: bool,
    head: AnswerHead,
}

/// What all answers begin with.
#[derive(Clone, Debug)]
struct AnswerHead {
    form: ChatForm,
    model: String,
    number: u64,
    created: u64,
}

impl ChatOrder {
    /// Reads a request.
    pub fn of(
        form: ChatForm,
        body: &[u8],
        model: &str,
        number: u64,
        limits: ServeLimits,
    ) -> Result<ChatOrder, RequestRefusal> {
        let asked = ChatRequest::read(body)?;
        let prompt = match (form, asked.messages, asked.prompt) {
            (ChatForm::Chat, Some(messages), _) if !messages.is_empty() => messages.join("\n"),
            (ChatForm::Chat, ..) => {
                return Err(RequestRefusal::wrong("serve: the request has no `messages`"));
            }
            (ChatForm::Prompt, _, Some(prompt)) => prompt,
            (ChatForm::Prompt, ..) => {
                return Err(RequestRefusal::wrong("serve: the request has no `prompt`"));
            }
        };
        if asked.n.is_some_and(|n| n != 1) {
            return Err(RequestRefusal::wrong("serve: one answer per request is made, `n` must be 1"));
        }
        let tokens = asked.max_tokens.unwrap_or(TOKENS);
        if !(1..=limits.tokens).contains(&tokens) {
            return Err(RequestRefusal::wrong(format!(
                "serve: max_tokens is {tokens} vs 1 to {}",
                limits.tokens
            )));
        }
        let stops = asked.stop.unwrap_or_default();
        if stops.len() > STOPS {
            return Err(RequestRefusal::wrong(format!(
                "serve: {} texts in `stop` vs {STOPS} at most",
                stops.len()
            )));
        }
        let usual = Sampling::default();
        let sampling = Sampling {
            temperature: asked.temperature.unwrap_or(usual.temperature),
            top_p: asked.top_p.unwrap_or(usual.top_p),
            seed: asked.seed.unwrap_or(number),
            ..usual
        };
        sampling.check().map_err(|error| RequestRefusal::wrong(error.to_string()))?;
        let (sender, pieces) = mpsc::channel(WAITING);
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let head = AnswerHead { form, model: model.into(), number, created };
        let job = TextJob { prompt, tokens, sampling, stops, pieces: sender };
        Ok(ChatOrder { job, pieces, stream: asked.stream, head })
    }

    /// What becomes of it once the job is in the queue.
    pub fn answer(self) -> (TextJob, ChatAnswer) {
        (self.job, ChatAnswer { pieces: self.pieces, stream: self.stream, head: self.head })
    }
}

/// An answer to come.
pub struct ChatAnswer {
    pieces: mpsc::Receiver<TextPiece>,
    stream: bool,
    head: AnswerHead,
}

impl ChatAnswer {
    /// Whether it comes piece by piece.
    pub fn is_stream(&self) -> bool {
        self.stream
    }

    /// The whole text.
    pub async fn whole(mut self) -> Result<Response, RequestRefusal> {
        let mut text = String::new();
        loop {
            match self.pieces.recv().await {
                Some(TextPiece::Text(more)) => text += &more,
                Some(TextPiece::End(end)) => return Ok(json_text(&self.head.whole(&text, &end))),
                Some(TextPiece::Failed(why)) => return Err(RequestRefusal::wrong(why)),
                None => return Err(RequestRefusal::busy("serve: the server is ending")),
            }
        }
    }

    /// A stream of events, as the text is made.
    pub fn streamed(self) -> Response {
        let head = self.head;
        let event = |value: Value| Event::default().data(value.to_string());
        let make = move |piece: TextPiece| match piece {
            TextPiece::Text(text) => vec![event(head.part(Some(&text), None))],
            TextPiece::End(end) => vec![event(head.part(None, Some(&end))), Event::default().data("[DONE]")],
            TextPiece::Failed(why) => vec![event(RequestRefusal::wrong(why).object())],
        };
        Sse::new(Pieces::new(self.pieces, make)).keep_alive(KeepAlive::default()).into_response()
    }
}

impl AnswerHead {
    fn object(&self, kind: [&str; 2], choice: Value) -> Value {
        let (prefix, kind) = match self.form {
            ChatForm::Chat => ("chatcmpl", kind[0]),
            ChatForm::Prompt => ("cmpl", kind[1]),
        };
        json!({
            "id": format!("{prefix}-{}", self.number), "object": kind, "created": self.created, "model": self.model,
            "choices": [choice],
        })
    }

    fn whole(&self, text: &str, end: &TextEnd) -> Value {
        let reason = reason(end);
        let choice = match self.form {
            ChatForm::Chat => json!({
                "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": reason,
            }),
            ChatForm::Prompt => json!({ "index": 0, "text": text, "finish_reason": reason }),
        };
        let mut object = self.object(["chat.completion", "text_completion"], choice);
        object["usage"] = json!({
            "prompt_tokens": end.prompt, "completion_tokens": end.drawn, "total_tokens": end.prompt + end.drawn,
        });
        object
    }

    fn part(&self, text: Option<&str>, end: Option<&TextEnd>) -> Value {
        let reason = end.map(reason);
        let choice = match self.form {
            ChatForm::Chat => {
                let delta = text.map_or(json!({}), |text| json!({ "role": "assistant", "content": text }));
                json!({ "index": 0, "delta": delta, "finish_reason": reason })
            }
            ChatForm::Prompt => {
                json!({ "index": 0, "text": text.unwrap_or_default(), "finish_reason": reason })
            }
        };
        self.object(["chat.completion.chunk", "text_completion"], choice)
    }
}

fn reason(end: &TextEnd) -> &'static str {
    if end.stopped { "stop" } else { "length" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(form: ChatForm, body: &str) -> Result<TextJob, String> {
        let order = ChatOrder::of(form, body.as_bytes(), "m", 7, ServeLimits::default());
        order
            .map(|order| order.job)
            .map_err(|refusal| refusal.object()["error"]["message"].as_str().unwrap().to_string())
    }

    #[test]
    fn requests_of_both_forms_are_read() {
        let chat = r#"{"model": "x", "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}],
            "max_tokens": 5, "temperature": 0, "stop": "\n", "seed": 3, "stream": true, "user": "ignored"}"#;
        let job = read(ChatForm::Chat, chat).unwrap();
        assert_eq!(
            (job.prompt.as_str(), job.tokens, job.stops.as_slice()),
            ("a\nb", 5, &["\n".to_string()][..])
        );
        assert_eq!((job.sampling.temperature, job.sampling.seed), (0.0, 3));
        let parts = r#"{"messages": [{"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"content": null}]}"#;
        assert_eq!(read(ChatForm::Chat, parts).unwrap().prompt, "ab\n");
        let job = read(ChatForm::Prompt, r#"{"prompt": ["once"], "stop": ["a", "b"]}"#).unwrap();
        assert_eq!((job.prompt.as_str(), job.tokens, job.sampling.seed), ("once", TOKENS, 7));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (form, body, wanted) in [
            (ChatForm::Chat, "", "the body is not JSON: "),
            (ChatForm::Chat, "[]", "the body is no object"),
            (
                ChatForm::Chat,
                r#"{"messages": "hi"}"#,
                "`messages` is a list of objects with role and content, not \"hi\"",
            ),
            (ChatForm::Chat, r#"{"messages": [{"role": "user"}]}"#, "`messages` is a list of objects"),
            (ChatForm::Prompt, r#"{"prompt": ["a", "b"]}"#, "`prompt` is a text, not [\"a\",\"b\"]"),
            (
                ChatForm::Prompt,
                r#"{"prompt": "x", "max_tokens": -1}"#,
                "`max_tokens` is a whole number from 1 on, not -1",
            ),
            (
                ChatForm::Prompt,
                r#"{"prompt": "x", "max_completion_tokens": "ten"}"#,
                "`max_completion_tokens` is",
            ),
            (ChatForm::Prompt, r#"{"prompt": "x", "stop": 5}"#, "`stop` is a text or a list of texts, not 5"),
            (ChatForm::Prompt, r#"{"prompt": "x", "stream": "yes"}"#, "`stream` is true or false"),
            (ChatForm::Chat, r#"{"prompt": "x"}"#, "no `messages`"),
            (ChatForm::Chat, r#"{"messages": []}"#, "no `messages`"),
            (ChatForm::Prompt, r#"{"messages": []}"#, "no `prompt`"),
            (ChatForm::Prompt, r#"{"prompt": "x", "n": 2}"#, "`n` must be 1"),
            (ChatForm::Prompt, r#"{"prompt": "x", "max_tokens": 0}"#, "max_tokens is 0 vs 1 to 4096"),
            (ChatForm::Prompt, r#"{"prompt": "x", "max_tokens": 99999}"#, "max_tokens is 99999"),
            (ChatForm::Prompt, r#"{"prompt": "x", "temperature": -1}"#, "temperature"),
            (ChatForm::Prompt, r#"{"prompt": "x", "stop": ["a","b","c","d","e"]}"#, "5 texts in `stop` vs 4"),
        ] {
            let text = read(form, body).err().unwrap_or_default();
            assert!(text.contains(wanted), "{body}: {text}");
        }
    }
}
