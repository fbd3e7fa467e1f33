//! A run's text as tokens: made once, kept in the run's folder, found there when the run goes on.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use farad::Device;
use farad::run::Run;

use super::LmSettings;
use super::learned;
use crate::data::{
    Corpus, SourceText, TokenFile, Tokens, is_conversations, marked_tokens, read_conversations,
};
use crate::error::{Error, Result};
use crate::hub::{ChatTemplate, HubFolder};
use crate::tokenize::{Tokenizer, TokenizerKind};

const TOKENIZER: &str = "tokens/tokenizer.json";
/// As earlier versions called it.
const FORMER_TOKENIZER: &str = "tokens/tokeniser.json";
/// Where a run keeps the files of the published model that it began with, except its weights.
pub const PUBLISHED: &str = "published";

const TRAIN: &str = "train";
const VALIDATION: &str = "validation";
const TEST: &str = "test";

/// Text and tokenizer before there is a run: everything that can be wrong with them is found here.
pub struct Tokenized {
    tokenizer: Tokenizer,
    /// Only marked tokens count.
    marked: bool,
    /// Tokens by what they are for.
    parts: Vec<(&'static str, Vec<u32>)>,
}

impl Tokenized {
    /// Reads the text of settings, makes the tokenizer, and fills in the vocabulary. A run that starts from the weights of
    /// another has its tokenizer.
    pub fn new(settings: &mut LmSettings) -> Result<Tokenized> {
        settings.check()?;
        let kind = settings.tokenizer_kind()?;
        if is_conversations(Path::new(&settings.data)) {
            return Tokenized::conversations(settings, &kind);
        }
        let corpus = Corpus::open(Path::new(&settings.data), &kind, settings.validation)?;
        let tokenizer = match settings.course.from.is_empty() {
            true => tokenizer(&kind, &corpus, settings.model.vocabulary)?,
            false => learned::tokenizer_to_start_from(settings)?,
        };
        fill_vocabulary(settings, &tokenizer)?;
        let Corpus { train, validation, test } = corpus;
        let mut parts = vec![];
        for (part, text) in [(TRAIN, Some(train)), (VALIDATION, validation), (TEST, test)] {
            let Some(SourceText { name, bytes }) = text else { continue };
            let tokens = tokenizer.encode(&bytes)?;
            let context = if part == TRAIN { settings.model.context } else { 1 };
            if tokens.len() <= context {
                return Err(Error::ShortText { name, tokens: tokens.len(), context });
            }
            parts.push((part, tokens));
        }
        // What is trained on is written last: once its file is there, all are.
        parts.reverse();
        Ok(Tokenized { tokenizer, marked: false, parts })
    }

    /// The same for conversations: answers count, and the last share is for validation.
    fn conversations(settings: &mut LmSettings, kind: &TokenizerKind) -> Result<Tokenized> {
        let path = Path::new(&settings.data);
        let mut train = read_conversations(path)?;
        let template = match published(settings) {
            Some(folder) => ChatTemplate::of_folder(&folder)?,
            None => None,
        };
        let template = template.ok_or_else(|| Error::NeedsTemplate { path: path.into() })?;
        let tokenizer = match settings.course.from.is_empty() {
            true => Tokenizer::learn(kind, b"", 0)?,
            false => learned::tokenizer_to_start_from(settings)?,
        };
        let held = ((train.len() as f64 * settings.validation).round() as usize).min(train.len() - 1);
        let validation = train.split_off(train.len() - held);
        let mut parts = vec![];
        for (part, conversations) in [(VALIDATION, validation), (TRAIN, train)] {
            if conversations.is_empty() {
                continue;
            }
            let tokens = marked_tokens(&conversations, &tokenizer, &template)?;
            let context = if part == TRAIN { settings.model.context } else { 1 };
            if tokens.len() <= context {
                return Err(Error::ShortText { name: settings.data.clone(), tokens: tokens.len(), context });
            }
            parts.push((part, tokens));
        }
        fill_vocabulary(settings, &tokenizer)?;
        Ok(Tokenized { tokenizer, marked: true, parts })
    }

    /// Tokens to train on.
    pub fn train_tokens(&self) -> usize {
        self.parts.iter().find(|(part, _)| *part == TRAIN).map_or(0, |(_, tokens)| tokens.len())
    }

    /// What the text is, in a line: how many tokens, and a checksum.
    pub fn fingerprint(&self) -> String {
        let mut sum = DefaultHasher::new();
        self.parts.hash(&mut sum);
        format!("{} tokens with checksum {:016x}", self.train_tokens(), sum.finish())
    }

    /// Writes everything into a run.
    pub fn write(&self, run: &Run) -> Result<()> {
        let text = serde_json::to_string(&self.tokenizer).expect("vocabularies are JSON");
        run.write_file(TOKENIZER, text.as_bytes())?;
        for (part, tokens) in &self.parts {
            run.write_file(
                relative(part),
                &TokenFile::encoded(tokens, entries(&self.tokenizer, self.marked)),
            )?;
        }
        Ok(())
    }
}

/// Different numbers in a file of tokens.
fn entries(tokenizer: &Tokenizer, marked: bool) -> usize {
    tokenizer.size() * if marked { 2 } else { 1 }
}

/// The vocabulary is at least that of the tokenizer.
fn fill_vocabulary(settings: &mut LmSettings, tokenizer: &Tokenizer) -> Result<()> {
    let (entries, asked) = (tokenizer.size(), settings.model.vocabulary);
    if asked != 0 && asked < entries {
        let why = "the tokenizer has more entries";
        return Err(Error::SmallVocabulary { entries: asked, least: entries, why });
    }
    settings.model.vocabulary = asked.max(entries);
    settings.model.check()
}

/// The files of the published model that training starts from, or that the run that it starts from began with.
pub(super) fn published(settings: &LmSettings) -> Option<PathBuf> {
    let folder = match settings.weights.is_empty() {
        false => PathBuf::from(&settings.weights),
        true => Path::new(&settings.course.from).join(PUBLISHED),
    };
    HubFolder::is_one(&folder).then_some(folder)
}

/// A text that a user names, as tokens: a file or a folder of text, or conversations in JSON lines.
pub fn text_of(
    path: &Path,
    tokenizer: &Tokenizer,
    template: Option<&ChatTemplate>,
    device: &Device,
) -> Result<Tokens> {
    if is_conversations(path) {
        let template = template.ok_or_else(|| Error::NeedsTemplate { path: path.into() })?;
        let tokens = marked_tokens(&read_conversations(path)?, tokenizer, template)?;
        let file = TokenFile::in_memory(&tokens, entries(tokenizer, true));
        return Tokens::marked(file, tokenizer.size(), device);
    }
    // A name that ends in .json is a path; only its kind matters here.
    let kind = TokenizerKind::named(tokenizer.name())?;
    let text = Corpus::open(path, &kind, 0.0)?.judged();
    let tokens = tokenizer.encode_whole(&text.bytes)?;
    Tokens::new(TokenFile::in_memory(&tokens, tokenizer.size()), device)
}

/// Characters are those of all text, as none can be learned that was not seen; what else is learned is learned from the
/// training text.
fn tokenizer(kind: &TokenizerKind, corpus: &Corpus, vocabulary: usize) -> Result<Tokenizer> {
    if *kind != TokenizerKind::Characters {
        return Tokenizer::learn(kind, &corpus.train.bytes, vocabulary);
    }
    let others = [&corpus.validation, &corpus.test].into_iter().flatten();
    let all: Vec<&[u8]> = std::iter::once(&corpus.train).chain(others).map(|text| &text.bytes[..]).collect();
    Tokenizer::learn(kind, &all.concat(), 0)
}

/// The tokens of a run, on its device.
pub struct TokenParts {
    /// What they mean.
    pub tokenizer: Tokenizer,
    /// What is learned from.
    pub train: Tokens,
    /// What training is watched by.
    pub validation: Option<Tokens>,
    /// What the end is judged on.
    pub test: Option<Tokens>,
}

impl TokenParts {
    /// Whether a run has its tokens; not if the process was stopped while it made them.
    pub fn exist(run: &Run) -> bool {
        path(run, TRAIN).exists()
    }

    /// Opens the tokens in a run's folder.
    pub fn open(run: &Run, device: &Device) -> Result<TokenParts> {
        let tokenizer = read_tokenizer(run)?;
        let data = run.config().get("data").and_then(|data| data.as_str()).unwrap_or_default();
        let marked = is_conversations(Path::new(data));
        let tokens = |part: &str| -> Result<Tokens> {
            let file = TokenFile::open(&path(run, part), entries(&tokenizer, marked))?;
            if marked { Tokens::marked(file, tokenizer.size(), device) } else { Tokens::new(file, device) }
        };
        let there = |part: &str| path(run, part).exists().then(|| tokens(part)).transpose();
        let (train, validation, test) = (tokens(TRAIN)?, there(VALIDATION)?, there(TEST)?);
        Ok(TokenParts { tokenizer, train, validation, test })
    }

    /// What the end is judged on, and its name: the test text, else the validation text, else what was trained on.
    pub fn judged(&self) -> (&Tokens, &'static str) {
        match (&self.test, &self.validation) {
            (Some(tokens), _) => (tokens, TEST),
            (None, Some(tokens)) => (tokens, VALIDATION),
            (None, None) => (&self.train, "training"),
        }
    }
}

fn read_tokenizer(run: &Run) -> Result<Tokenizer> {
    let mut path = run.path().join(TOKENIZER);
    if !path.exists() && run.path().join(FORMER_TOKENIZER).exists() {
        path = run.path().join(FORMER_TOKENIZER);
    }
    let fail = |source| farad::Error::File { op: "tokenizer", path: path.clone(), source };
    let text = std::fs::read_to_string(&path).map_err(fail)?;
    serde_json::from_str(&text)
        .map_err(|error| Error::TokenFile { path: path.clone(), what: error.to_string() })
}

fn relative(part: &str) -> PathBuf {
    format!("tokens/{part}.tokens").into()
}

fn path(run: &Run, part: &str) -> PathBuf {
    run.path().join(relative(part))
}
