//! Text in files: one file, a folder of files, or a folder with files called train, valid and test.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::tokenize::TokenizerKind;

/// A text and where it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Where it is from.
    pub name: String,
    /// The text.
    pub bytes: Vec<u8>,
}

/// Text to train on, and text to be judged on.
///
/// One file, or all files of a folder in the order of their paths, are cut: the end is for validation. A folder with files
/// called `train`, `valid` and `test` (also `wiki.train.tokens` and so on) is taken as it is split already; without
/// `train`, but with both others, `valid` is trained on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corpus {
    /// What is learned from.
    pub train: SourceText,
    /// What training is watched by; none if the share for it is 0 and no file has it.
    pub validation: Option<SourceText>,
    /// What the end is judged on, if a file has it.
    pub test: Option<SourceText>,
}

/// What a file of a split folder is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileRole {
    Train,
    Validation,
    Test,
}

impl Corpus {
    /// Reads text for a tokenizer. Where no file is for validation, this share of the end of the training text is.
    pub fn open(path: &Path, kind: &TokenizerKind, share: f64) -> Result<Corpus> {
        let files = if path.is_dir() { listed(path)? } else { vec![path.to_path_buf()] };
        let role = |wanted| files.iter().find(|file| role(path, file) == Some(wanted));
        let found = (role(FileRole::Train), role(FileRole::Validation), role(FileRole::Test));
        let one = |file: &PathBuf| read_all(file, std::slice::from_ref(file), kind);
        let corpus = match found {
            (Some(train), validation, test) => Corpus {
                train: one(train)?,
                validation: validation.map(one).transpose()?,
                test: test.map(one).transpose()?,
            },
            (None, Some(validation), Some(test)) => {
                let (from, to) = (validation.display(), test.display());
                tracing::warn!("data: no file to train on: training on {from}, judging on {to}");
                Corpus { train: one(validation)?, validation: None, test: Some(one(test)?) }
            }
            _ => Corpus { train: read_all(path, &files, kind)?, validation: None, test: None },
        };
        Ok(corpus.held_out(*kind == TokenizerKind::Words, share))
    }

    /// What there is to be judged on, if nothing is to be learned: the test text, else the validation text, else all.
    pub fn judged(self) -> SourceText {
        self.test.or(self.validation).unwrap_or(self.train)
    }

    /// Takes the end of the training text for validation if nothing else is there for it.
    fn held_out(mut self, by_line: bool, share: f64) -> Corpus {
        if self.validation.is_some() || share <= 0.0 {
            return self;
        }
        let SourceText { name, bytes } = &mut self.train;
        let mut at = ((1.0 - share) * bytes.len() as f64) as usize;
        let whole = |at: usize| match by_line {
            // Lines have an end in the vocabulary, so none is torn.
            true => bytes[at - 1] == b'\n',
            // The bytes of a character stay together.
            false => bytes[at] & 0xc0 != 0x80,
        };
        while at > 0 && at < bytes.len() && !whole(at) {
            at += 1;
        }
        let end = bytes.split_off(at);
        self.validation = Some(SourceText { name: format!("the end of {name}"), bytes: end });
        self
    }
}

/// What a file in a folder is for, by its name alone.
fn role(folder: &Path, file: &Path) -> Option<FileRole> {
    if file.parent() != Some(folder) {
        return None;
    }
    let name = file.file_name()?.to_string_lossy().to_lowercase();
    let mut parts: Vec<&str> = name.split('.').collect();
    while parts.len() > 1 && ["txt", "text", "tokens", "raw"].contains(parts.last()?) {
        parts.pop();
    }
    if parts.len() > 1 && parts[0] == "wiki" {
        parts.remove(0);
    }
    match parts[..] {
        ["train"] => Some(FileRole::Train),
        ["valid" | "validation" | "val"] => Some(FileRole::Validation),
        ["test"] => Some(FileRole::Test),
        _ => None,
    }
}

/// All files below a folder in the order of their paths; hidden ones are left out.
fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let fail = |path: &Path, source| farad::Error::File { op: "data", path: path.into(), source };
    let (mut files, mut folders) = (vec![], vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|source| fail(&folder, source))? {
            let entry = entry.map_err(|source| fail(&folder, source))?;
            let (path, kind) =
                (entry.path(), entry.file_type().map_err(|source| fail(&entry.path(), source))?);
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            // Links to folders are not followed, so that no circle is.
            if kind.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The files one after another, each ended by a line's end where there are several.
fn read_all(name: &Path, files: &[PathBuf], kind: &TokenizerKind) -> Result<SourceText> {
    let mut bytes = Vec::new();
    for path in files {
        let fail = |source| farad::Error::File { op: "data", path: path.clone(), source };
        let more = std::fs::read(path).map_err(fail)?;
        if kind.needs_text()
            && let Err(error) = std::str::from_utf8(&more)
        {
            return Err(Error::TextEncoding { path: path.clone(), at: error.valid_up_to() });
        }
        bytes.extend(more);
        if files.len() > 1 && bytes.last().is_some_and(|&byte| byte != b'\n') {
            bytes.push(b'\n');
        }
    }
    if bytes.is_empty() {
        return Err(Error::NoText { path: name.into(), files: files.len() });
    }
    Ok(SourceText { name: name.display().to_string(), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[(&str, &[u8])]) -> Folder {
            let path = std::env::temp_dir().join(format!("farad-corpus-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            for (file, bytes) in files {
                let file = path.join(file);
                std::fs::create_dir_all(file.parent().expect("inside")).expect("makes");
                std::fs::write(file, bytes).expect("writes");
            }
            Folder(path)
        }

        fn open(&self, kind: &str, share: f64) -> Result<Corpus> {
            Corpus::open(&self.0, &TokenizerKind::named(kind).expect("known"), share)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn bytes(text: &Option<SourceText>) -> &[u8] {
        text.as_ref().map_or(b"none", |text| &text.bytes)
    }

    #[test]
    fn a_file_is_cut_between_characters_or_lines() {
        let folder = Folder::new("cut", &[("text.txt", "aaaaaaaa\näbc\nd".as_bytes())]);
        let file = folder.0.join("text.txt");
        let corpus = Corpus::open(&file, &TokenizerKind::Characters, 0.4).expect("opens");
        assert_eq!(
            (&corpus.train.bytes[..], bytes(&corpus.validation)),
            ("aaaaaaaa\n".as_bytes(), "äbc\nd".as_bytes())
        );
        let corpus = Corpus::open(&file, &TokenizerKind::Characters, 0.3).expect("opens");
        assert_eq!(bytes(&corpus.validation), b"bc\nd");
        let corpus = Corpus::open(&file, &TokenizerKind::Words, 0.3).expect("opens");
        assert_eq!(bytes(&corpus.validation), b"d");
        assert_eq!(Corpus::open(&file, &TokenizerKind::Bytes, 0.0).expect("opens").validation, None);
    }

    #[test]
    fn folders_are_read_in_order_or_by_their_split() {
        let folder =
            Folder::new("many", &[("b.txt", b"2"), ("a/z.md", b"1\n"), (".hidden", b"no"), ("c", b"3")]);
        let corpus = folder.open("bytes", 0.0).expect("opens");
        assert_eq!(corpus.train.bytes, b"1\n2\n3\n");
        let folder = Folder::new(
            "wiki",
            &[("wiki.test.tokens", b"t"), ("wiki.train.tokens", b"r"), ("wiki.valid.tokens", b"v")],
        );
        let corpus = folder.open("words", 0.1).expect("opens");
        assert_eq!(
            (&corpus.train.bytes[..], bytes(&corpus.validation), bytes(&corpus.test)),
            (&b"r"[..], &b"v"[..], &b"t"[..])
        );
        let folder = Folder::new("part", &[("valid.txt", b"vvvv"), ("test.txt", b"t")]);
        let corpus = folder.open("bytes", 0.25).expect("opens");
        assert_eq!(
            (&corpus.train.bytes[..], bytes(&corpus.validation), bytes(&corpus.test)),
            (&b"vvv"[..], &b"v"[..], &b"t"[..])
        );
    }

    #[test]
    fn what_is_no_text_is_said_with_its_file() {
        let folder = Folder::new("bad", &[("a.txt", b"ok"), ("b.txt", b"ok\xffno")]);
        let text = folder.open("chars", 0.1).unwrap_err().to_string();
        assert!(text.contains("b.txt: byte 2\nhelp: use --tokenizer bytes or bpe"), "{text}");
        assert!(folder.open("bpe", 0.1).is_ok());
        let folder = Folder::new("empty", &[("a.txt", b"")]);
        let text = folder.open("bytes", 0.1).unwrap_err().to_string();
        assert!(text.starts_with("data: no text: ") && text.contains("(0 bytes in 1 file"), "{text}");
        let text = Corpus::open(&folder.0.join("no"), &TokenizerKind::Bytes, 0.1).unwrap_err().to_string();
        assert!(text.starts_with("data: file "), "{text}");
    }
}
