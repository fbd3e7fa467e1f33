//! Pages in which something moves: what `farad export --format html` and some trainings write.
//!
//! Such a page stands in a frame of the site's page, and alone. It is one file that needs nothing else.

use std::path::PathBuf;

use super::pages::{SitePage, SitePart};
use super::{SiteError, escaped};

/// A page in which something moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePage {
    /// What its files are called.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What can be seen, and done.
    pub sentence: String,
    /// The page.
    pub file: PathBuf,
}

impl LivePage {
    /// `NAME|TITLE|SENTENCE|FILE`.
    ///
    /// # Errors
    /// If it is not that.
    pub fn read(text: &str) -> Result<LivePage, SiteError> {
        let fields: Vec<&str> = text.splitn(4, '|').collect();
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        };
        match fields[..] {
            [name, title, sentence, file] if is_name(name) => Ok(LivePage {
                name: name.into(),
                title: title.into(),
                sentence: sentence.into(),
                file: file.into(),
            }),
            _ => Err(SiteError::Arguments { text: format!("not a live page: {text}") }),
        }
    }

    pub(super) fn output(&self) -> String {
        format!("live/{}.html", self.name)
    }

    /// Where the page itself lies.
    pub(super) fn frame_output(&self) -> String {
        format!("live/{}/index.html", self.name)
    }

    /// What the site's page says and shows.
    pub(super) fn html(&self) -> String {
        let (title, sentence, name) = (escaped(&self.title), escaped(&self.sentence), &self.name);
        format!(
            "<h1>{title}</h1>\n<p>{sentence} <a href=\"{name}/index.html\">Open it alone</a>.</p>\n\
             <iframe class=\"live\" title=\"{title}\" src=\"{name}/index.html\"></iframe>\n"
        )
    }
}

/// The part of the side bar that lists them.
pub(super) fn part(live: &[LivePage]) -> SitePart {
    let page = |live: &LivePage| SitePage {
        source: String::new(),
        output: live.output(),
        label: live.title.clone(),
    };
    SitePart { title: "Live".into(), pages: live.iter().map(page).collect() }
}
