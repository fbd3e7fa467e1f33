//! `report.html`: the report as one file for any browser, with its pictures inside, in light and dark.
//!
//! It is made from the Markdown of [`Page`](super::Page), so that both reports say the same. Start at [`page`].
//!
//! Invariant: all text is escaped, and the page needs no other file, no script and no network.

use std::path::Path;

use farad_chart::base64;
use farad_tensor::engine::write_whole;

use crate::error::Result;

const STYLE: &str = include_str!("report.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'";

/// Writes a report as `report.html` and as `report.md`.
pub(super) fn write(text: &str, folder: &Path) -> Result<()> {
    write_whole("run", &folder.join("report.html"), page(text, folder).as_bytes())?;
    write_whole("run", &folder.join("report.md"), text.as_bytes())
}

/// A report in Markdown as a page; pictures are read from the run's folder.
pub(super) fn page(text: &str, folder: &Path) -> String {
    let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("report");
    let body = Body { folder, html: String::new() }.of(text);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{} · farad</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escaped(title)
    )
}

/// The page in the making.
struct Body<'a> {
    folder: &'a Path,
    html: String,
}

impl Body<'_> {
    fn of(mut self, text: &str) -> String {
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let kind = LineKind::of(line);
            match kind {
                LineKind::Empty => {}
                LineKind::Heading(level, words) => {
                    self.html += &format!("<h{level}>{}</h{level}>\n", inline(words));
                }
                LineKind::Fence => {
                    let code = lines.by_ref().take_while(|line| !line.starts_with("```"));
                    let code: Vec<String> = code.map(escaped).collect();
                    self.html += &format!("<pre>{}</pre>\n", code.join("\n"));
                }
                _ => {
                    let mut block = vec![line];
                    while let Some(next) = lines.next_if(|next| LineKind::of(next).goes_on(&kind)) {
                        block.push(next);
                    }
                    self.block(&kind, &block);
                }
            }
        }
        self.html
    }

    /// Lines of one kind.
    fn block(&mut self, kind: &LineKind, lines: &[&str]) {
        match kind {
            LineKind::Row => self.table(lines),
            LineKind::Item => {
                let items = lines.iter().map(|line| format!("<li>{}</li>\n", inline(&line[2..])));
                self.html += &format!("<ul>\n{}</ul>\n", items.collect::<String>());
            }
            LineKind::Quote => {
                let text = |line: &&str| escaped(line.strip_prefix(">     ").unwrap_or(&line[1..]));
                let text: Vec<String> = lines.iter().map(text).collect();
                self.html += &format!("<pre class=\"quote\">{}</pre>\n", text.join("\n"));
            }
            LineKind::Picture(alternative, file) => self.picture(alternative, file),
            _ => {
                let words = lines.join(" ");
                let class = if words.starts_with("*Figure ") { " class=\"caption\"" } else { "" };
                self.html += &format!("<p{class}>{}</p>\n", inline(&words));
            }
        }
    }

    /// A table, in a box that scrolls on narrow screens. The second line says which columns stand at the right.
    fn table(&mut self, lines: &[&str]) {
        let rows: Vec<Vec<String>> = lines.iter().map(|line| cells(line)).collect();
        let right =
            |n: usize| rows.get(1).and_then(|rule| rule.get(n)).is_some_and(|cell| cell.ends_with(':'));
        let row = |row: &Vec<String>, tag: &str| {
            let cell = |(n, text): (usize, &String)| {
                let class = if right(n) { " class=\"number\"" } else { "" };
                format!("<{tag}{class}>{}</{tag}>", inline(text))
            };
            format!("<tr>{}</tr>\n", row.iter().enumerate().map(cell).collect::<String>())
        };
        let head = rows.first().filter(|row| row.iter().any(|cell| !cell.is_empty()));
        let head = head.map_or(String::new(), |cells| row(cells, "th"));
        let body: String = rows.iter().skip(2).map(|cells| row(cells, "td")).collect();
        self.html += &format!("<div class=\"wide\"><table>\n{head}{body}</table></div>\n");
    }

    /// A picture of the run's folder, inside of the page, in a box that scrolls on narrow screens. One that cannot be read leaves its words.
    fn picture(&mut self, alternative: &str, file: &str) {
        let kind = match file.rsplit('.').next() {
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            _ => "image/gif",
        };
        let alternative = escaped(alternative);
        let Ok(bytes) = std::fs::read(self.folder.join(file)) else {
            self.html += &format!("<p>{alternative}: {} cannot be read</p>\n", escaped(file));
            return;
        };
        // Charts are turned dark on dark pages; what holds pixels stays as it is.
        let drawn = kind == "image/svg+xml" && !String::from_utf8_lossy(&bytes).contains("<image ");
        let class = if drawn { "chart" } else { "pixels" };
        self.html += &format!(
            "<div class=\"wide\"><img class=\"{class}\" alt=\"{alternative}\" src=\"data:{kind};base64,{}\"></div>\n",
            base64(&bytes)
        );
    }
}

/// What a line of Markdown is, as far as reports have it.
#[derive(PartialEq)]
enum LineKind<'a> {
    Empty,
    Heading(usize, &'a str),
    Fence,
    Row,
    Item,
    Quote,
    Picture(&'a str, &'a str),
    Words,
}

impl<'a> LineKind<'a> {
    fn of(line: &'a str) -> LineKind<'a> {
        let hashes = line.chars().take_while(|&letter| letter == '#').count();
        match line {
            _ if line.trim().is_empty() => LineKind::Empty,
            _ if (1..=4).contains(&hashes) && line[hashes..].starts_with(' ') => {
                LineKind::Heading(hashes, line[hashes..].trim())
            }
            _ if line.starts_with("```") => LineKind::Fence,
            _ if line.starts_with('|') => LineKind::Row,
            _ if line.starts_with("- ") => LineKind::Item,
            _ if line.starts_with('>') => LineKind::Quote,
            _ => picture(line).unwrap_or(LineKind::Words),
        }
    }

    /// Whether this line belongs to a block that began with the other.
    fn goes_on(&self, first: &LineKind) -> bool {
        self == first && !matches!(self, LineKind::Picture(..))
    }
}

fn picture(line: &str) -> Option<LineKind<'_>> {
    let (alternative, file) = line.strip_prefix("![")?.strip_suffix(')')?.split_once("](")?;
    Some(LineKind::Picture(alternative, file))
}

/// The cells of a row; `\|` is a bar.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|');
    let line = line.strip_suffix('|').unwrap_or(line).replace("\\|", "\u{1}");
    line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// Words with bold and slanted ones and code in them.
fn inline(text: &str) -> String {
    let mut html = String::new();
    for (n, part) in text.split('`').enumerate() {
        match n % 2 {
            1 => html += &format!("<code>{}</code>", escaped(part)),
            _ => html += &marked(&marked(&escaped(part), "**", "b"), "*", "i"),
        }
    }
    html
}

/// Every second part between marks in an element; a mark without a second stays.
fn marked(text: &str, mark: &str, element: &str) -> String {
    let parts: Vec<&str> = text.split(mark).collect();
    if parts.len().is_multiple_of(2) {
        return text.into();
    }
    let part = |(n, part): (usize, &&str)| match n % 2 {
        1 => format!("<{element}>{part}</{element}>"),
        _ => part.to_string(),
    };
    parts.iter().enumerate().map(part).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Page;

    #[test]
    fn a_report_becomes_a_page() {
        let folder = std::env::temp_dir().join(format!("farad-html-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("plots")).unwrap();
        std::fs::write(folder.join("plots/a.svg"), "<svg/>").unwrap();
        let mut report = Page::with_result("a & b", "it <works>");
        report.table(&["n", "what", "of"], &[vec!["a".into(), "1|2".into(), "3".into()]]);
        report.figure("plots/a.svg", "One picture.");
        report.figure("plots/gone.svg", "Another.");
        report.quote("<script>");
        report.files(&[("log.csv", "the log")]);
        let page = page(&report.text(), &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        for part in [
            "<title>a &amp; b · farad</title>",
            "<p><b>It &lt;works&gt;</b></p>",
            "<td class=\"number\">1|2</td>",
            "<img class=\"chart\" alt=\"One picture\" src=\"data:image/svg+xml;base64,PHN2Zy8+\">",
            "<p class=\"caption\"><i>Figure 1. One picture.</i></p>",
            "<p>Another: plots/gone.svg cannot be read</p>",
            "<pre class=\"quote\">&lt;script&gt;</pre>",
            "<li><code>log.csv</code>: the log</li>",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }

    #[test]
    fn marks_without_a_second_stay() {
        assert_eq!(inline("2 * 3 is `a*b` and **six**"), "2 * 3 is <code>a*b</code> and <b>six</b>");
    }
}
