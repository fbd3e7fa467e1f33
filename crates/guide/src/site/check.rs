//! Whether every link of a site leads to a file and a place in it, and nothing is loaded from elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{SiteError, read};

/// What a page links to, and what can be linked to in it.
#[derive(Default)]
struct Links {
    /// Attribute and value.
    to: Vec<(String, String)>,
    ids: BTreeSet<String>,
}

/// Links that lead nowhere, as `page: link`. What rustdoc wrote, in `api/`, may link to lines of sources, which have no
/// names before its script runs. It also repeats words of other people's crates, whose links are names of items where
/// they have no page; for our own words rustdoc says so itself. And it asks for lists of implementations where there are none.
///
/// # Errors
/// If a page cannot be read.
pub fn check(out: &Path) -> Result<Vec<String>, SiteError> {
    let mut pages = BTreeMap::new();
    collect(out, out, &mut pages)?;
    let mut broken = vec![];
    for (page, links) in &pages {
        for (attribute, link) in &links.to {
            let is_far = link.contains("://") || link.starts_with("//");
            let is_loaded = attribute == "src";
            let is_fine = match is_far {
                true => !is_loaded,
                false => leads(out, page, link, &pages),
            };
            if !is_fine {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    Ok(broken)
}

fn collect(out: &Path, folder: &Path, pages: &mut BTreeMap<String, Links>) -> Result<(), SiteError> {
    let wrong = |source| SiteError::Read { path: folder.into(), source };
    for entry in std::fs::read_dir(folder).map_err(wrong)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(out, &path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "html") {
            let name = path.strip_prefix(out).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            pages.insert(name, links(&read(&path)?));
        }
    }
    Ok(())
}

fn leads(out: &Path, page: &str, link: &str, pages: &BTreeMap<String, Links>) -> bool {
    if ["data:", "mailto:", "javascript:", "about:"].iter().any(|scheme| link.starts_with(scheme)) {
        return true;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let file = decoded(file.split('?').next().unwrap_or_default());
    let is_item = !file.is_empty() && Path::new(&file).extension().is_none();
    if page.starts_with("api/") && (is_item || file.contains("trait.impl/")) {
        return true;
    }
    let target = match file.is_empty() {
        true => page.to_string(),
        false => joined(page, &file),
    };
    let Some(found) = pages.get(&target) else {
        return out.join(&target).is_file() && anchor.is_empty();
    };
    let by_script = target.starts_with("api/src/") || anchor.starts_with('?');
    anchor.is_empty() || by_script || found.ids.contains(anchor) || found.ids.contains(&decoded(anchor))
}

/// A link from a page, as a path in the site.
fn joined(page: &str, link: &str) -> String {
    let mut whole: Vec<&str> = page.split('/').collect();
    whole.pop();
    for part in link.split('/') {
        match part {
            ".." => {
                whole.pop();
            }
            "." | "" => {}
            part => whole.push(part),
        }
    }
    let path: PathBuf = whole.iter().collect();
    path.to_string_lossy().replace('\\', "/")
}

/// `%20` and its like as what they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = vec![];
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The links and names of a page. What scripts and styles say is no markup.
fn links(html: &str) -> Links {
    let mut links = Links::default();
    let mut rest = html;
    while let Some((_, tag)) = rest.split_once('<') {
        if let Some(comment) = tag.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        rest = attributes(tag, &mut links);
        for (name, end) in [("script", "</script>"), ("style", "</style>")] {
            if tag.starts_with(name) {
                rest = rest.split_once(end).map_or("", |(_, after)| after);
            }
        }
    }
    links
}

/// Reads the attributes of a tag and returns what is behind it.
fn attributes<'a>(tag: &'a str, links: &mut Links) -> &'a str {
    let mut rest =
        tag.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '/' || c == '!' || c == '-');
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        if rest.is_empty() || rest.starts_with('>') {
            return rest.get(1..).unwrap_or_default();
        }
        let end = rest.find(|c: char| c.is_whitespace() || "=>".contains(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end.max(1).min(rest.len()));
        rest = after;
        let Some(after) = rest.strip_prefix('=') else { continue };
        let quote = after.chars().next().filter(|c| "\"'".contains(*c));
        let (value, after) = match quote {
            Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
            None => {
                after.split_at(after.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(after.len()))
            }
        };
        rest = after;
        let value = value
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&amp;", "&");
        match name {
            "id" | "name" => drop(links.ids.insert(value)),
            "href" | "src" => links.to.push((name.into(), value)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("farad-site-check-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        for (name, text) in files {
            super::super::write(&folder, name, text).unwrap();
        }
        folder
    }

    #[test]
    fn what_leads_nowhere_is_found() {
        let page = "<a href=\"b/c.html#there\">1</a><a href='b/c.html#gone'>2</a><a href=d.html>3</a><img src=\"p q.png\" alt=\"a > b\">\
            <img src=https://x.org/y.png><a href=\"https://x.org\">4</a><script>'<a href=\"no.html\">'</script><!-- <a href=\"no\"> -->\
            <p id=own><a href=\"#own\">5</a><a href=\"p%20q.png\">6</a>";
        let folder = folder(
            "links",
            &[
                ("a.html", page),
                ("b/c.html", "<h1 id=\"there\"><a href=\"../a.html?x#own\">"),
                ("p q.png", ""),
            ],
        );
        let found = check(&folder).unwrap();
        assert_eq!(found, ["a.html: b/c.html#gone", "a.html: d.html", "a.html: https://x.org/y.png"]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
