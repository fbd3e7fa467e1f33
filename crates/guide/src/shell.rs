//! Shell blocks, command by command.
//!
//! Invariant: what is left out of a command's words (comments, redirections, variables) never reaches the command either.

/// The commands of a shell block: comments and blank lines are gone, lines that end with `\` are joined with the next.
///
/// ```
/// use farad_guide::commands;
/// assert_eq!(commands("# two\nfarad runs  # all\n\nfarad eval \\\n  run\n"), ["farad runs", "farad eval run"]);
/// ```
pub fn commands(block: &str) -> Vec<String> {
    let mut commands = vec![];
    let mut pending = String::new();
    for line in block.lines() {
        let line = line.split(" # ").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        pending.push_str(line.trim_end_matches('\\').trim_end());
        match line.ends_with('\\') {
            true => pending.push(' '),
            false => commands.push(std::mem::take(&mut pending)),
        }
    }
    commands
}

/// The words that `farad` would get, if the command starts it: variables before it and all from the first pipe or
/// redirection on are left out.
///
/// ```
/// use farad_guide::words;
/// assert_eq!(words("FARAD_DEBUG=nan farad generate run --prompt 'To be' > text").unwrap(), ["generate", "run", "--prompt", "To be"]);
/// assert_eq!(words("cargo run --release -- devices").unwrap(), ["devices"]);
/// assert_eq!(words("ls runs"), None);
/// ```
pub fn words(command: &str) -> Option<Vec<String>> {
    let mut words = split(command);
    let first = words.iter().position(|word| !is_variable(word))?;
    words.drain(..first);
    let cargo = ["cargo", "run", "--release", "--"];
    match words.first()?.as_str() {
        "farad" => Some(words.split_off(1)),
        "cargo" if words.iter().zip(cargo).filter(|(word, wanted)| word == wanted).count() == cargo.len() => {
            Some(words.split_off(cargo.len()))
        }
        _ => None,
    }
}

fn is_variable(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

fn split(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (vec![], None::<String>, None);
    for letter in command.chars() {
        match quote {
            Some(end) if letter == end => quote = None,
            Some(_) => word.get_or_insert_default().push(letter),
            None if letter == '\'' || letter == '"' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            None if matches!(letter, '|' | '>' | '<' | '&' | ';') => break,
            None => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}
