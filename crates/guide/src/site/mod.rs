//! The documents as a web site: one folder of plain files, with search, pictures and live pages, that opens from a disk and from any web
//! server.
//!
//! Invariant: a site that was built has no link that leads nowhere, and asks no other machine for anything. Start at [`Site::build`].

mod api;
mod check;
mod error;
mod frame;
mod highlight;
mod live;
mod markdown;
mod pages;
mod search;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use check::check;
pub use error::SiteError;
pub use live::LivePage;
pub use pages::{SitePage, SitePart, parts};

use frame::Frame;
use markdown::Rendered;

/// What every page loads, by its name below `site/`.
const FILES: [(&str, &str); 2] =
    [("site.css", include_str!("web/site.css")), ("site.js", include_str!("web/site.js"))];
/// The mark of Farad, which the dashboard has too.
const ICON: &str = "crates/dashboard/src/page/icon.svg";

/// What a site is made of.
#[derive(Clone, Debug)]
pub struct Site {
    /// The repository.
    pub root: PathBuf,
    /// The folder that `cargo doc` wrote, if the site is to have it.
    pub api: Option<PathBuf>,
    /// Pages in which something moves.
    pub live: Vec<LivePage>,
}

impl Site {
    /// Writes the site into a folder, which a former site may be in, and says which pages it has, as paths in the folder.
    ///
    /// # Errors
    /// If a file cannot be read or written, or a link leads nowhere.
    pub fn build(&self, out: &Path) -> Result<Vec<String>, SiteError> {
        self.clear(out)?;
        let parts = self.parts()?;
        let frame = Frame { parts: &parts, live: &self.live, has_api: self.api.is_some() };
        let mut assets = BTreeSet::new();
        let mut index = search::Index::default();
        for (page, near) in pages::in_order(&parts) {
            let text = match page.source.as_str() {
                "" => continue, // made below, not from Markdown
                source => read(&self.root.join(source))?,
            };
            let rendered = markdown::rendered(&text, page, &parts, &self.root)?;
            assets.extend(rendered.assets.iter().cloned());
            index.add(page, &rendered);
            write(out, &page.output, &frame.page(page, near, &rendered))?;
        }
        self.write_made_pages(out, &frame)?;
        for asset in assets {
            copy(&self.root.join(&asset), &out.join(&asset))?;
        }
        for (name, text) in FILES {
            write(out, &format!("site/{name}"), text)?;
        }
        copy(&self.root.join(ICON), &out.join("site/icon.svg"))?;
        write(out, "site/search.js", &index.script())?;
        let broken = check(out)?;
        match broken.first() {
            Some(first) => Err(SiteError::Broken { count: broken.len(), first: first.clone() }),
            None => Ok(pages::in_order(&parts).map(|(page, _)| page.output.clone()).collect()),
        }
    }

    /// All pages, those without Markdown too.
    fn parts(&self) -> Result<Vec<SitePart>, SiteError> {
        let mut parts = parts(&self.root)?;
        if !self.live.is_empty() {
            parts.insert(1, live::part(&self.live));
        }
        if self.api.is_some() {
            let page = SitePage {
                source: String::new(),
                output: "api.html".into(),
                label: "Crates and their items".into(),
            };
            parts.push(SitePart { title: "Rust API".into(), pages: vec![page] });
        }
        Ok(parts)
    }

    fn write_made_pages(&self, out: &Path, frame: &Frame) -> Result<(), SiteError> {
        let made = |page: &SitePage, near, html: String| {
            let rendered = Rendered { title: page.label.clone(), html, ..Rendered::default() };
            write(out, &page.output, &frame.page(page, near, &rendered))
        };
        for (page, near) in pages::in_order(frame.parts) {
            if let Some(live) = self.live.iter().find(|live| live.output() == page.output) {
                copy(&live.file, &out.join(live.frame_output()))?;
                made(page, near, live.html())?;
            }
            if let (Some(folder), "api.html") = (&self.api, page.output.as_str()) {
                api::copy_all(folder, &out.join("api"))?;
                write(out, "api/index.html", api::FIRST)?;
                made(page, near, api::html(&self.root, folder)?)?;
            }
        }
        Ok(())
    }

    /// Empties a folder that a former site is in; another one must be empty or absent.
    fn clear(&self, out: &Path) -> Result<(), SiteError> {
        let is_used = std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
        if is_used && !out.join("site/site.css").is_file() {
            return Err(SiteError::Used { folder: out.into() });
        }
        if is_used {
            std::fs::remove_dir_all(out).map_err(|source| SiteError::Write { path: out.into(), source })?;
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<String, SiteError> {
    std::fs::read_to_string(path).map_err(|source| SiteError::Read { path: path.into(), source })
}

fn write(out: &Path, name: &str, text: &str) -> Result<(), SiteError> {
    let path = out.join(name);
    let folder = path.parent().unwrap_or(out);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    written.map_err(|source| SiteError::Write { path, source })
}

fn copy(from: &Path, to: &Path) -> Result<(), SiteError> {
    let bytes = std::fs::read(from).map_err(|source| SiteError::Read { path: from.into(), source })?;
    let folder = to.parent().unwrap_or(to);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(to, bytes));
    written.map_err(|source| SiteError::Write { path: to.into(), source })
}

/// Text in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
