//! Runs: a training that can be looked at, stopped and continued, as a folder.
//!
//! A [`Run`] is the folder. Nothing here knows what is trained.
//!
//! - `config.toml` is everything needed to train again.
//! - `log.csv` ([`Log`]) has one row per logged step. On resuming it is cut back to the checkpoint.
//! - `events.jsonl` ([`Events`]) says what happened and when.
//! - `checkpoint.safetensors` ([`Checkpoint`]) is where training stands. It is written atomically (temporary
//!   file, fsync, rename), with a version and a checksum of all its contents.
//! - `checkpoint.previous.safetensors` is the checkpoint before it. It is a second name of the file, so it
//!   costs no time. Where the last checkpoint is damaged, the error names this one.
//! - `notes.json` ([`Notes`]) has what people wrote about the run.
//! - `result.json` ([`Conclusion`]) says how good the run was, and for which step.
//! - Plots and a report, as `report.md` and as `report.html`, which has the pictures inside.
//!
//! One process holds the folder's lock from the first update until the report is written. Files that killed
//! processes left unfinished are removed when a run goes on.
//!
//! Tests of failures: `FARAD_FAULT=lose-device:N` and `memory:BYTES` make GPUs fail. Other faults are in
//! `crates/cli/tests/faults.rs`, kills in `crates/cli/tests/kills`, damaged files of every format in
//! `crates/cli/tests/formats`.
//!
//! Invariant: a run that was killed at any moment and resumed from its checkpoint ends with the same
//! checkpoint and the same log as one that was never interrupted.
//!
//! ```
//! use farad::prelude::*;
//! use farad::run::{Checkpoint, Run};
//! # let folder = std::env::temp_dir().join(format!("farad-doc-run-{}", std::process::id()));
//! # let _ = std::fs::remove_dir_all(&folder);
//! let run = Run::create(&folder, "example", farad::run::Table::new())?;
//! let mut log = run.create_log(&["loss"])?;
//! let weight = Parameter::new(Tensor::ones([2], &Device::cpu()));
//! let mut sgd = Sgd::new(vec![weight.clone()]);
//! for step in 1..=10 {
//!     let loss = weight.value().square().sum();
//!     sgd.step(&loss)?;
//!     log.row(step, &[loss.item()?.into()])?;
//! }
//! let mut checkpoint = Checkpoint::new("example", 10);
//! checkpoint.put("weight", &weight.value());
//! checkpoint.put_all("sgd", sgd.state()?);
//! run.save(&checkpoint, &mut log)?;
//! # drop(run);
//! # let run = Run::open(&folder)?;
//! let back = run.checkpoint()?.expect("one was saved");
//! assert_eq!(back.step(), 10);
//! weight.set(back.tensor("weight", weight.value().shape(), &Device::cpu())?);
//! sgd.restore(&back.tensors("sgd", &Device::cpu())?)?;
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), farad::Error>(())
//! ```

mod checkpoint;
mod conclusion;
mod events;
mod folder;
mod former;
mod html;
mod interrupt;
mod log;
mod notes;
mod page;
mod picture;
mod shell;
mod visible;

pub use checkpoint::Checkpoint;
pub use conclusion::Conclusion;
pub use events::Events;
pub(crate) use events::MEMORY_OF_RANKS;
pub use farad_chart::{
    Bars, Chart, Matrix, Parallel, Series, Sheet, Stack, Thumbnail, base64, bytes, count, counted, number,
    thousands,
};
pub use farad_tensor::engine::write_whole;
pub use folder::Run;
pub use former::current_name;
pub use interrupt::Stop;
pub use log::{Log, LogCell, LogTable};
pub use notes::Notes;
pub use page::Page;
pub use picture::{Picture, Rgb};
pub use serde_json::{Value, json};
pub use shell::shell_word;
pub use toml::Table;
pub use visible::visible;
