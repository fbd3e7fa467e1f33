//! Server-sent events for one page: changes of the table, new rows and events of the runs that it shows, and the load.
//!
//! Invariant: nothing accumulates. Messages wait in a short channel, and files are read only once there is room
//! in it. A page that reconnects is sent everything again, so no position needs to be kept. Start at
//! [`stream`].

use std::convert::Infallible;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use farad::run::{Value, json};
use futures_core::Stream;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::library::RunLibrary;
use crate::rows::LogRows;
use crate::summary::parsed;
use crate::tail::Tail;
use crate::watcher::{PERIOD, Runs, Watched};

/// Most messages that wait for a slow page.
const WAITING: usize = 4;

/// Most runs that one page may follow.
pub const MOST_FOLLOWED: usize = 64;

/// The receiving end of the stream.
pub struct Messages {
    receiver: mpsc::Receiver<Event>,
    /// Released when the page goes away.
    _place: OwnedSemaphorePermit,
}

impl Stream for Messages {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.receiver.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// A run that a page shows.
struct Followed {
    name: String,
    folder: PathBuf,
    rows: LogRows,
    events: Tail,
    told: bool,
}

impl Followed {
    fn new(name: String, folder: PathBuf) -> Followed {
        let (rows, events) = (LogRows::new(&folder), Tail::new(&folder.join("events.jsonl")));
        Followed { name, folder, rows, events, told: false }
    }

    /// What is new, if anything, and whether there is more to read immediately.
    fn look(&mut self) -> (Option<Value>, bool) {
        let (rows, events) = (self.rows.look(), self.events.look());
        let happened: Vec<Value> = events.lines.iter().filter_map(|line| parsed(line)).collect();
        let restarted = rows.restarted || events.restarted;
        if restarted {
            // Both files from the beginning, so that the page need not know which of them restarted.
            *self = Followed::new(std::mem::take(&mut self.name), std::mem::take(&mut self.folder));
            return (None, true);
        }
        let more = rows.more || events.more;
        if self.told && rows.rows.is_empty() && happened.is_empty() {
            return (None, more);
        }
        let message = json!({
            "run": self.name,
            "reset": !self.told,
            "columns": self.rows.columns(),
            "rows": rows.json(),
            "events": happened,
        });
        self.told = true;
        (Some(message), more)
    }
}

/// Starts the messages for a page that shows these runs.
pub fn stream(
    library: RunLibrary,
    mut watched: Watched,
    names: Vec<String>,
    place: OwnedSemaphorePermit,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    // This page does not know the previous table.
    watched.runs.mark_changed();
    tokio::spawn(async move {
        // If the page is gone, its messages end; there is nobody to tell.
        let _ = follow(&library, watched, names, &sender).await;
    });
    let alive = KeepAlive::new().interval(Duration::from_secs(15));
    Sse::new(Messages { receiver, _place: place }).keep_alive(alive)
}

/// Sends what is new until the page goes away.
async fn follow(
    library: &RunLibrary,
    mut watched: Watched,
    names: Vec<String>,
    sender: &mpsc::Sender<Event>,
) -> Result<(), mpsc::error::SendError<Event>> {
    let (mut seen, mut known): (u64, Vec<String>) = (0, vec![]);
    let mut followed: Vec<Followed> = vec![];
    loop {
        if watched.runs.has_changed().unwrap_or(false) {
            let now = watched.runs.borrow_and_update().clone();
            if now.look > 0 {
                sender.send(message("runs", &changes(library, &now, seen, &known))).await?;
                (seen, known) = (now.look, now.rows.keys().cloned().collect());
            }
        }
        if watched.load.has_changed().unwrap_or(false) {
            let load = watched.load.borrow_and_update().clone();
            sender.send(message("load", &load)).await?;
        }
        for name in &names {
            if followed.iter().all(|run| run.name != *name)
                && let Some(folder) = library.folder(name)
            {
                followed.push(Followed::new(name.clone(), folder));
            }
        }
        let mut again = false;
        for run in &mut followed {
            let place = sender.reserve().await.map_err(|_| mpsc::error::SendError(Event::default()))?;
            let name = run.name.clone();
            let mut taken = std::mem::replace(run, Followed::new(String::new(), PathBuf::new()));
            let looked = tokio::task::spawn_blocking(move || (taken.look(), taken)).await;
            let Ok(((new, more), back)) = looked else { return Ok(()) };
            *run = back;
            again |= more;
            if let Some(new) = new {
                tracing::trace!("dashboard: told of {name}");
                place.send(message("rows", &new));
            }
        }
        if !again {
            tokio::time::sleep(PERIOD).await;
        }
        if sender.is_closed() {
            return Ok(());
        }
    }
}

/// The rows of the table that changed after poll `seen`, and the names that are gone.
fn changes(library: &RunLibrary, now: &Runs, seen: u64, known: &[String]) -> Value {
    let newer = now.rows.iter().filter(|(_, (look, _))| *look > seen);
    let rows: Vec<Value> = newer
        .map(|(name, (_, row))| {
            let mut row = row.clone();
            row["name"] = name.as_str().into();
            row
        })
        .collect();
    let gone: Vec<&String> = known.iter().filter(|name| !now.rows.contains_key(*name)).collect();
    let folder = library.root().display().to_string();
    json!({ "reset": seen == 0, "folder": folder, "more": now.more, "runs": rows, "gone": gone })
}

fn message(name: &str, value: &Value) -> Event {
    Event::default().event(name).data(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchFolder;

    #[test]
    fn a_run_is_told_once_and_anew_when_it_starts_over() {
        let scratch = ScratchFolder::new();
        scratch.run("run", "fit");
        let mut run = Followed::new("run".into(), scratch.path("run"));
        let first = run.look().0.unwrap();
        assert_eq!((&first["reset"], &first["rows"]), (&json!(true), &json!([])));
        assert_eq!(run.look(), (None, false));
        scratch.write("run/log.csv", "step,loss\n1,2\n");
        let row = run.look().0.unwrap();
        assert_eq!(
            (&row["reset"], &row["columns"], &row["rows"]),
            (&json!(false), &json!(["loss"]), &json!([[1, 2.0]]))
        );
        scratch.write("run/events.jsonl", "{\"event\":\"start\",\"step\":0}\nno event\n3\n");
        assert_eq!(run.look().0.unwrap()["events"], json!([{ "event": "start", "step": 0 }]));
        scratch.write("run/log.csv", "step,loss\n1,3\n");
        assert_eq!(run.look(), (None, true));
        let anew = run.look().0.unwrap();
        assert_eq!((&anew["reset"], &anew["rows"]), (&json!(true), &json!([[1, 3.0]])));
        assert_eq!(anew["events"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn only_what_changed_is_sent() {
        let library = RunLibrary::expect(std::path::Path::new("runs"));
        let mut now = Runs { look: 5, ..Runs::default() };
        now.rows.insert("old".into(), (2, json!({})));
        now.rows.insert("new".into(), (5, json!({})));
        let told = changes(&library, &now, 4, &["old".into(), "gone".into()]);
        assert_eq!(told["runs"], json!([{ "name": "new" }]));
        assert_eq!((&told["gone"], &told["reset"]), (&json!(["gone"]), &json!(false)));
        assert_eq!(changes(&library, &now, 0, &[])["runs"].as_array().unwrap().len(), 2);
    }
}
