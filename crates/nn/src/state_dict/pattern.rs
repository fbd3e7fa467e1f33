//! Names with stars in them.

/// A pattern: texts between stars.
pub(super) struct Pattern {
    parts: Vec<PatternPart>,
}

enum PatternPart {
    Text(String),
    /// Some letters, without a dot.
    Star,
    /// Any letters.
    Stars,
}

impl Pattern {
    pub fn new(text: &str) -> Pattern {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (part, length) = if rest.starts_with("**") {
                (PatternPart::Stars, 2)
            } else if rest.starts_with('*') {
                (PatternPart::Star, 1)
            } else {
                let length = rest.find('*').unwrap_or(rest.len());
                (PatternPart::Text(rest[..length].into()), length)
            };
            parts.push(part);
            rest = &rest[length..];
        }
        Pattern { parts }
    }

    pub fn matches(&self, name: &str) -> bool {
        found(&self.parts, name).is_some()
    }

    /// Panics if `to` has more stars than this pattern.
    #[track_caller]
    pub fn check(&self, to: &str) {
        let stars = |pattern: &Pattern| {
            pattern.parts.iter().filter(|part| !matches!(part, PatternPart::Text(_))).count()
        };
        let (has, asked) = (stars(self), stars(&Pattern::new(to)));
        assert!(asked <= has, "rename: more stars than the pattern has: {to} ({asked} vs {has})");
    }

    /// `to` with what the stars stand for in this name; none if it does not match.
    pub fn replaced(&self, name: &str, to: &str) -> Option<String> {
        let mut found = found(&self.parts, name)?.into_iter();
        let part = |part: &PatternPart| match part {
            PatternPart::Text(text) => text.clone(),
            _ => found.next().unwrap_or_default().to_string(),
        };
        Some(Pattern::new(to).parts.iter().map(part).collect())
    }
}

/// What the stars stand for, each for as little as will do.
fn found<'a>(parts: &[PatternPart], name: &'a str) -> Option<Vec<&'a str>> {
    let Some((first, rest)) = parts.split_first() else { return name.is_empty().then(Vec::new) };
    if let PatternPart::Text(text) = first {
        return found(rest, name.strip_prefix(text.as_str())?);
    }
    let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    for end in ends {
        let (taken, left) = name.split_at(end);
        if matches!(first, PatternPart::Star) && taken.contains('.') {
            return None;
        }
        if let Some(mut others) = found(rest, left) {
            others.insert(0, taken);
            return Some(others);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn stars_stand_for_parts_of_names() {
        let new = |pattern: &str, name: &str, to: &str| Pattern::new(pattern).replaced(name, to);
        assert_eq!(
            new("layers.*.attn.**", "layers.12.attn.q.weight", "b.*.a.**").as_deref(),
            Some("b.12.a.q.weight")
        );
        assert_eq!(new("*.weight", "a.b.weight", "x.*"), None);
        assert_eq!(new("**.weight", "a.b.weight", "**.kernel").as_deref(), Some("a.b.kernel"));
        assert_eq!(new("a", "a", "b").as_deref(), Some("b"));
        assert_eq!(new("a*", "ab.c", "b"), None);
        assert_eq!(new("*b*", "abb", "*-*").as_deref(), Some("a-b"));
    }

    #[test]
    #[should_panic(expected = "rename: more stars than the pattern has: *.* (2 vs 1)")]
    fn stars_come_from_somewhere() {
        Pattern::new("*").check("*.*");
    }
}
