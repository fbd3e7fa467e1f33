//! Notes and tags that the page writes into a run's folder: the only thing that the dashboard ever writes.
//!
//! Invariant: what somebody else wrote meanwhile is not lost. A request says which notes it replaces, and is refused
//! if they are no longer those. Start at [`replace`].

use std::path::Path;

use axum::http::StatusCode;
use farad::run::{Notes, Value, json};

use crate::library::is_run;

/// Most bytes of a request.
pub const LONGEST_REQUEST: usize = 128 << 10;

/// Why notes were not written: the status of the answer and a sentence.
pub type Refusal = (StatusCode, String);

/// Notes as the page reads them; for a damaged file, what is wrong with it.
pub fn told(folder: &Path) -> Value {
    match Notes::of(folder) {
        Ok(notes) => json!(notes),
        Err(error) => json!({ "problem": first_line(&error.to_string()) }),
    }
}

/// Replaces the notes of a run by those of a request: `{"tags": […], "text": "…", "before": {"tags": […], "text": "…"}}`.
/// Returns them as they are now.
pub fn replace(folder: &Path, request: &[u8]) -> Result<Value, Refusal> {
    if !is_run(folder) {
        return Err((StatusCode::NOT_FOUND, "there is no such run".into()));
    }
    let text = std::str::from_utf8(request).ok();
    let request: Option<Value> = text.and_then(|text| text.parse().ok());
    let read =
        |value: &Value| notes(value).ok_or_else(|| wrong("it is not `tags`, `text` and `before`".into()));
    let request = request.ok_or_else(|| wrong("it is not JSON".into()))?;
    let (asked, before) = (read(&request)?, read(&request["before"])?);
    let asked =
        Notes::new(&asked.tags, &asked.text).map_err(|error| wrong(first_line(&error.to_string())))?;
    let conflict = |why: String| (StatusCode::CONFLICT, why);
    let now = Notes::of(folder).map_err(|error| conflict(first_line(&error.to_string())))?;
    if now != before && now != asked {
        return Err(conflict("the notes were changed elsewhere meanwhile".into()));
    }
    asked
        .write(folder)
        .map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, first_line(&error.to_string())))?;
    Ok(json!(asked))
}

/// Notes in a request, not yet checked.
fn notes(value: &Value) -> Option<Notes> {
    let tags = value["tags"].as_array()?.iter().map(|tag| tag.as_str().map(str::to_string));
    Some(Notes { tags: tags.collect::<Option<_>>()?, text: value["text"].as_str()?.into() })
}

fn wrong(why: String) -> Refusal {
    (StatusCode::BAD_REQUEST, why)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchFolder;

    #[test]
    fn notes_are_replaced_and_nobody_is_overwritten() {
        let scratch = ScratchFolder::new();
        scratch.run("run", "fit");
        let folder = scratch.path("run");
        let ask = |text: &str| replace(&folder, text.as_bytes()).map_err(|(status, _)| status.as_u16());
        let none = r#"{"tags":[],"text":""}"#;
        let first = format!(r#"{{"tags":["a"," b ","a"],"text":" <b>\n","before":{none}}}"#);
        assert_eq!(ask(&first), Ok(json!({ "tags": ["a", "b"], "text": "<b>" })));
        assert_eq!(ask(&first), Ok(told(&folder)), "the same again changes nothing");
        let late = format!(r#"{{"tags":["c"],"text":"","before":{none}}}"#);
        assert_eq!(ask(&late), Err(409));
        let none_left = r#"{"tags":[],"text":"","before":{"tags":["a","b"],"text":"<b>"}}"#;
        assert!(ask(none_left).is_ok() && !folder.join("notes.json").exists());
        for wrong in ["", "{", "[]", r#"{"tags":[1],"text":"","before":{}}"#, r#"{"tags":["a"],"text":""}"#] {
            assert_eq!(ask(wrong), Err(400), "{wrong}");
        }
        assert_eq!(ask(&format!(r#"{{"tags":["a,b"],"text":"","before":{none}}}"#)), Err(400));
        scratch.write("run/notes.json", "{");
        assert_eq!(ask(&first), Err(409), "a damaged file is not written over");
        assert!(told(&folder)["problem"].as_str().unwrap().starts_with("notes: damaged: "));
        assert_eq!(replace(&scratch.path("none"), b"{}").unwrap_err().0, StatusCode::NOT_FOUND);
    }
}
