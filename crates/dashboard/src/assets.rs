//! The page and its parts, compiled into the program.
//!
//! The files in `page/` are complete as they are and refer to each other by name. Invariant: a part is served
//! if and only if it is in [`PARTS`], and a test compares that with what `index.html` asks for.

/// The parts: name, content type, text.
const PARTS: [(&str, &str, &str); 20] = [
    ("icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    ("style.css", STYLE, include_str!("page/style.css")),
    ("store.js", SCRIPT, include_str!("page/store.js")),
    ("clock.js", SCRIPT, include_str!("page/clock.js")),
    ("scale.js", SCRIPT, include_str!("page/scale.js")),
    ("axis.js", SCRIPT, include_str!("page/axis.js")),
    ("band.js", SCRIPT, include_str!("page/band.js")),
    ("csv.js", SCRIPT, include_str!("page/csv.js")),
    ("chart.js", SCRIPT, include_str!("page/chart.js")),
    ("metrics.js", SCRIPT, include_str!("page/metrics.js")),
    ("curves.js", SCRIPT, include_str!("page/curves.js")),
    ("table.js", SCRIPT, include_str!("page/table.js")),
    ("runs.js", SCRIPT, include_str!("page/runs.js")),
    ("side.js", SCRIPT, include_str!("page/side.js")),
    ("load.js", SCRIPT, include_str!("page/load.js")),
    ("notes.js", SCRIPT, include_str!("page/notes.js")),
    ("weights.js", SCRIPT, include_str!("page/weights.js")),
    ("markdown.js", SCRIPT, include_str!("page/markdown.js")),
    ("details.js", SCRIPT, include_str!("page/details.js")),
    ("page.js", SCRIPT, include_str!("page/page.js")),
];

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page itself.
pub const PAGE: &str = include_str!("page/index.html");

/// A part by name: its content type and text.
pub fn part(name: &str) -> Option<(&'static str, &'static str)> {
    PARTS.iter().find(|(part, _, _)| *part == name).map(|(_, kind, text)| (*kind, *text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_asks_for_its_parts_and_for_nothing_else() {
        let after = |mark: &str| {
            PAGE.split(mark).skip(1).map(|rest| rest.split('"').next().unwrap()).collect::<Vec<_>>()
        };
        let mut asked = after("src=\"");
        asked.extend(after("<link rel=\"stylesheet\" href=\""));
        asked.extend(after("<link rel=\"icon\" href=\""));
        asked.sort();
        let mut parts: Vec<&str> = PARTS.iter().map(|(name, _, _)| *name).collect();
        parts.sort();
        assert_eq!(asked, parts);
    }

    #[test]
    fn the_page_keeps_its_own_policy() {
        for (name, _, text) in PARTS.iter().chain([&("index.html", "", PAGE)]) {
            for forbidden in [
                "http://",
                "https://",
                "eval(",
                "innerHTML",
                "insertAdjacentHTML",
                "document.write",
                "style=\"",
                "onclick=",
            ] {
                let own = text.replace("http://www.w3.org/", "");
                assert!(!own.contains(forbidden), "{name} has {forbidden}");
            }
        }
        assert!(!PAGE.contains("<script>") && !PAGE.contains("<style"));
    }
}
