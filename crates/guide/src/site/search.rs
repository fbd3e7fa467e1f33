//! The index that the site's search reads: a script, since pages that are opened from a disk may load scripts and no data.

use serde_json::{Value, json};

use super::markdown::Rendered;
use super::pages::SitePage;

/// Pages and their sections, in order.
#[derive(Default)]
pub(super) struct Index {
    pages: Vec<Value>,
    sections: Vec<Value>,
}

impl Index {
    /// Adds what a page says.
    pub(super) fn add(&mut self, page: &SitePage, rendered: &Rendered) {
        let number = self.pages.len();
        self.pages.push(json!([page.output, rendered.title]));
        for section in &rendered.sections {
            let text = section.text.split_whitespace().collect::<Vec<_>>().join(" ");
            self.sections.push(json!([number, section.id, section.title, text]));
        }
    }

    /// The index as a script.
    pub(super) fn script(&self) -> String {
        format!("globalThis.faradIndex = {};\n", json!({ "pages": self.pages, "sections": self.sections }))
    }
}
