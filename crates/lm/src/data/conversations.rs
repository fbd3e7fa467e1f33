//! Conversations in JSON lines, as tokens of which only the answers count.
//!
//! A token that counts is stored as its number plus the size of the tokenizer. So a marked text is one list of numbers,
//! and its windows need no second list.

use std::path::Path;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::hub::{ChatMessage, ChatTemplate};
use crate::tokenize::Tokenizer;

/// A line of such a file.
#[derive(Deserialize)]
struct ConversationLine {
    messages: Vec<ChatMessage>,
}

/// Whether a path is a file of conversations.
pub fn is_conversations(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "jsonl")
}

/// Reads a file of conversations: a JSON object per line, with `messages` of `role` and `content`.
pub fn read_conversations(path: &Path) -> Result<Vec<Vec<ChatMessage>>> {
    let fail = |source| farad::Error::File { op: "data", path: path.into(), source };
    let text = std::fs::read_to_string(path).map_err(fail)?;
    let mut all = vec![];
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |what: String| Error::Conversation { path: path.into(), line: n + 1, what };
        let line: ConversationLine = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        if !line.messages.iter().any(|message| message.role == "assistant") {
            return Err(wrong("there is no answer: no message of role assistant".into()));
        }
        all.push(line.messages);
    }
    match all.is_empty() {
        true => Err(Error::NoText { path: path.into(), files: 1 }),
        false => Ok(all),
    }
}

/// The tokens of conversations, one after the other. Those of answers are marked.
pub fn marked_tokens(
    conversations: &[Vec<ChatMessage>],
    tokenizer: &Tokenizer,
    template: &ChatTemplate,
) -> Result<Vec<u32>> {
    let mark = tokenizer.size() as u32;
    let mut all = vec![];
    for messages in conversations {
        for (piece, said) in template.pieces(messages)? {
            let tokens = tokenizer.encode(piece.as_bytes())?;
            all.extend(tokens.into_iter().map(|token| if said { token + mark } else { token }));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_are_marked() {
        let source = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}{% if add_generation_prompt %}a:{% endif %}";
        let template = ChatTemplate::new(source, "", "").expect("sound");
        let talk = [("user", "x"), ("assistant", "yz"), ("user", "x"), ("assistant", "z"), ("user", "x")];
        let talk = talk.map(|(role, content)| ChatMessage::new(role, content)).to_vec();
        let tokens = marked_tokens(&[talk], &Tokenizer::Bytes, &template).expect("bytes");
        let plain: String = tokens.iter().map(|token| (token % 256) as u8 as char).collect();
        let marked: String = tokens.iter().map(|token| if *token >= 256 { '^' } else { '.' }).collect();
        // What follows the last answer teaches nothing and is left out.
        assert_eq!((plain.as_str(), marked.as_str()), ("u:x;a:yz;u:x;a:z;", "......^^^......^^"));
    }

    #[test]
    fn broken_lines_are_said_with_their_number() {
        let path = std::env::temp_dir().join(format!("farad-conversations-{}.jsonl", std::process::id()));
        for (text, wanted) in [
            ("\n{\"messages\":[{\"role\":\"user\"}]}", "line 2: missing field `content`"),
            ("{\"messages\":[]}", "line 1: there is no answer"),
            ("no", "line 1: expected"),
        ] {
            std::fs::write(&path, text).expect("writes");
            let said = read_conversations(&path).unwrap_err().to_string();
            assert!(said.contains(wanted) && said.contains("\nhelp: "), "{said}");
        }
        std::fs::remove_file(&path).expect("removes");
    }
}
