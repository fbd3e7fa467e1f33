//! What can go wrong while a site is built.

use std::path::PathBuf;

/// Why there is no site.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the fields are
pub enum SiteError {
    #[error("site: cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("site: cannot write {path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("site: the folder has other files: {folder}\nhelp: name one that is empty or has a former site")]
    Used { folder: PathBuf },
    #[error("site: a link leads nowhere: {link} in {page}")]
    Link { page: String, link: String },
    #[error("site: no title: {page} has no line that starts with `# `")]
    NoTitle { page: String },
    #[error("site: not a manifest: {path}: {why}")]
    Manifest { path: PathBuf, why: String },
    #[error("site: links lead nowhere: {first} (and {} more)", count - 1)]
    Broken { count: usize, first: String },
    #[error("site: {text}\nhelp: farad-site OUT [--api FOLDER] [--live 'NAME|TITLE|SENTENCE|FILE']…")]
    Arguments { text: String },
}
