//! Builds the web site of the documents: `scripts/site` calls it.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use farad_guide::{Chapter, LivePage, Site, SiteError};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (text, code) = match built(&arguments) {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(error) => (format!("{error}\n"), ExitCode::FAILURE),
    };
    // Where nobody reads, there is nobody to tell.
    let _ = match code == ExitCode::SUCCESS {
        true => std::io::stdout().write_all(text.as_bytes()),
        false => std::io::stderr().write_all(text.as_bytes()),
    };
    code
}

/// Builds the site that the arguments describe, and says what it is.
fn built(arguments: &[String]) -> Result<String, SiteError> {
    let mut site = Site { root: Chapter::root(), api: None, live: vec![] };
    let mut out = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value = |rest: &mut std::slice::Iter<'_, String>| {
            rest.next()
                .cloned()
                .ok_or_else(|| SiteError::Arguments { text: format!("{argument} needs a value") })
        };
        match argument.as_str() {
            "--api" => site.api = Some(PathBuf::from(value(&mut rest)?)),
            "--live" => site.live.push(LivePage::read(&value(&mut rest)?)?),
            flag if flag.starts_with('-') => {
                return Err(SiteError::Arguments { text: format!("no such flag: {flag}") });
            }
            folder => out = Some(PathBuf::from(folder)),
        }
    }
    let out = out.ok_or_else(|| SiteError::Arguments { text: "no folder is named".into() })?;
    let pages = site.build(&out)?;
    Ok(format!("{} pages; every link leads somewhere: {}\n", pages.len(), out.join("index.html").display()))
}
