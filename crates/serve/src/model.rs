//! The thread that owns the model, and the queue before it.
//!
//! Models stay on one thread: the device computes one thing at a time anyway, and what waits meanwhile forms the next batch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use farad::train::{Outputs, Predictor, Signature};
use farad_lm::train::Learned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::error::{Error, Result};
use crate::limits::ServeLimits;
use crate::predictions::{self, SamplesJob};
use crate::text::{self, TextJob};

/// How long the thread may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

type Opens<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// What is served. It is opened on the thread that will own it.
pub struct Served {
    name: String,
    open: ServedKind,
}

enum ServedKind {
    Samples(Opens<Box<dyn Predictor>>),
    Text(Opens<Learned>),
}

impl Served {
    /// A model that predicts samples, under a name.
    pub fn samples(
        name: impl Into<String>,
        open: impl FnOnce() -> Result<Box<dyn Predictor>> + Send + 'static,
    ) -> Served {
        Served { name: name.into(), open: ServedKind::Samples(Box::new(open)) }
    }

    /// A language model, under a name.
    pub fn text(name: impl Into<String>, open: impl FnOnce() -> Result<Learned> + Send + 'static) -> Served {
        Served { name: name.into(), open: ServedKind::Text(Box::new(open)) }
    }
}

/// What is known of a model outside its thread.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What it is called.
    pub name: String,
    /// What it takes and says; none for a language model.
    pub signature: Option<Signature>,
    /// The tokens that a language model sees at once.
    pub context: usize,
}

impl Facts {
    /// In a line.
    pub fn words(&self) -> String {
        match &self.signature {
            Some(Signature { inputs, outputs: Outputs::Classes(classes) }) => {
                format!("{}: takes {}, says one of {} classes", self.name, inputs.words(), classes.len())
            }
            Some(Signature { inputs, outputs: Outputs::Numbers(names) }) => {
                format!("{}: takes {}, says {}", self.name, inputs.words(), names.join(", "))
            }
            None => format!("{}: a language model with a context of {} tokens", self.name, self.context),
        }
    }

    /// As JSON.
    pub fn object(&self) -> Value {
        match &self.signature {
            Some(signature) => json!({
                "name": self.name, "kind": "samples", "shape": signature.inputs.shape().to_vec(),
                "inputs": signature.inputs, "outputs": signature.outputs,
            }),
            None => json!({ "name": self.name, "kind": "text", "context": self.context }),
        }
    }
}

/// Where requests wait.
#[derive(Clone)]
pub enum RequestQueue {
    /// Samples to be predicted.
    Samples(mpsc::Sender<SamplesJob>),
    /// Texts to be continued.
    Text(mpsc::Sender<TextJob>),
}

/// A model on its thread.
pub struct ModelThread {
    facts: Arc<Facts>,
    queue: RequestQueue,
    thread: JoinHandle<()>,
}

impl ModelThread {
    /// Opens the model and waits until it is ready.
    pub fn start(served: Served, limits: ServeLimits) -> Result<ModelThread> {
        let (ready, opened) = oneshot::channel();
        let (thread, queue) = match served.open {
            ServedKind::Samples(open) => {
                let (queue, jobs) = mpsc::channel(limits.waiting);
                let run = move || {
                    let model = opens(open);
                    let model = model.and_then(|model| predictions::warm(&*model, limits).map(|()| model));
                    let facts = model.as_ref().map(|model| (Some(model.signature().clone()), 0));
                    if let Some(model) = told(ready, facts.map_err(|_| ()), model) {
                        predictions::work(&*model, jobs, limits);
                    }
                };
                (std::thread::spawn(run), RequestQueue::Samples(queue))
            }
            ServedKind::Text(open) => {
                let (queue, jobs) = mpsc::channel(limits.waiting);
                let run = move || {
                    let model = opens(open);
                    let facts = model.as_ref().map(|model| (None, model.model.options().context));
                    if let Some(model) = told(ready, facts.map_err(|_| ()), model) {
                        text::work(&model, jobs, limits);
                    }
                };
                (std::thread::spawn(run), RequestQueue::Text(queue))
            }
        };
        let (signature, context) = opened.blocking_recv().map_err(|_| Error::Panicked)??;
        Ok(ModelThread { facts: Arc::new(Facts { name: served.name, signature, context }), queue, thread })
    }

    /// What is known of it.
    pub fn facts(&self) -> &Arc<Facts> {
        &self.facts
    }

    /// Where its requests wait.
    pub fn queue(&self) -> RequestQueue {
        self.queue.clone()
    }

    /// Lets the thread finish what it has.
    pub fn end(self) {
        drop(self.queue);
        let begin = Instant::now();
        while !self.thread.is_finished() && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

type Told = (Option<Signature>, usize);

/// Opens a model; a panic is an error.
fn opens<T>(open: Opens<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(open)).unwrap_or(Err(Error::Panicked))
}

/// Tells the facts of a model, or why there is none; gives the model.
fn told<T>(
    ready: oneshot::Sender<Result<Told>>,
    facts: std::result::Result<Told, ()>,
    model: Result<T>,
) -> Option<T> {
    match (facts, model) {
        (Ok(facts), Ok(model)) => ready.send(Ok(facts)).is_ok().then_some(model),
        (_, Err(error)) => {
            let _ = ready.send(Err(error));
            None
        }
        (Err(()), Ok(_)) => None,
    }
}
