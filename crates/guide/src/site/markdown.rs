//! A document as HTML: links lead to pages of the site, headings have names, code has colors.
//!
//! Invariant: nothing of a document reaches the page as markup but what Markdown says.

use std::path::Path;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::highlight::highlighted;
use super::pages::{LinkTarget, SitePage, SitePart, target};
use super::{SiteError, escaped};

/// A part of a page under its own heading, as the search knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    /// The name of its heading, for links.
    pub(super) id: String,
    /// Its heading.
    pub(super) title: String,
    /// How deep: 1 is the page's title.
    pub(super) level: usize,
    /// What it says, without markup.
    pub(super) text: String,
}

/// A document as HTML.
#[derive(Clone, Debug, Default)]
pub(super) struct Rendered {
    pub(super) title: String,
    pub(super) html: String,
    pub(super) sections: Vec<Section>,
    /// Files of the repository that the page shows or links to.
    pub(super) assets: Vec<String>,
}

/// Renders a document.
pub(super) fn rendered(
    text: &str,
    page: &SitePage,
    parts: &[SitePart],
    root: &Path,
) -> Result<Rendered, SiteError> {
    let mut writer = Writer {
        page,
        parts,
        root,
        made: Rendered::default(),
        events: vec![],
        note: None,
        is_in_link: false,
    };
    let mut source = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    while let Some(event) = source.next() {
        writer.take(event, &mut source)?;
    }
    let Writer { mut made, events, .. } = writer;
    html::push_html(&mut made.html, events.into_iter());
    made.title = match made.sections.first() {
        Some(section) if section.level == 1 => section.title.clone(),
        _ => return Err(SiteError::NoTitle { page: page.source.clone() }),
    };
    Ok(made)
}

/// The document in the making.
struct Writer<'a> {
    page: &'a SitePage,
    parts: &'a [SitePart],
    root: &'a Path,
    made: Rendered,
    events: Vec<Event<'a>>,
    /// The file that the next block of code is written to.
    note: Option<String>,
    is_in_link: bool,
}

impl<'a> Writer<'a> {
    fn take(&mut self, event: Event<'a>, source: &mut Parser<'a>) -> Result<(), SiteError> {
        match event {
            Event::Start(Tag::Heading { level, .. }) => self.heading(level as usize, source)?,
            Event::Start(Tag::CodeBlock(kind)) => self.code(&kind, source),
            Event::Start(Tag::Image { dest_url, .. }) => self.image(&dest_url, source)?,
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = self.link(&dest_url)?.into();
                self.is_in_link = true;
                self.events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            Event::Start(Tag::Table(columns)) => {
                self.html("<div class=\"wide\">");
                self.events.push(Event::Start(Tag::Table(columns)));
            }
            Event::End(TagEnd::Table) => {
                self.events.push(Event::End(TagEnd::Table));
                self.html("</div>\n");
            }
            Event::Html(text) | Event::InlineHtml(text) => self.comment(&text),
            // On a site, the documents that links lead to are pages.
            Event::Text(text) if self.is_in_link && text.ends_with(".md") => {
                let name = CowStr::from(text.trim_end_matches(".md").to_string());
                self.remember(&Event::Text(name.clone()));
                self.events.push(Event::Text(name));
            }
            Event::End(TagEnd::Link) => {
                self.is_in_link = false;
                self.events.push(event);
            }
            other => {
                self.remember(&other);
                self.events.push(other);
            }
        }
        Ok(())
    }

    fn html(&mut self, text: impl Into<CowStr<'a>>) {
        self.events.push(Event::Html(text.into()));
    }

    /// Adds what an event says to the section that the search finds it by.
    fn remember(&mut self, event: &Event) {
        let words = match event {
            Event::Text(text) | Event::Code(text) => text,
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(TagEnd::Paragraph | TagEnd::TableCell | TagEnd::Item) => " ",
            _ => return,
        };
        if let Some(section) = self.made.sections.last_mut() {
            section.text.push_str(words);
        }
    }

    /// Comments say how blocks are tested. What else looks like HTML is text.
    fn comment(&mut self, text: &str) {
        match text.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")) {
            Some(words) => self.note = words.trim().strip_prefix("file:").map(|name| name.trim().to_string()),
            None => self.events.push(Event::Text(text.to_string().into())),
        }
    }

    fn heading(&mut self, level: usize, source: &mut Parser<'a>) -> Result<(), SiteError> {
        let begin = self.events.len();
        let mut title = String::new();
        for event in source.by_ref() {
            match event {
                Event::End(TagEnd::Heading(_)) => break,
                Event::Text(ref text) | Event::Code(ref text) => {
                    title.push_str(text);
                    self.events.push(event);
                }
                other => self.events.push(other),
            }
        }
        let id = self.free_id(&title);
        let inner = self.events.split_off(begin);
        self.html(format!("<h{level} id=\"{id}\">"));
        self.events.extend(inner);
        self.html(format!(
            "<a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to this heading\">#</a></h{level}>\n"
        ));
        self.made.sections.push(Section { id, title, level, text: String::new() });
        Ok(())
    }

    /// The name that a heading is linked by, as code forges make it.
    fn free_id(&self, title: &str) -> String {
        let letters = title
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .collect::<String>();
        let name = letters.replace(' ', "-");
        let is_free = |id: &String| self.made.sections.iter().all(|section| section.id != *id);
        let numbered = (1..).map(|n| format!("{name}-{n}"));
        std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
    }

    fn code(&mut self, kind: &CodeBlockKind, source: &mut Parser<'a>) {
        let mut text = String::new();
        for event in source.by_ref() {
            match event {
                Event::End(TagEnd::CodeBlock) => break,
                Event::Text(piece) => text.push_str(&piece),
                _ => {}
            }
        }
        let info = match kind {
            CodeBlockKind::Fenced(info) => info.split([',', ' ']).next().unwrap_or_default().to_string(),
            CodeBlockKind::Indented => String::new(),
        };
        let file = self
            .note
            .take()
            .map_or_else(String::new, |name| format!("<figcaption>{}</figcaption>", escaped(&name)));
        let body = highlighted(&info, &text);
        let language = escaped(&info);
        self.html(format!(
            "<figure class=\"code {language}\">{file}<pre tabindex=\"0\"><code>{body}</code></pre></figure>\n"
        ));
        self.remember(&Event::Text(text.into()));
        self.remember(&Event::SoftBreak);
    }

    /// A picture, which leads to itself at its own size.
    fn image(&mut self, link: &str, source: &mut Parser<'a>) -> Result<(), SiteError> {
        let mut words = String::new();
        for event in source.by_ref() {
            match event {
                Event::End(TagEnd::Image) => break,
                Event::Text(text) | Event::Code(text) => words.push_str(&text),
                _ => {}
            }
        }
        let link = escaped(&self.link(link)?);
        let class = if link.ends_with(".svg") { "chart" } else { "photo" };
        self.html(format!(
            "<a class=\"picture\" href=\"{link}\"><img class=\"{class}\" src=\"{link}\" alt=\"{}\"></a>",
            escaped(&words)
        ));
        Ok(())
    }

    fn link(&mut self, link: &str) -> Result<String, SiteError> {
        Ok(match target(link, self.page, self.parts, self.root)? {
            LinkTarget::Same => link.to_string(),
            LinkTarget::Site(link) => link,
            LinkTarget::Asset(file, link) => {
                self.made.assets.push(file);
                link
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Result<Rendered, SiteError> {
        let page = |source: &str, output: &str| SitePage {
            source: source.into(),
            output: output.into(),
            label: "x".into(),
        };
        let pages = vec![page("docs/a.md", "docs/a.html"), page("docs/lab/b.md", "docs/lab/b.html")];
        let parts = [SitePart { title: "x".into(), pages: pages.clone() }];
        rendered(text, &pages[0], &parts, &crate::Chapter::root())
    }

    #[test]
    fn links_lead_to_pages_and_files() {
        let found = made("# A\n\n[b.md](lab/b.md#x) ![life](automata/life.svg) [far](https://rustup.rs) [up](../LICENSE-MIT)\n").unwrap();
        for part in [
            ">b</a>",
            "href=\"../docs/lab/b.html#x\"",
            "src=\"../docs/automata/life.svg\"",
            "href=\"https://rustup.rs\"",
            "href=\"../LICENSE-MIT\"",
        ] {
            assert!(found.html.contains(part), "{part}: {}", found.html);
        }
        assert_eq!(found.assets, ["docs/automata/life.svg", "LICENSE-MIT"]);
        let lost = made("# A\n\n[c](c.md)\n").unwrap_err();
        assert_eq!(lost.to_string(), "site: a link leads nowhere: c.md in docs/a.md");
        assert_eq!(
            made("text\n").unwrap_err().to_string(),
            "site: no title: docs/a.md has no line that starts with `# `"
        );
    }

    #[test]
    fn headings_have_names_of_their_own() {
        let found = made("# A `b`, c\n\none\n\n## Same\n\ntwo\n\n## Same\n").unwrap();
        let ids: Vec<&str> = found.sections.iter().map(|section| section.id.as_str()).collect();
        assert_eq!(ids, ["a-b-c", "same", "same-1"]);
        assert_eq!((found.title.as_str(), found.sections[1].text.trim()), ("A b, c", "two"));
    }

    #[test]
    fn comments_go_and_other_markup_is_text() {
        let found =
            made("# A\n\n<!-- file: x.json -->\n```json\n{\"a\": 1}\n```\n\n<script>alert(1)</script>\n")
                .unwrap();
        assert!(found.html.contains("<figcaption>x.json</figcaption>"), "{}", found.html);
        assert!(!found.html.contains("<!--") && !found.html.contains("<script>"), "{}", found.html);
    }
}
