//! Which pages the site has, in the order of its side bar, and where links to documents lead.

use std::path::{Component, Path, PathBuf};

use super::{SiteError, read};

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitePage {
    /// Its Markdown, from the repository's root; empty if it is made of something else.
    pub source: String,
    /// Its file in the site.
    pub output: String,
    /// What the side bar calls it.
    pub label: String,
}

/// Pages that stand together in the side bar.
#[derive(Clone, Debug)]
pub struct SitePart {
    /// What stands above them; empty for the first pages.
    pub title: String,
    /// The pages, in order.
    pub pages: Vec<SitePage>,
}

/// The pages before and after one.
pub(super) type Neighbors<'a> = (Option<&'a SitePage>, Option<&'a SitePage>);

const GUIDE: &str = "docs/guide/src";
/// Parts below the guide: title, and the files or the folder that it has.
const OTHERS: [(&str, &[&str]); 3] = [
    ("Reference", &["docs"]),
    ("Measurements", &["docs/lab"]),
    ("The project", &["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]),
];

/// The pages that are made of Markdown.
///
/// # Errors
/// If a file cannot be read, or a document has no title.
pub fn parts(root: &Path) -> Result<Vec<SitePart>, SiteError> {
    let page = |source: &str, label: &str| SitePage {
        source: source.into(),
        output: output(source),
        label: label.into(),
    };
    let mut parts = vec![SitePart { title: String::new(), pages: vec![page("README.md", "Farad")] }];
    for line in read(&root.join(GUIDE).join("SUMMARY.md"))?.lines() {
        // The first title is that of the whole.
        match line.strip_prefix("# ") {
            Some(_) if parts.len() == 1 && parts[0].pages.len() == 1 => {}
            Some(title) => parts.push(SitePart { title: title.into(), pages: vec![] }),
            None => {
                let link = line
                    .split_once('[')
                    .and_then(|(_, rest)| rest.trim_end().strip_suffix(')')?.split_once("]("));
                if let (Some((label, file)), Some(part)) = (link, parts.last_mut()) {
                    part.pages.push(page(&format!("{GUIDE}/{file}"), label));
                }
            }
        }
    }
    for (title, places) in OTHERS {
        let mut pages = vec![];
        for place in places {
            for source in documents(root, place)? {
                pages.push(page(&source, &title_of(root, &source)?));
            }
        }
        parts.push(SitePart { title: title.into(), pages });
    }
    Ok(parts)
}

/// A document, or those of a folder: `README.md` first, then by name.
fn documents(root: &Path, place: &str) -> Result<Vec<String>, SiteError> {
    let path = root.join(place);
    if !path.is_dir() {
        return Ok(vec![place.into()]);
    }
    let entries = std::fs::read_dir(&path).map_err(|source| SiteError::Read { path, source })?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    names.sort_by_key(|name| (name != "README.md", name.clone()));
    Ok(names.into_iter().map(|name| format!("{place}/{name}")).collect())
}

fn title_of(root: &Path, source: &str) -> Result<String, SiteError> {
    let text = read(&root.join(source))?;
    let title = text.lines().find_map(|line| line.strip_prefix("# "));
    title.map(|title| title.replace('`', "")).ok_or_else(|| SiteError::NoTitle { page: source.into() })
}

/// Where a document lies in the site.
fn output(source: &str) -> String {
    let short = source.strip_prefix(GUIDE).map_or_else(|| source.to_string(), |name| format!("guide{name}"));
    let stem = short.strip_suffix(".md").unwrap_or(&short);
    match stem.strip_suffix("README") {
        Some(folder) => format!("{folder}index.html"),
        None if stem.contains('/') => format!("{stem}.html"),
        None => format!("{}.html", stem.to_lowercase()),
    }
}

/// All pages with those before and after them.
pub(super) fn in_order(parts: &[SitePart]) -> impl Iterator<Item = (&SitePage, Neighbors<'_>)> {
    let all: Vec<&SitePage> = parts.iter().flat_map(|part| &part.pages).collect();
    let near = move |n: usize| (n.checked_sub(1).map(|n| all[n]), all.get(n + 1).copied());
    parts.iter().flat_map(|part| &part.pages).enumerate().map(move |(n, page)| (page, near(n)))
}

/// What a link of a document leads to.
pub(super) enum LinkTarget {
    /// As it is: another site, or a place on the same page.
    Same,
    /// A page or a file of the site, from the page that has the link.
    Site(String),
    /// A file of the repository, which the site must have too: where it lies, and the link.
    Asset(String, String),
}

/// Where a link leads.
pub(super) fn target(
    link: &str,
    page: &SitePage,
    parts: &[SitePart],
    root: &Path,
) -> Result<LinkTarget, SiteError> {
    if link.contains("://") || link.starts_with(['#']) || link.starts_with("mailto:") {
        return Ok(LinkTarget::Same);
    }
    let (file, anchor) =
        link.split_once('#').map_or((link, String::new()), |(file, anchor)| (file, format!("#{anchor}")));
    let path = plain(&Path::new(&page.source).parent().unwrap_or(Path::new("")).join(file));
    // The table of contents is the side bar, so a link to it leads to the first chapter.
    let wanted =
        if path == format!("{GUIDE}/SUMMARY.md") { format!("{GUIDE}/introduction.md") } else { path.clone() };
    if let Some(found) = parts.iter().flat_map(|part| &part.pages).find(|page| page.source == wanted) {
        return Ok(LinkTarget::Site(relative(&page.output, &found.output) + &anchor));
    }
    match root.join(&path).is_file() {
        true => Ok(LinkTarget::Asset(path.clone(), relative(&page.output, &path))),
        false => Err(SiteError::Link { page: page.source.clone(), link: link.into() }),
    }
}

/// A path without `.` and `..`, with `/` between its parts.
fn plain(path: &Path) -> String {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::Normal(name) => whole.push(name),
            _ => {}
        }
    }
    whole.to_string_lossy().replace('\\', "/")
}

/// The way from one file of the site to another.
pub(super) fn relative(from: &str, to: &str) -> String {
    "../".repeat(from.matches('/').count()) + to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_one_place_each() {
        let places = [
            ("README.md", "index.html"),
            ("ARCHITECTURE.md", "architecture.html"),
            ("docs/guide/src/tensors.md", "guide/tensors.html"),
            ("docs/scale.md", "docs/scale.html"),
            ("docs/lab/README.md", "docs/lab/index.html"),
        ];
        for (source, place) in places {
            assert_eq!(output(source), place);
        }
    }

    #[test]
    fn ways_between_pages_are_short() {
        assert_eq!(relative("index.html", "guide/use.html"), "guide/use.html");
        assert_eq!(relative("docs/lab/index.html", "docs/automata/life.svg"), "../../docs/automata/life.svg");
        assert_eq!(plain(Path::new("docs/guide/src/../../coverage.md")), "docs/coverage.md");
    }
}
