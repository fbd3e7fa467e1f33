//! `report.md` in the making: words, tables and numbered figures, in one look for all kinds of runs.
//!
//! Invariant: tables have as many cells in every row, and links are relative, so that a run may be moved. Start at [`Page::new`].

use std::path::Path;

use super::visible;
use crate::error::Result;

/// A page in Markdown.
///
/// ```
/// use farad::run::Page;
/// let mut page = Page::new("life", "The rule of life.");
/// page.facts([("seed", "5"), ("device", "cpu")]);
/// page.figure("plots/loss.svg", "Loss during training.");
/// let text = page.text();
/// assert!(text.starts_with("# life\n") && text.contains("*Figure 1. Loss during training.*"));
/// ```
pub struct Page {
    text: String,
    figures: usize,
}

impl Page {
    /// A page with a title and a first sentence.
    pub fn new(title: &str, lead: &str) -> Page {
        let mut page = Page { text: format!("# {title}\n\n"), figures: 0 };
        page.words(&sentence(lead));
        page
    }

    /// A page that begins with what came out.
    pub fn with_result(title: &str, result: &str) -> Page {
        let mut page = Page::new(title, "");
        page.result(result);
        page
    }

    /// What came out, as a sentence in bold letters.
    pub fn result(&mut self, result: &str) {
        self.words(&format!("**{}**", sentence(result)));
    }

    /// The whole text.
    pub fn text(self) -> String {
        self.text.trim_end().to_string() + "\n"
    }

    /// Writes `report.md` and `report.html` into a folder that is no run; see [`Run::write_report`](super::Run::write_report).
    pub fn write(self, folder: impl AsRef<Path>) -> Result<()> {
        super::html::write(&self.text(), folder.as_ref())
    }

    /// A heading below the title.
    pub fn section(&mut self, title: &str) {
        self.text += &format!("## {title}\n\n");
    }

    /// A paragraph, or anything else in Markdown.
    pub fn words(&mut self, words: &str) {
        if !words.is_empty() {
            self.text += &format!("{}\n\n", words.trim_end());
        }
    }

    /// A table of two columns without a heading: what something is called and what it is.
    pub fn facts<A: Into<String>, B: Into<String>>(&mut self, facts: impl IntoIterator<Item = (A, B)>) {
        let rows: Vec<Vec<String>> =
            facts.into_iter().map(|(name, fact)| vec![name.into(), fact.into()]).collect();
        self.table(&["", ""], &rows);
    }

    /// A table whose columns are aligned in the text, too. Columns of numbers stand at the right.
    pub fn table(&mut self, headings: &[&str], rows: &[Vec<String>]) {
        let headings: Vec<String> = headings.iter().map(|heading| cell(heading)).collect();
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                (0..headings.len()).map(|n| row.get(n).map_or(String::new(), |text| cell(text))).collect()
            })
            .collect();
        let column = |n: usize| rows.iter().map(move |row| &row[n]);
        let wide = |text: &String| text.chars().count();
        let widths: Vec<usize> = (0..headings.len())
            .map(|n| column(n).map(wide).chain([wide(&headings[n]), 3]).max().unwrap_or(3))
            .collect();
        let right: Vec<bool> = (0..headings.len())
            .map(|n| headings.len() > 2 && n > 0 && column(n).all(|text| is_number(text)))
            .collect();
        let line = |cells: &[String]| {
            let padded = cells.iter().enumerate().map(|(n, text)| {
                let space = " ".repeat(widths[n] - wide(text));
                if right[n] { format!(" {space}{text} |") } else { format!(" {text}{space} |") }
            });
            format!("|{}\n", padded.collect::<String>())
        };
        self.text += &line(&headings);
        let rule = |n: usize| format!("{}{}|", "-".repeat(widths[n] + 1), if right[n] { ":" } else { "-" });
        self.text += &format!("|{}\n", (0..headings.len()).map(rule).collect::<String>());
        rows.iter().for_each(|row| self.text += &line(row));
        self.text.push('\n');
    }

    /// A picture with a numbered caption, a sentence or more.
    pub fn figure(&mut self, file: &str, caption: &str) {
        self.figures += 1;
        let number = self.figures;
        let alternative = caption.split(['.', ':']).next().unwrap_or(caption).replace(['[', ']'], "");
        self.text += &format!("![{alternative}]({file})\n\n*Figure {number}. {caption}*\n\n");
    }

    /// Lines in letters of one width.
    pub fn code(&mut self, language: &str, text: &str) {
        self.text += &format!("```{language}\n{}\n```\n\n", text.trim_end());
    }

    /// Text by somebody else, as a quotation that nothing in it can end, with control characters written out.
    pub fn quote(&mut self, text: &str) {
        // Reports are read in terminals, too.
        visible(text).lines().for_each(|line| self.text += &format!(">     {line}\n"));
        self.text.push('\n');
    }

    /// What lies in the run's folder: names and what they are.
    pub fn files(&mut self, files: &[(&str, &str)]) {
        self.section("Files");
        files.iter().for_each(|(file, about)| self.text += &format!("- `{file}`: {about}\n"));
        self.text.push('\n');
    }
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let mut sentence: String =
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect());
    if sentence.ends_with(|letter: char| letter.is_alphanumeric() || letter == ')') {
        sentence.push('.');
    }
    sentence
}

/// A text that does not end its cell.
fn cell(text: &str) -> String {
    visible(text).replace('|', "\\|").replace(['\n', '\t'], " ")
}

/// Whether a cell is a number, perhaps with a unit: what stands at the right.
fn is_number(text: &str) -> bool {
    let text = text.trim();
    text.is_empty()
        || text == "–"
        || text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '−')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned() {
        let mut page = Page::new("t", "");
        let row = |a: &str, b: &str, c: &str| vec![a.to_string(), b.to_string(), c.to_string()];
        page.table(&["pass", "gates", "of"], &[row("a|b", "1,184", "x"), row("prove", "3", "y")]);
        let text = page.text();
        let wanted = "# t\n\n| pass  | gates | of  |\n|-------|------:|-----|\n| a\\|b  | 1,184 | x   |\n| prove |     3 | y   |\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn figures_are_numbered_and_quotes_quoted() {
        let mut page = Page::with_result("t", "what came (out)");
        page.figure("plots/a.svg", "First [one]: what it is.");
        page.figure("plots/b.svg", "Second.");
        page.quote("```\n# not a heading\n\nend\u{1b}[2J");
        let text = page.text();
        assert!(text.starts_with("# t\n\n**What came (out).**\n\n"), "{text}");
        assert!(text.contains("![First one](plots/a.svg)\n\n*Figure 1. First [one]: what it is.*"), "{text}");
        assert!(
            text.contains(
                "*Figure 2. Second.*\n\n>     ```\n>     # not a heading\n>     \n>     end\\x1b[2J\n"
            ),
            "{text}"
        );
    }
}
