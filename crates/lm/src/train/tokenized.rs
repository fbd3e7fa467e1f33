//! A run's text as tokens: made once, kept in the run's folder, found there when the run goes on.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use farad::Device;
use farad::run::Run;

use super::LmSettings;
use super::learned;
use crate::data::{Corpus, SourceText, TokenFile, Tokens};
use crate::error::{Error, Result};
use crate::tokenize::{Tokenizer, TokenizerKind};

const TOKENIZER: &str = "tokens/tokenizer.json";
/// As earlier versions called it.
const FORMER_TOKENIZER: &str = "tokens/tokeniser.json";
const TRAIN: &str = "train";
const VALIDATION: &str = "validation";
const TEST: &str = "test";

/// Text and tokenizer before there is a run: everything that can be wrong with them is found here.
pub struct Tokenized {
    tokenizer: Tokenizer,
    /// Tokens by what they are for.
    parts: Vec<(&'static str, Vec<u32>)>,
}

impl Tokenized {
    /// Reads the text of settings, makes the tokenizer, and fills in the vocabulary. A run that starts from the weights of
    /// another has its tokenizer.
    pub fn new(settings: &mut LmSettings) -> Result<Tokenized> {
        settings.check()?;
        let kind = settings.tokenizer_kind()?;
        let corpus = Corpus::open(Path::new(&settings.data), &kind, settings.validation)?;
        let tokenizer = match settings.course.from.is_empty() {
            true => tokenizer(&kind, &corpus, settings.model.vocabulary)?,
            false => learned::tokenizer_to_start_from(settings)?,
        };
        let (entries, asked) = (tokenizer.size(), settings.model.vocabulary);
        if asked != 0 && asked < entries {
            let why = "the tokenizer has more entries";
            return Err(Error::SmallVocabulary { entries: asked, least: entries, why });
        }
        settings.model.vocabulary = asked.max(entries);
        settings.model.check()?;
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
        Ok(Tokenized { tokenizer, parts })
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
            run.write_file(relative(part), &TokenFile::encoded(tokens, self.tokenizer.size()))?;
        }
        Ok(())
    }
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
        let tokens = |part: &str| -> Result<Tokens> {
            Tokens::new(TokenFile::open(&path(run, part), tokenizer.size())?, device)
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
