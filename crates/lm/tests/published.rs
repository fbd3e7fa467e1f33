//! What is published about known texts: how many tokens they have, how they are split. Skipped, with a word, where the
//! texts are not there.

use std::path::PathBuf;

use farad_lm::data::Corpus;
use farad_lm::{Tokenizer, TokenizerKind};

fn found(name: &str) -> Option<PathBuf> {
    let place = farad::data::find_data(name);
    if place.is_none() {
        eprintln!("skipped: {name} is not in FARAD_DATA");
    }
    place
}

#[test]
fn wikitext_has_the_published_number_of_words() {
    let Some(folder) = found("wikitext-2") else { return };
    let text = |name: &str| std::fs::read(folder.join(name)).expect("reads");
    let (valid, test) = (text("valid.txt"), text("test.txt"));
    let words = Tokenizer::learn(&TokenizerKind::Words, &valid, 0).expect("learns");
    let count = |text: &[u8]| words.encode(text).expect("encodes").len();
    assert_eq!((count(&valid), count(&test)), (217_646, 245_569));
}

#[test]
fn tiny_shakespeare_is_split_as_published() {
    let Some(folder) = found("tinyshakespeare") else { return };
    let corpus = Corpus::open(&folder.join("input.txt"), &TokenizerKind::Characters, 0.1).expect("opens");
    let validation = corpus.validation.expect("a tenth").bytes;
    let all = [&corpus.train.bytes[..], &validation].concat();
    let characters = Tokenizer::learn(&TokenizerKind::Characters, &all, 0).expect("learns");
    assert_eq!((corpus.train.bytes.len(), validation.len(), characters.size()), (1_003_854, 111_540, 65));
}

#[test]
fn byte_pairs_of_a_megabyte_come_within_seconds() {
    let Some(folder) = found("tinyshakespeare") else { return };
    let text = std::fs::read(folder.join("input.txt")).expect("reads");
    let start = std::time::Instant::now();
    let pairs = Tokenizer::learn(&TokenizerKind::BytePairs, &text, 1256).expect("learns");
    let learned = start.elapsed();
    let tokens = pairs.encode(&text).expect("encodes");
    eprintln!(
        "1,000 merges in {learned:?}, {} tokens encoded {:?} later",
        tokens.len(),
        start.elapsed() - learned
    );
    assert_eq!(pairs.size(), 1256);
    assert!(tokens.len() < text.len() / 2, "{}", tokens.len());
    assert_eq!(pairs.decode(&tokens).as_bytes(), text);
    assert!(learned.as_secs() < 30);
}
