//! The web site of the documents in a browser: every page opens without an error in the console, on wide and narrow
//! screens; the search, the themes and the menu work. `FARAD_SITE` names a site that is there already, such as one with
//! rustdoc's pages, from the repository's root; without it, a site with live pages of short trainings is built.

#[path = "../../circuit/tests/exports/browser.rs"]
mod browser;
mod folder;
#[allow(dead_code)]
#[path = "../../circuit/tests/exports/tool.rs"]
mod tool;

use std::path::{Path, PathBuf};

use browser::Browser;
use farad_guide::{Chapter, LivePage, Site};
use folder::Folder;

const DESKTOP: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (390, 844);

/// Live pages: a name, a short training, and its file; none: what `farad export --format html` writes.
const LIVE: [(&str, &str, Option<&str>); 3] = [
    ("checkerboard", "checkerboard --updates 20 --no-repair", None),
    ("digits", "logic-mnist --data synthetic --updates 20 --set layers=100,100", None),
    (
        "creature",
        "evolve --seed 1 --updates 2 --set population=4 --set seconds=0.2 --set films=2",
        Some("gallery.html"),
    ),
];

fn live(folder: &Folder) -> Vec<LivePage> {
    let made = LIVE.map(|(name, training, file)| {
        folder.succeed(&format!("train {training} --device cpu --quiet --out {name}"));
        if file.is_none() {
            folder.succeed(&format!("export {name} --format html --out {name}-page"));
        }
        let file = match file {
            Some(file) => folder.path(name).join(file),
            None => files(&folder.path(&format!("{name}-page"))).remove(0),
        };
        LivePage::read(&format!("{name}|{name}|It moves.|{}", file.display())).unwrap()
    });
    made.to_vec()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// The site's folder.
fn built(folder: &Folder) -> PathBuf {
    if let Some(there) = std::env::var_os("FARAD_SITE") {
        return Chapter::root().join(there).canonicalize().expect("FARAD_SITE");
    }
    let out = folder.path("pages");
    Site { root: Chapter::root(), api: None, live: live(folder) }.build(&out).unwrap();
    out
}

/// All pages below a folder; of rustdoc's, the first of each crate.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for path in files(folder) {
        match path.is_dir() {
            true if path.ends_with("api") => {
                let crates = files(&path).into_iter().map(|own| own.join("index.html"));
                found.extend(crates.filter(|page| page.is_file()));
            }
            true => found.extend(pages(&path)),
            false if path.extension().is_some_and(|ending| ending == "html") => found.push(path),
            false => {}
        }
    }
    found
}

#[test]
fn every_page_opens_and_the_site_can_be_used() {
    if !tool::have("chromium") {
        return;
    }
    let folder = Folder::new("site");
    let out = built(&folder);
    let mut browser = Browser::start("chromium");
    let pages = pages(&out);
    assert!(pages.len() > 45, "only {} pages", pages.len());
    for page in pages {
        opens(&mut browser, &page);
    }
    finds(&mut browser, &out);
    turns_dark(&mut browser, &out);
    has_a_menu(&mut browser, &out);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// The page, its pictures and its scripts are there, and on a phone nothing sticks out.
fn opens(browser: &mut Browser, page: &Path) {
    let name = page.display().to_string();
    browser.load("file://", &name, DESKTOP);
    let lost =
        "[...document.images].filter((image) => image.naturalWidth === 0).map((image) => image.src).join()";
    assert_eq!(browser.evaluate(lost), "", "{name}: pictures");
    browser.resize(PHONE);
    // A page may take a moment to fit itself to the window.
    let out = browser.evaluate(
        "new Promise((done) => setTimeout(() => done(document.documentElement.scrollWidth - innerWidth), 50))",
    );
    // What rustdoc writes is not ours.
    assert!(name.contains("/api/") || out.as_i64().unwrap() <= 0, "{name}: {out} pixels stick out");
    assert_eq!(browser.complaints(), [""; 0], "{name}");
}

/// The search finds a section by its words, and leads there.
fn finds(browser: &mut Browser, out: &Path) {
    browser.load("file://", &out.join("docs/lab/index.html").display().to_string(), DESKTOP);
    let first = "farad.search('GPU software find').then((found) => found[0].link)";
    assert_eq!(browser.evaluate(first), "guide/install.html#find-a-gpu");
    assert_eq!(browser.evaluate("farad.search('qwertz').then((found) => found.length)"), 0);
    browser.evaluate(
        "(() => { const field = document.getElementById('search'); field.value = 'gpu softw'; field.dispatchEvent(new Event('input')) })()",
    );
    browser.wait_for("document.querySelectorAll('#found [role=option] mark').length > 1");
    browser.evaluate("document.querySelector('#found a[href$=\"guide/install.html#find-a-gpu\"]').click()");
    browser.wait_for(
        "location.pathname.endsWith('/guide/install.html') && location.hash === '#find-a-gpu' && document.readyState === 'complete'",
    );
}

/// A chosen theme stays on other pages.
fn turns_dark(browser: &mut Browser, out: &Path) {
    let place = |name: &str| out.join(name).display().to_string();
    browser.load("file://", &place("index.html"), DESKTOP);
    let paper = "getComputedStyle(document.body).backgroundColor";
    browser.evaluate("farad.setTheme('light')");
    assert_eq!(browser.evaluate(paper), "rgb(255, 255, 255)");
    browser.evaluate("document.getElementById('theme').click()");
    assert_eq!(browser.evaluate(paper), "rgb(20, 23, 27)");
    browser.load("file://", &place("docs/coverage.html"), DESKTOP);
    assert_eq!(browser.evaluate(paper), "rgb(20, 23, 27)");
}

/// On a phone, a button shows the list of pages.
fn has_a_menu(browser: &mut Browser, out: &Path) {
    browser.load("file://", &out.join("guide/use.html").display().to_string(), PHONE);
    let shown = "document.getElementById('side').getBoundingClientRect().height > 500";
    assert_eq!(browser.evaluate(shown), false);
    browser.evaluate("document.getElementById('menu').click()");
    assert_eq!(browser.evaluate(shown), true);
    browser.evaluate("document.querySelector('.side a[href$=\"tensors.html\"]').click()");
    browser
        .wait_for("location.pathname.endsWith('/guide/tensors.html') && document.readyState === 'complete'");
}
