//! What stands around every page: the bar on top, the side bar, the list of headings, the ways on.

use std::fmt::Write;

use super::escaped;
use super::live::LivePage;
use super::markdown::Rendered;
use super::pages::{Neighbors, SitePage, SitePart, relative};

/// Parts with more pages than this are closed, unless the page that is shown is one of theirs.
const OPEN_PAGES: usize = 13;
/// With more headings than this, the list has those of the second level only.
const MOST_HEADINGS: usize = 12;
/// Signs of the bar's buttons: three lines, and a half moon.
const MENU: &str =
    "<svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M4 7h16M4 12h16M4 17h16\"/></svg>";
const THEME: &str = "<svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><circle cx=\"12\" cy=\"12\" r=\"8\"/>\
    <path d=\"M12 4a8 8 0 0 1 0 16z\" fill=\"currentColor\"/></svg>";
/// Runs before anything is shown, so that a page never changes its colors under one's eyes.
const EARLY: &str = "try { document.documentElement.dataset.theme = localStorage.getItem('farad-theme') || \
    (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light') } catch { }";

/// What all pages of a site share.
pub(super) struct Frame<'a> {
    pub(super) parts: &'a [SitePart],
    pub(super) live: &'a [LivePage],
    pub(super) has_api: bool,
}

impl Frame<'_> {
    /// A whole page.
    pub(super) fn page(&self, page: &SitePage, near: Neighbors, rendered: &Rendered) -> String {
        let up = "../".repeat(page.output.matches('/').count());
        let is_front = page.output == "index.html";
        let title = escaped(&rendered.title);
        let title = if is_front { title } else { format!("{title} · Farad") };
        let (class, body) = match is_front {
            true => (" class=\"front\"", self.front(&rendered.html)),
            false if page.output.starts_with("live/") => (" class=\"stage\"", rendered.html.clone()),
            false => ("", rendered.html.clone()),
        };
        format!(
            "<!doctype html>\n<html lang=\"en\" data-up=\"{up}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <link rel=\"icon\" href=\"{up}site/icon.svg\" type=\"image/svg+xml\">\n\
             <link rel=\"stylesheet\" href=\"{up}site/site.css\">\n<script>{EARLY}</script>\n\
             <script defer src=\"{up}site/site.js\"></script>\n</head>\n<body{class}>\n\
             <a class=\"skip\" href=\"#main\">To the text</a>\n{bar}<div class=\"columns\">\n{side}\
             <main id=\"main\">\n<article>\n{body}</article>\n{ways}</main>\n{headings}</div>\n</body>\n</html>\n",
            bar = bar(&up),
            side = self.side(page),
            ways = ways(page, near),
            headings = if is_front { String::new() } else { headings(rendered) },
        )
    }

    /// The first page: cards that lead on stand before the first of its parts.
    fn front(&self, html: &str) -> String {
        let card = |link: &str, title: &str, words: &str| {
            format!("<a class=\"card\" href=\"{link}\"><b>{}</b> {}</a>\n", escaped(title), escaped(words))
        };
        let mut cards =
            card("guide/install.html", "Start", "Install it, and train an automaton and a network.");
        for live in self.live {
            cards += &card(&live.output(), &live.title, &live.sentence);
        }
        if self.has_api {
            cards += &card("api.html", "Rust API", "All crates and their items.");
        }
        let (before, after) = html.split_at(html.find("<h2").unwrap_or(html.len()));
        format!("{before}<nav class=\"cards\" aria-label=\"Ways in\">\n{cards}</nav>\n{after}")
    }

    fn side(&self, page: &SitePage) -> String {
        let mut html = String::from("<nav class=\"side\" id=\"side\" aria-label=\"Pages\">\n");
        for part in self.parts {
            let has_page = part.pages.iter().any(|own| own.output == page.output);
            let open = if has_page || part.pages.len() <= OPEN_PAGES && !part.is_about_farad() {
                " open"
            } else {
                ""
            };
            let items: String = part.pages.iter().map(|own| item(page, own)).collect();
            let _ = match part.title.as_str() {
                "" => writeln!(html, "<ul>{items}</ul>"),
                title => writeln!(
                    html,
                    "<details{open}><summary>{}</summary><ul>{items}</ul></details>",
                    escaped(title)
                ),
            };
        }
        html + "</nav>\n"
    }
}

impl SitePart {
    /// Whether it is for those who work on Farad.
    fn is_about_farad(&self) -> bool {
        ["Measurements", "The project"].contains(&self.title.as_str())
    }
}

fn item(page: &SitePage, own: &SitePage) -> String {
    let current = if own.output == page.output { " aria-current=\"page\"" } else { "" };
    format!(
        "<li><a href=\"{}\"{current}>{}</a></li>",
        relative(&page.output, &own.output),
        escaped(&own.label)
    )
}

fn bar(up: &str) -> String {
    format!(
        "<header class=\"bar\">\n<button id=\"menu\" class=\"round\" aria-label=\"Pages\" aria-expanded=\"false\" aria-controls=\"side\">{MENU}</button>\n\
         <a class=\"brand\" href=\"{up}index.html\"><img src=\"{up}site/icon.svg\" alt=\"\" width=\"26\" height=\"26\">Farad</a>\n\
         <div class=\"search\" role=\"search\"><input id=\"search\" type=\"search\" placeholder=\"Search ( / )\" autocomplete=\"off\" \
         aria-label=\"Search\" role=\"combobox\" aria-expanded=\"false\" aria-controls=\"found\"><ul id=\"found\" role=\"listbox\" hidden></ul></div>\n\
         <button id=\"theme\" class=\"round\" aria-label=\"Light or dark\">{THEME}</button>\n</header>\n"
    )
}

/// The headings of the page, on wide screens.
fn headings(rendered: &Rendered) -> String {
    let count = rendered.sections.iter().filter(|section| (2..=3).contains(&section.level)).count();
    let deepest = if count > MOST_HEADINGS { 2 } else { 3 };
    let shown = rendered.sections.iter().filter(|section| (2..=deepest).contains(&section.level));
    let items: String = shown
        .map(|section| {
            let (level, id, title) = (section.level, &section.id, escaped(&section.title));
            format!("<li class=\"level{level}\"><a href=\"#{id}\">{title}</a></li>")
        })
        .collect();
    match items.as_str() {
        "" => "<nav class=\"here\"></nav>\n".into(),
        items => format!(
            "<nav class=\"here\" aria-label=\"On this page\"><p>On this page</p><ul>{items}</ul></nav>\n"
        ),
    }
}

/// The pages before and after this one.
fn ways(page: &SitePage, (before, after): Neighbors) -> String {
    let way = |other: Option<&SitePage>, class: &str, words: &str| match other {
        None => "<span></span>".to_string(),
        Some(other) => {
            let link = relative(&page.output, &other.output);
            format!(
                "<a class=\"{class}\" href=\"{link}\"><small>{words}</small>{}</a>",
                escaped(&other.label)
            )
        }
    };
    format!(
        "<nav class=\"ways\" aria-label=\"Before and after\">{}{}</nav>\n",
        way(before, "before", "Before"),
        way(after, "after", "Next")
    )
}
