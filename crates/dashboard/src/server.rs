//! The routes of the server.
//!
//! Invariant: every request passes [`HostGuard::verdict`] before anything else looks at it, and every answer leaves
//! through [`protect`]. Only notes can be written, by a page of this very server. Files are read on separate threads, so that a slow disk does not block other
//! requests. Start at [`router`].

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ORIGIN};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use farad::run::Value;
use farad_web::{CIRCUIT_POLICY, FILE_POLICY, HostGuard, PAGE_POLICY, protect};
use percent_encoding::percent_decode_str;
use tokio::sync::Semaphore;

use crate::KindsShown;
use crate::assets;
use crate::circuits::{RecentCircuits, Shown};
use crate::dark::dark;
use crate::details::details;
use crate::library::RunLibrary;
use crate::moving::RecentPages;
use crate::notes;
use crate::stream::{MOST_FOLLOWED, stream};
use crate::watcher::{MOST_PAGES, Watched, watch};
use crate::weights::RecentWeights;

/// The largest file that is served.
const LARGEST_FILE: u64 = 64 << 20;

/// The content type of drawings.
const DRAWING: &str = "image/svg+xml";

/// What handlers share.
#[derive(Clone)]
pub struct ServerState {
    library: RunLibrary,
    watched: Watched,
    port: u16,
    circuits: Arc<RecentCircuits>,
    moving: Arc<RecentPages>,
    weights: Arc<RecentWeights>,
    pages: Arc<Semaphore>,
}

impl ServerState {
    /// Also starts the watcher, so there must be a runtime.
    pub fn new(library: RunLibrary, port: u16, sight: KindsShown) -> ServerState {
        let pages = Arc::new(Semaphore::new(MOST_PAGES));
        let watched = watch(library.clone(), pages.clone(), sight.kinds);
        let circuits = Arc::new(RecentCircuits::new(sight.newest));
        let (moving, weights) = (Arc::new(RecentPages::new(sight.moving)), Arc::default());
        ServerState { library, watched, port, circuits, moving, weights, pages }
    }
}

/// All routes.
pub fn router(shared: ServerState) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/{part}", get(part))
        .route("/events", get(events))
        .route("/runs/{run}/details.json", get(run_details))
        .route("/runs/{run}/notes", post(run_notes))
        .route("/runs/{run}/weights.json", get(run_weights))
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
    let guard = HostGuard { op: "dashboard", port, posts: true };
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
    stream(shared.library, shared.watched, names, place).into_response()
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

async fn run_weights(State(shared): State<ServerState>, Path(run): Path<String>) -> Response {
    answer(move || {
        let told = shared.weights.get(&shared.library.folder(&run)?)?;
        Some(with_policy("application/json", FILE_POLICY, told.as_str().to_string()))
    })
    .await
}

/// `POST /runs/{run}/notes`: replaces notes and tags.
async fn run_notes(State(shared): State<ServerState>, Path(run): Path<String>, request: Request) -> Response {
    let refuse = |status: StatusCode, why: &str| (status, format!("dashboard: {why}\n")).into_response();
    if !is_own_page(request.headers()) {
        return refuse(StatusCode::FORBIDDEN, "refused: notes are written by the dashboard's page");
    }
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().unwrap_or_default().trim() != "application/json" {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "notes are sent as application/json");
    }
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let Some(body) = whole(length, request.into_body()).await else {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, "the notes are too large");
    };
    let Some(folder) = shared.library.folder(&run) else { return missing() };
    match tokio::task::spawn_blocking(move || notes::replace(&folder, &body)).await {
        Ok(Ok(now)) => text_of(&now),
        Ok(Err((status, why))) => refuse(status, &why),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Whether a request that writes says where it comes from; the guard has checked that this is here. Browsers always say
/// it, and a form of another site could not.
fn is_own_page(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN)
}

/// The body of a request that writes; none if it is, or says that it is, too long.
async fn whole(length: Option<u64>, body: Body) -> Option<Bytes> {
    let fits = length.is_none_or(|length| length <= notes::LONGEST_REQUEST as u64);
    if fits { to_bytes(body, notes::LONGEST_REQUEST).await.ok() } else { None }
}

async fn circuit_facts(State(shared): State<ServerState>, Path(run): Path<String>) -> Response {
    circuit(shared, run, |shown| Some(text_of(&shown.facts))).await
}

async fn circuit_drawing(
    State(shared): State<ServerState>,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let dark = is_dark(query.as_deref());
    circuit(shared, run, move |shown| {
        let drawing = shown.drawing.clone()?.into_bytes();
        Some(with_policy(DRAWING, FILE_POLICY, painted(drawing, dark)))
    })
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
async fn circuit(
    shared: ServerState,
    run: String,
    made: impl FnOnce(&Shown) -> Option<Response> + Send + 'static,
) -> Response {
    answer(move || made(&*shared.circuits.get(&shared.library.folder(&run)?)?)).await
}

/// A file of a run; `?theme=dark` paints drawings for dark pages.
async fn file(
    State(shared): State<ServerState>,
    Path((run, path)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let dark = is_dark(query.as_deref());
    answer(move || {
        let (path, kind) = shared.library.file(&run, &path)?;
        let small = std::fs::metadata(&path).ok()?.len() <= LARGEST_FILE;
        let bytes = small.then(|| std::fs::read(path).ok()).flatten()?;
        Some(with_policy(kind, FILE_POLICY, painted(bytes, dark && kind == DRAWING)))
    })
    .await
}

/// Whether a query asks for a drawing for dark pages.
fn is_dark(query: Option<&str>) -> bool {
    query.unwrap_or_default().split('&').any(|part| part == "theme=dark")
}

/// A drawing as it is, or for dark pages.
fn painted(drawing: Vec<u8>, is_dark: bool) -> Vec<u8> {
    match std::str::from_utf8(&drawing) {
        Ok(svg) if is_dark => dark(svg).into_bytes(),
        _ => drawing,
    }
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
