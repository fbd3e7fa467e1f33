//! Which address is answered by what.
//!
//! Invariant: every request passes [`AccessRule::verdict`] before anything else looks at it, and every answer leaves through
//! [`protect`]. Start at [`router`].

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, Multipart, RawQuery, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use farad::train::Signature;
use farad_web::{FILE_POLICY, PAGE_POLICY, protect};
use serde_json::{Value, json};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use crate::Listening;
use crate::access::AccessRule;
use crate::answers::{RequestRefusal, json_text};
use crate::chat::{ChatForm, ChatOrder};
use crate::limits::ServeLimits;
use crate::model::{Facts, ModelThread, RequestQueue};
use crate::predictions::SamplesJob;
use crate::samples;

/// The files of the page.
const PAGE: &str = include_str!("page/index.html");
const SCRIPT: &str = include_str!("page/page.js");
const STYLE: &str = include_str!("page/style.css");

/// What handlers share.
#[derive(Clone)]
pub struct ServingState {
    facts: Arc<Facts>,
    queue: RequestQueue,
    limits: ServeLimits,
    access: Arc<AccessRule>,
    /// Counts requests for text.
    number: Arc<AtomicU64>,
}

impl ServingState {
    /// Of a model at an address.
    pub fn new(model: &ModelThread, options: &Listening, address: SocketAddr) -> ServingState {
        ServingState {
            facts: model.facts().clone(),
            queue: model.queue(),
            limits: options.limits,
            access: Arc::new(AccessRule::new(address.port(), options.token.clone())),
            number: Arc::default(),
        }
    }
}

type Answer = Result<Response, RequestRefusal>;

/// All addresses.
pub fn router(shared: ServingState) -> Router {
    Router::new()
        .route("/", get(async || with_policy("text/html; charset=utf-8", PAGE_POLICY, PAGE)))
        .route("/page.js", get(async || with_policy("text/javascript; charset=utf-8", FILE_POLICY, SCRIPT)))
        .route("/style.css", get(async || with_policy("text/css; charset=utf-8", FILE_POLICY, STYLE)))
        .route("/health", get(async || json_text(&json!({ "status": "ok" }))))
        .route("/model", get(model))
        .route("/predict", post(predict))
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(chat))
        .route("/v1/completions", post(completion))
        .fallback(async || {
            RequestRefusal::missing("serve: there is nothing here\nhelp: GET /model says what is served")
        })
        .method_not_allowed_fallback(async |uri: Uri, method: Method| {
            let takes = if method == Method::POST { "GET" } else { "POST" };
            let why = format!("serve: {} takes no {method}\nhelp: send {takes}", uri.path());
            RequestRefusal::with(StatusCode::METHOD_NOT_ALLOWED, why)
        })
        .layer(from_fn_with_state(shared.clone(), guarded))
        .with_state(shared)
}

/// Refuses what is not for us, and puts the common headers on what is.
async fn guarded(State(shared): State<ServingState>, request: Request, next: Next) -> Response {
    let verdict = shared.access.verdict(request.method(), request.uri(), request.headers());
    let mut response = match verdict {
        Ok(()) => next.run(request).await,
        Err((status, why)) => RequestRefusal::with(status, why).into_response(),
    };
    protect(response.headers_mut());
    response
}

async fn model(State(shared): State<ServingState>) -> Response {
    let mut object = shared.facts.object();
    object["limits"] = json!({
        "body_bytes": shared.limits.body, "samples": shared.limits.samples, "seconds": shared.limits.time.as_secs(),
        "tokens": shared.limits.tokens,
    });
    json_text(&object)
}

async fn models(State(shared): State<ServingState>) -> Response {
    let data = json!([{ "id": shared.facts.name, "object": "model", "created": 0, "owned_by": "farad" }]);
    json_text(&json!({ "object": "list", "data": data }))
}

/// `POST /predict[?top=N]`: JSON, a picture, or a form with pictures.
async fn predict(State(shared): State<ServingState>, RawQuery(query): RawQuery, request: Request) -> Answer {
    let (Some(signature), RequestQueue::Samples(queue)) = (&shared.facts.signature, &shared.queue) else {
        return Err(RequestRefusal::missing(
            "serve: this is a language model\nhelp: POST /v1/chat/completions",
        ));
    };
    let top = top(query.as_deref())?;
    let samples = samples_of(request, signature, shared.limits).await?;
    let (reply, answer) = oneshot::channel();
    queue.try_send(SamplesJob { samples, reply }).map_err(|error| full(&error, shared.limits))?;
    let said = tokio::time::timeout(shared.limits.time, answer).await.map_err(|_| too_late(shared.limits))?;
    let said = said
        .map_err(|_| RequestRefusal::busy("serve: the server is ending"))?
        .map_err(RequestRefusal::failed)?;
    let all: Vec<Value> = said.iter().map(|said| said.object(&signature.outputs, top).into()).collect();
    Ok(json_text(&json!({ "predictions": all })))
}

/// How many classes a query asks for.
fn top(query: Option<&str>) -> Result<Option<usize>, RequestRefusal> {
    let asked = query.unwrap_or_default().split('&').find_map(|part| part.strip_prefix("top="));
    let read = |text: &str| text.parse().ok().filter(|&top| top > 0);
    match asked {
        None => Ok(None),
        Some(text) => {
            let say =
                || RequestRefusal::wrong(format!("serve: top takes a whole number from 1 on, not `{text}`"));
            read(text).map(Some).ok_or_else(say)
        }
    }
}

/// What a request carries, as samples.
async fn samples_of(
    request: Request,
    signature: &Signature,
    limits: ServeLimits,
) -> Result<Vec<Vec<f32>>, RequestRefusal> {
    let kind = kind(request.headers());
    let (head, body) = request.into_parts();
    let body = whole(&head.headers, body, limits).await?;
    match kind.as_str() {
        "application/json" | "" | "application/x-www-form-urlencoded" => {
            let inputs = signature.inputs.clone();
            apart(move || samples::of_json(&body, &inputs, limits)).await
        }
        "image/png" | "image/jpeg" | "application/octet-stream" => {
            Ok(vec![picture("the body".into(), body, signature).await?])
        }
        "multipart/form-data" => {
            let request = Request::from_parts(head, Body::from(body));
            let form = Multipart::from_request(request, &()).await;
            of_form(form.map_err(|error| wrong_form(&error.to_string()))?, signature, limits).await
        }
        other => Err(RequestRefusal::wrong(format!(
            "serve: unknown content type `{other}`\nhelp: send application/json, image/png, image/jpeg or multipart/form-data"
        ))),
    }
}

/// The content type without its parameters.
fn kind(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The body of a request, as far as it is not too large.
async fn whole(headers: &HeaderMap, body: Body, limits: ServeLimits) -> Result<Bytes, RequestRefusal> {
    let large = || RequestRefusal::large(format!("serve: the body has more than {} bytes", limits.body));
    let said = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if said.is_some_and(|said| said > limits.body) {
        return Err(large());
    }
    let read = tokio::time::timeout(limits.time, to_bytes(body, limits.body)).await;
    let read = read.map_err(|_| RequestRefusal::late("serve: the body did not come in time"))?;
    read.map_err(|error| match error.to_string().contains("length limit") {
        true => large(),
        false => RequestRefusal::wrong("serve: the body broke off\nhelp: send as much as its length says"),
    })
}

/// Every file of a form is a picture.
async fn of_form(
    mut form: Multipart,
    signature: &Signature,
    limits: ServeLimits,
) -> Result<Vec<Vec<f32>>, RequestRefusal> {
    let mut all = vec![];
    while let Some(field) = form.next_field().await.map_err(|error| wrong_form(&error.to_string()))? {
        let name = field.file_name().or(field.name()).unwrap_or("a file").to_string();
        let bytes = field.bytes().await.map_err(|error| wrong_form(&error.to_string()))?;
        all.push(picture(name, bytes, signature).await?);
        samples::check_count(all.len(), limits)?;
    }
    samples::check_count(all.len(), limits)?;
    Ok(all)
}

/// Reads a picture.
async fn picture(name: String, bytes: Bytes, signature: &Signature) -> Result<Vec<f32>, RequestRefusal> {
    let inputs = signature.inputs.clone();
    apart(move || samples::of_picture(&name, &bytes, &inputs)).await
}

/// Does something on a thread of its own, so that other requests do not wait for a large one.
async fn apart<T: Send + 'static>(
    make: impl FnOnce() -> Result<T, RequestRefusal> + Send + 'static,
) -> Result<T, RequestRefusal> {
    let failed = |_| RequestRefusal::failed("serve: the request could not be read: it made the server panic");
    tokio::task::spawn_blocking(make).await.map_err(failed)?
}

fn wrong_form(why: &str) -> RequestRefusal {
    RequestRefusal::wrong(format!("serve: the form cannot be read: {why}"))
}

async fn chat(State(shared): State<ServingState>, request: Request) -> Answer {
    text(shared, ChatForm::Chat, request).await
}

async fn completion(State(shared): State<ServingState>, request: Request) -> Answer {
    text(shared, ChatForm::Prompt, request).await
}

/// Makes a text, and answers at its end or piece by piece.
async fn text(shared: ServingState, form: ChatForm, request: Request) -> Answer {
    let RequestQueue::Text(queue) = &shared.queue else {
        return Err(RequestRefusal::missing("serve: this is no language model\nhelp: POST /predict"));
    };
    let (head, body) = request.into_parts();
    let body = whole(&head.headers, body, shared.limits).await?;
    let number = shared.number.fetch_add(1, Ordering::Relaxed);
    let order = ChatOrder::of(form, &body, &shared.facts.name, number, shared.limits)?;
    let (job, answer) = order.answer();
    queue.try_send(job).map_err(|error| full(&error, shared.limits))?;
    if answer.is_stream() {
        return Ok(answer.streamed());
    }
    tokio::time::timeout(shared.limits.time, answer.whole()).await.map_err(|_| too_late(shared.limits))?
}

fn full<T>(error: &TrySendError<T>, limits: ServeLimits) -> RequestRefusal {
    match error {
        TrySendError::Full(_) => RequestRefusal::busy(format!(
            "serve: {} requests are waiting already\nhelp: try again later",
            limits.waiting
        )),
        TrySendError::Closed(_) => {
            RequestRefusal::failed("serve: the model is gone\nhelp: start the server again")
        }
    }
}

fn too_late(limits: ServeLimits) -> RequestRefusal {
    RequestRefusal::late(format!(
        "serve: the answer took more than {} s\nhelp: ask for less at once",
        limits.time.as_secs()
    ))
}

fn with_policy(kind: &'static str, policy: &'static str, body: &'static str) -> Response {
    let headers: [(HeaderName, &str); 2] = [(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, policy)];
    (headers, body).into_response()
}
