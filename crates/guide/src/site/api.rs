//! What rustdoc wrote, and a page that lists its crates.

use std::path::Path;

use super::{SiteError, copy, escaped, read};

/// What stands where rustdoc's pages have their root, which it leaves empty.
pub(super) const FIRST: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Farad: crates</title>\n\
    <meta http-equiv=\"refresh\" content=\"0; url=../api.html\">\n<p><a href=\"../api.html\">All crates</a></p>\n";

/// Copies a folder with all that is in it.
pub(super) fn copy_all(from: &Path, to: &Path) -> Result<(), SiteError> {
    let entries = std::fs::read_dir(from).map_err(|source| SiteError::Read { path: from.into(), source })?;
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let hidden = name.to_string_lossy().starts_with('.');
        match path.is_dir() {
            _ if hidden => {}
            true => copy_all(&path, &to.join(name))?,
            false => copy(&path, &to.join(name))?,
        }
    }
    Ok(())
}

/// A table of the crates that rustdoc wrote about, the facade first.
pub(super) fn html(root: &Path, folder: &Path) -> Result<String, SiteError> {
    let crates = root.join("crates");
    let entries = std::fs::read_dir(&crates).map_err(|source| SiteError::Read { path: crates, source })?;
    let mut found = vec![];
    for manifest in entries.flatten().map(|entry| entry.path().join("Cargo.toml")) {
        let (name, about) = name_and_about(&manifest)?;
        let place = name.replace('-', "_");
        if folder.join(&place).join("index.html").is_file() {
            found.push((name != "farad", name, place, about));
        }
    }
    found.sort();
    let row = |(_, name, place, about): &(bool, String, String, String)| {
        format!(
            "<tr><td><a href=\"api/{place}/index.html\"><code>{name}</code></a></td><td>{}</td></tr>\n",
            escaped(about)
        )
    };
    let rows: String = found.iter().map(row).collect();
    Ok(format!(
        "<h1>Crates and their items</h1>\n<p>Programs start with <code>farad</code>, which passes on the crates below it. Every public \
         item is documented; the field at the top of those pages finds it by name.</p>\n\
         <div class=\"wide\"><table><thead><tr><th>crate</th><th>what it is</th></tr></thead>\n<tbody>{rows}</tbody></table></div>\n"
    ))
}

fn name_and_about(manifest: &Path) -> Result<(String, String), SiteError> {
    let wrong = |why: String| SiteError::Manifest { path: manifest.into(), why };
    let table: toml::Table =
        read(manifest)?.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
    let field = |name: &str| {
        let value = table.get("package").and_then(|package| package.get(name)?.as_str());
        value.map(str::to_string).ok_or_else(|| wrong(format!("no {name}")))
    };
    Ok((field("name")?, field("description")?))
}
