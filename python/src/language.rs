//! Language models as Python objects: those of runs, and those that others have published.
//!
//! Invariant: the same prompt and seed give the text that `farad generate` gives. Start at [`PyLanguageModel`].

use std::path::PathBuf;

use farad::Device;
use farad::run::Run;
use farad::train::TrainError;
use farad_lm::hub::{ChatMessage, ChatTemplate, HubFolder};
use farad_lm::tokenize::Decoder;
use farad_lm::train::{KIND, Learned, PUBLISHED};
use farad_lm::{Sampling, TextBatch, Tokenizer, Transformer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::array::{ArrayArg, PyArray};
use crate::device::{DeviceArg, PyDevice, chosen};
use crate::errors::{Exception, detached, guarded, raised};

/// A language model with its tokenizer.
#[pyclass(name = "LanguageModel", module = "farad.lm", frozen)]
pub struct PyLanguageModel {
    model: Transformer,
    tokenizer: Tokenizer,
    template: Option<ChatTemplate>,
    /// Tokens that end a text.
    ends: Vec<u32>,
    /// Whether texts begin as the tokenizer says.
    whole: bool,
}

/// One text under way.
struct TextUnderWay<'a> {
    decoder: Decoder<'a>,
    text: String,
    drawn: usize,
}

/// How a text goes on.
struct TextOrder {
    tokens: usize,
    sampling: Sampling,
    callback: Option<Py<PyAny>>,
}

#[pymethods]
impl PyLanguageModel {
    /// The model of a run, or of a folder as Hugging Face's.
    #[staticmethod]
    #[pyo3(signature = (folder, device=None, context=0))]
    fn load(
        py: Python<'_>,
        folder: PathBuf,
        device: Option<DeviceArg>,
        context: usize,
    ) -> PyResult<PyLanguageModel> {
        let device = chosen(device);
        detached(py, || match HubFolder::is_one(&folder) {
            true => published(&HubFolder::open(&folder, context)?, &device),
            false => learned(&Run::open(&folder)?, &device),
        })
    }

    /// The tokens of a text.
    fn encode(&self, text: &str) -> PyResult<Vec<u32>> {
        self.tokenizer.encode(text.as_bytes()).map_err(refused)
    }

    /// The text of tokens.
    fn decode(&self, tokens: Vec<u32>) -> String {
        self.tokenizer.decode(&tokens)
    }

    /// What comes next at every place: tokens `[batch, time]` give logits `[batch, time, vocabulary]`.
    fn __call__(&self, tokens: ArrayArg) -> PyResult<PyArray> {
        Ok(guarded(|| self.model.forward(&tokens.0))?.into())
    }

    /// How a text goes on: `tokens` more of them, or fewer if the model ends it. A list of prompts gives a list of texts,
    /// written side by side. `callback(text)` is called with each piece of a single text; if it gives `False`, the text ends.
    #[pyo3(signature = (prompt, tokens=200, temperature=1.0, top_k=0, top_p=1.0, repetition_penalty=1.0, seed=0, callback=None))]
    fn generate<'py>(
        &self,
        py: Python<'py>,
        prompt: &Bound<'py, PyAny>,
        tokens: usize,
        temperature: f32,
        top_k: usize,
        top_p: f32,
        repetition_penalty: f32,
        seed: u64,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let sampling = Sampling { temperature, top_k, top_p, repetition_penalty, seed };
        let order = TextOrder { tokens, sampling, callback };
        if let Ok(one) = prompt.extract::<String>() {
            let texts = self.written(py, &[self.prompted(&one)?], &[one], &order)?;
            return Ok(texts.into_iter().next().unwrap_or_default().into_pyobject(py)?.into_any());
        }
        let several: Vec<String> = prompt
            .extract()
            .map_err(|_| PyTypeError::new_err("generate: a text or a list of texts is wanted"))?;
        let given = several.iter().map(|text| self.prompted(text)).collect::<PyResult<Vec<_>>>()?;
        let texts = self.written(py, &given, &several, &order)?;
        Ok(texts.into_pyobject(py)?.into_any())
    }

    /// What the model answers in a conversation, a list of `{"role": …, "content": …}`, by the template it came with.
    #[pyo3(signature = (messages, tokens=200, temperature=1.0, top_k=0, top_p=1.0, repetition_penalty=1.0, seed=0, callback=None))]
    fn chat(
        &self,
        py: Python<'_>,
        messages: Vec<std::collections::HashMap<String, String>>,
        tokens: usize,
        temperature: f32,
        top_k: usize,
        top_p: f32,
        repetition_penalty: f32,
        seed: u64,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let template = self.template.as_ref().ok_or_else(|| {
            Exception::Farad
                .with("chat: this model came without a template for conversations\nhelp: use generate")
        })?;
        let part = |message: &std::collections::HashMap<String, String>, key: &str| {
            let found = message.get(key).cloned();
            found.ok_or_else(|| PyTypeError::new_err(format!("chat: a message has no `{key}`")))
        };
        let messages = messages
            .iter()
            .map(|message| Ok(ChatMessage::new(part(message, "role")?, part(message, "content")?)))
            .collect::<PyResult<Vec<_>>>()?;
        let text = template.render(&messages, true).map_err(refused)?;
        let given = self.tokenizer.encode(text.as_bytes()).map_err(refused)?;
        let sampling = Sampling { temperature, top_k, top_p, repetition_penalty, seed };
        let texts = self.written(py, &[given], &[text], &TextOrder { tokens, sampling, callback })?;
        Ok(texts.into_iter().next().unwrap_or_default())
    }

    /// How many different tokens there are.
    #[getter]
    fn vocabulary(&self) -> usize {
        self.model.options().vocabulary
    }

    /// How many tokens the model sees at once.
    #[getter]
    fn context(&self) -> usize {
        self.model.options().context
    }

    /// How many numbers it has learned.
    #[getter]
    fn parameter_count(&self) -> usize {
        self.model.parameter_count()
    }

    /// What kind of tokens it knows: bytes, chars, words, bpe or tokenizer.json.
    #[getter]
    fn tokenizer(&self) -> &'static str {
        self.tokenizer.name()
    }

    /// Where it is.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice { device: self.model.device() }
    }

    fn __repr__(&self) -> String {
        let options = self.model.options();
        format!(
            "LanguageModel({} layers, width {}, {} tokens of {}, {} parameters)",
            options.layers,
            options.width,
            options.vocabulary,
            self.tokenizer.name(),
            farad::run::count(self.model.parameter_count())
        )
    }
}

fn refused(error: farad_lm::Error) -> PyErr {
    raised(error.into())
}

/// The model of a run.
fn learned(run: &Run, device: &Device) -> farad::Result<PyLanguageModel> {
    if run.kind() != KIND {
        let (path, found, wanted) = (run.path().into(), run.kind().into(), KIND.into());
        return Err(TrainError::OtherKind { path, found, wanted }.into());
    }
    let Learned { mut model, tokenizer, .. } = Learned::of(run, device)?;
    // One product instead of three for every token.
    model.merge()?;
    let published = run.path().join(PUBLISHED);
    let whole = HubFolder::is_one(&published);
    let (template, ends) = match whole {
        true => (ChatTemplate::of_folder(&published)?, HubFolder::ends_in(&published)?),
        false => (None, vec![]),
    };
    Ok(PyLanguageModel { model, tokenizer, template, ends, whole })
}

/// The model of a folder.
fn published(folder: &HubFolder, device: &Device) -> farad::Result<PyLanguageModel> {
    let tokenizer = folder.tokenizer()?;
    folder.needs(1).check(device)?;
    let model = folder.load(device)?;
    let (template, ends) = (folder.template()?, folder.ends().to_vec());
    Ok(PyLanguageModel { model, tokenizer, template, ends, whole: true })
}

impl PyLanguageModel {
    /// The tokens of a prompt; a prompt without any is the start of a line.
    fn prompted(&self, prompt: &str) -> PyResult<Vec<u32>> {
        let tokens = match self.whole {
            true => self.tokenizer.encode_whole(prompt.as_bytes()),
            false => self.tokenizer.encode_prompt(prompt),
        };
        match tokens.map_err(refused)? {
            tokens if tokens.is_empty() => Ok(self.tokenizer.encode_prompt("\n").unwrap_or_else(|_| vec![0])),
            tokens => Ok(tokens),
        }
    }

    /// Whether what comes after a prompt is a word of its own.
    fn needs_space(&self, prompt: &str) -> bool {
        self.tokenizer.name() == "words" && prompt.ends_with(|last: char| !last.is_whitespace())
    }

    /// How texts go on, side by side.
    fn written(
        &self,
        py: Python<'_>,
        given: &[Vec<u32>],
        prompts: &[String],
        order: &TextOrder,
    ) -> PyResult<Vec<String>> {
        let mut batch =
            guarded(|| TextBatch::new(&self.model, order.sampling, given.len()))?.map_err(refused)?;
        for (n, tokens) in given.iter().enumerate() {
            batch.push(n, tokens).map_err(refused)?;
        }
        let mut texts: Vec<TextUnderWay<'_>> = given
            .iter()
            .map(|_| TextUnderWay { decoder: self.tokenizer.decoder(), text: String::new(), drawn: 0 })
            .collect();
        for _ in 0..order.tokens {
            py.check_signals()?;
            let drawn = detached(py, || Ok(batch.next_tokens()?))?;
            let mut going = drawn.iter().any(Option::is_some);
            for (n, token) in drawn.into_iter().enumerate() {
                match token {
                    Some(token) if self.ends.contains(&token) => batch.end(n),
                    Some(token) => {
                        let more = texts[n].take(token, self.needs_space(&prompts[n]));
                        going &= told(py, order, &more)?;
                    }
                    None => {}
                }
            }
            if !going {
                break;
            }
        }
        for text in &mut texts {
            let rest = text.decoder.finish();
            told(py, order, &rest)?;
            text.text += &rest;
        }
        Ok(texts.into_iter().map(|text| text.text).collect())
    }
}

/// Tells the callback; whether the text goes on.
fn told(py: Python<'_>, order: &TextOrder, piece: &str) -> PyResult<bool> {
    match &order.callback {
        Some(callback) if !piece.is_empty() => {
            let answer = callback.call1(py, (piece,))?;
            Ok(answer.is_none(py) || answer.is_truthy(py)?)
        }
        _ => Ok(true),
    }
}

impl TextUnderWay<'_> {
    /// What a token adds to the text.
    fn take(&mut self, token: u32, needs_space: bool) -> String {
        let mut more = self.decoder.push(token);
        if self.drawn == 0 && needs_space && !more.starts_with('\n') {
            more.insert(0, ' ');
        }
        self.drawn += 1;
        self.text += &more;
        more
    }
}
