//! The routes of the server.
//!
//! Invariant: every request passes [`HostGuard::verdict`] before anything else looks at it, and every answer leaves
//! through [`protect`]. Files are read on separate threads, so that a slow disk does not block other
//! requests. Start at [`router`].

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderName, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use farad::run::Value;
use farad_web::{CIRCUIT_POLICY, FILE_POLICY, HostGuard, PAGE_POLICY, protect};
use percent_encoding::percent_decode_str;
use tokio::sync::Semaphore;
use tokio::sync::watch::Receiver;

use crate::KindsShown;
use crate::assets;
use crate::circuits::{RecentCircuits, Shown};
use crate::details::details;
use crate::library::RunLibrary;
use crate::moving::RecentPages;
use crate::stream::{MOST_FOLLOWED, stream};
use crate::watcher::{MOST_PAGES, Runs, watch};

/// The largest file that is served.
const LARGEST_FILE: u64 = 64 << 20;

/// What handlers share.
#[derive(Clone)]
pub struct ServerState {
    library: RunLibrary,
    runs: Receiver<Arc<Runs>>,
    port: u16,
    circuits: Arc<RecentCircuits>,
    moving: Arc<RecentPages>,
    pages: Arc<Semaphore>,
}

impl ServerState {
    /// Also starts the watcher, so there must be a runtime.
    pub fn new(library: RunLibrary, port: u16, sight: KindsShown) -> ServerState {
        let pages = Arc::new(Semaphore::new(MOST_PAGES));
        let runs = watch(library.clone(), pages.clone(), sight.kinds);
        let (circuits, moving) = (RecentCircuits::new(sight.newest), RecentPages::new(sight.moving));
        ServerState { library, runs, port, circuits: Arc::new(circuits), moving: Arc::new(moving), pages }
    }
}

/// All routes.
pub fn router(shared: ServerState) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/{part}", get(part))
        .route("/events", get(events))
        .route("/runs/{run}/details.json", get(run_details))
        .route("/runs/{run}/circuit.json", get(circuit_facts))
        .route("/runs/{run}/circuit.svg", get(circuit_drawing))
        .route("/runs/{run}/page", get(circuit_page))
        .route("/runs/{run}/moving", get(moving_page))
        .route("/runs/{run}/files/{*path}", get(file))
        .layer(from_fn_with_state(shared.port, guarded))
        .with_state(shared)
}

/// Rejects requests that are not for us, and adds the common headers to answers.
async fn guarded(State(port): State<u16>, request: Request, next: Next) -> Response {
    let guard = HostGuard { op: "dashboard", port, posts: false };
    let mut response = match guard.verdict(request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err((status, why)) => {
            tracing::debug!(
                "dashboard: refused {} {}: {}",
                request.method(),
                request.uri().path(),
                why.trim()
            );
            (status, why).into_response()
        }
    };
    protect(response.headers_mut());
    response
}

async fn page() -> Response {
    with_policy("text/html; charset=utf-8", PAGE_POLICY, assets::PAGE)
}

async fn part(Path(name): Path<String>) -> Response {
    match assets::part(&name) {
        Some((kind, text)) => with_policy(kind, FILE_POLICY, text),
        None => missing(),
    }
}

/// The stream of changes; `?run=a&run=b` names the runs whose rows are wanted.
async fn events(State(shared): State<ServerState>, RawQuery(query): RawQuery) -> Response {
    let Ok(place) = shared.pages.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "dashboard: too many pages are open\n").into_response();
    };
    let names = followed(query.as_deref().unwrap_or_default());
    stream(shared.library, shared.runs, names, place).into_response()
}

/// The runs that a query names, each once.
fn followed(query: &str) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for value in query.split('&').filter_map(|part| part.strip_prefix("run=")) {
        let Ok(name) = percent_decode_str(value).decode_utf8() else { continue };
        if names.len() < MOST_FOLLOWED && !names.contains(&name.as_ref().to_string()) {
            names.push(name.into_owned());
        }
    }
    names
}

async fn run_details(State(shared): State<ServerState>, Path(run): Path<String>) -> Response {
    answer(move || details(&shared.library.folder(&run)?).map(|details| text_of(&details))).await
}

async fn circuit_facts(State(shared): State<ServerState>, Path(run): Path<String>) -> Response {
    circuit(shared, run, |shown| Some(text_of(&shown.facts))).await
}

async fn circuit_drawing(State(shared): State<ServerState>, Path(run): Path<String>) -> Response {
    circuit(shared, run, |shown| Some(with_policy("image/svg+xml", FILE_POLICY, shown.drawing.clone()?)))
        .await
}

async fn circuit_page(State(shared): State<ServerState>, Path(run): Path<String>) -> Response {
    circuit(shared, run, |shown| {
        Some(with_policy("text/html; charset=utf-8", CIRCUIT_POLICY, shown.page.clone()))
    })
    .await
}

/// The newest policy of a run, in motion.
async fn moving_page(State(shared): State<ServerState>, Path(run): Path<String>) -> Response {
    answer(move || {
        let page = shared.moving.get(&shared.library.folder(&run)?)?;
        Some(with_policy("text/html; charset=utf-8", CIRCUIT_POLICY, page.to_string()))
    })
    .await
}

/// An answer made from the newest circuit of a run.
async fn circuit(shared: ServerState, run: String, made: fn(&Shown) -> Option<Response>) -> Response {
    answer(move || made(&*shared.circuits.get(&shared.library.folder(&run)?)?)).await
}

async fn file(State(shared): State<ServerState>, Path((run, path)): Path<(String, String)>) -> Response {
    answer(move || {
        let (path, kind) = shared.library.file(&run, &path)?;
        let small = std::fs::metadata(&path).ok()?.len() <= LARGEST_FILE;
        let bytes = small.then(|| std::fs::read(path).ok()).flatten()?;
        Some(with_policy(kind, FILE_POLICY, bytes))
    })
    .await
}

/// Makes an answer on a separate thread; `None` becomes "not found".
async fn answer(make: impl FnOnce() -> Option<Response> + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(make).await {
        Ok(found) => found.unwrap_or_else(missing),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn text_of(value: &Value) -> Response {
    with_policy("application/json", FILE_POLICY, value.to_string())
}

fn with_policy(kind: &'static str, policy: &'static str, body: impl IntoResponse) -> Response {
    let headers: [(HeaderName, &str); 2] = [(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, policy)];
    (headers, body).into_response()
}

fn missing() -> Response {
    (StatusCode::NOT_FOUND, "dashboard: there is nothing here\n").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_name_runs() {
        assert_eq!(followed(""), Vec::<String>::new());
        assert_eq!(followed("run=a&other=b&run=a&run=odd%20%26name&run=%ff&run=+"), ["a", "odd &name", "+"]);
        let many: Vec<String> = (0..100).map(|n| format!("run={n}")).collect();
        assert_eq!(followed(&many.join("&")).len(), MOST_FOLLOWED);
    }
}
