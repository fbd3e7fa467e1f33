//! The web site of the documents: every document has a page, every link leads somewhere, the search knows every
//! heading. `crates/cli/tests/site.rs` opens the pages in a browser.

use std::path::{Path, PathBuf};

use farad_guide::{Chapter, LivePage, Site, check};
use serde_json::Value;

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A site with everything; rustdoc's part is two small files.
fn built(folder: &Folder) -> (PathBuf, Vec<String>) {
    let live = folder.write("life.html", "<!doctype html><title>x</title><p>it lives</p>");
    folder.write("doc/farad/index.html", "<a href=\"struct.Tensor.html#method.sum\">Tensor</a>");
    folder.write("doc/farad/struct.Tensor.html", "<h4 id=\"method.sum\">sum</h4>");
    folder.write("doc/farad_lm/index.html", "<p>lm</p>");
    // What rustdoc has of other crates' words, and what leads to the root that it leaves empty.
    folder.write("doc/settings.html", "<a href=\"super::Span\">x</a><a href=\"./index.html\">back</a>");
    let row = format!("life|Life & more|It lives.|{}", live.display());
    let site = Site {
        root: Chapter::root(),
        api: Some(folder.0.join("doc")),
        live: vec![LivePage::read(&row).unwrap()],
    };
    let out = folder.0.join("pages");
    let pages = site.build(&out).unwrap();
    (out, pages)
}

fn text(out: &Path, name: &str) -> String {
    std::fs::read_to_string(out.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_document_has_a_page_and_every_link_leads_somewhere() {
    let folder = Folder::new("site-pages");
    let (out, pages) = built(&folder);
    for chapter in Chapter::of_the_guide() {
        let name = Path::new(&chapter.name).file_stem().unwrap().to_string_lossy().into_owned();
        assert!(pages.contains(&format!("guide/{name}.html")), "{name} has no page");
    }
    for name in [
        "index.html",
        "docs/coverage.html",
        "docs/lab/index.html",
        "architecture.html",
        "live/life.html",
        "api.html",
    ] {
        assert!(pages.iter().any(|page| page == name), "{name} is no page: {pages:?}");
    }
    assert_eq!(check(&out).unwrap(), [""; 0]);
    // Pages and files that are named lie there, and nothing else is a page.
    assert!(text(&out, "live/life.html").contains("Life &amp; more"));
    assert!(text(&out, "live/life/index.html").contains("it lives"));
    let api = text(&out, "api.html");
    assert!(
        api.contains("href=\"api/farad/index.html\"") && api.contains("api/farad_lm/index.html"),
        "{api}"
    );
    assert!(!api.contains("farad_nn"), "a crate that rustdoc did not write");
    for page in &pages {
        let html = text(&out, page);
        assert!(html.contains("aria-current=\"page\"") && html.contains("<h1"), "{page}");
    }
    // A second time, a former site is replaced; any other folder is left alone.
    let (_, again) = built(&folder);
    assert_eq!(pages, again);
    let site = Site { root: Chapter::root(), api: None, live: vec![] };
    folder.write("other/thesis.txt", "years of work");
    let error = site.build(&folder.0.join("other")).unwrap_err().to_string();
    assert!(error.starts_with("site: the folder has other files: "), "{error}");
    assert!(folder.0.join("other/thesis.txt").exists());
}

#[test]
fn what_is_broken_is_told() {
    let folder = Folder::new("site-broken");
    let page =
        folder.write("live.html", "<a href=\"gone.html\">x</a><script src=\"https://x.org/a.js\"></script>");
    let row = format!("life|Life|It lives.|{}", page.display());
    let site = Site { root: Chapter::root(), api: None, live: vec![LivePage::read(&row).unwrap()] };
    let error = site.build(&folder.0.join("pages")).unwrap_err().to_string();
    assert_eq!(error, "site: links lead nowhere: live/life/index.html: gone.html (and 1 more)");
    let odd = LivePage::read("life|Life|only three").unwrap_err().to_string();
    assert!(odd.starts_with("site: not a live page: life|Life|only three"), "{odd}");
    assert!(LivePage::read("../up|Up|It is above.|x.html").is_err());
}

#[test]
fn the_search_knows_every_heading() {
    let folder = Folder::new("site-search");
    let (out, _) = built(&folder);
    let script = text(&out, "site/search.js");
    let json = script.strip_prefix("globalThis.faradIndex = ").unwrap().trim_end().trim_end_matches(';');
    let index: Value = serde_json::from_str(json).unwrap();
    let pages: Vec<&str> =
        index["pages"].as_array().unwrap().iter().map(|page| page[0].as_str().unwrap()).collect();
    let sections = index["sections"].as_array().unwrap();
    assert!(sections.len() > 250, "only {} sections", sections.len());
    for section in sections {
        let page = pages[section[0].as_u64().unwrap() as usize];
        let id = section[1].as_str().unwrap();
        assert!(text(&out, page).contains(&format!("id=\"{id}\"")), "{page}: {id}");
    }
    // What stands in the text is found under the heading above it.
    let hit = sections.iter().any(|section| {
        section[2] == "Find a GPU" && section[3].as_str().unwrap().contains("FARAD_DEVICE=cpu farad devices")
    });
    assert!(hit, "the text of a section");
}
