//! `farad serve`: predictions and text over HTTP. The server is in `farad-serve`.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueHint};
use farad::Device;
use farad::run::{Run, Stop, json};
use farad::train::run_device;
use farad_lm::train::{KIND as LANGUAGE, Learned};
use farad_serve::{Listening, ServeLimits, Served, Server};

use crate::arguments::{DeviceFlag, OutputFlags, whole};
use crate::error::Result;
use crate::kinds::KINDS;
use crate::look;
use crate::predict::ModelInUse;
use crate::signals::on_ending;
use crate::source::open_run;

pub const SERVE_EXAMPLES: &str = "\
Examples:
  farad serve runs/mnist-1                      predictions at http://127.0.0.1:8018/
  farad serve model.onnx --port 0               an ONNX model, at any free port
  farad serve runs/lm-1                         a language model, in the form of the OpenAI API
  farad serve runs/csv-1 --host 0.0.0.0 --token SECRET

Ask it:
  curl http://127.0.0.1:8018/predict -F picture=@digit.png
  curl http://127.0.0.1:8018/predict -d '{\"samples\": [{\"age\": 41, \"height\": 1.8}]}'
  curl http://127.0.0.1:8018/v1/chat/completions -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Once\"}], \"stream\": true}'

Addresses:
  /                       a page to try it
  /model                  what is served: inputs, outputs, limits
  /health                 whether it answers
  /predict                networks and circuits: JSON, a PNG or JPEG body, or a form with pictures; ?top=N
  /v1/models, /v1/chat/completions, /v1/completions    language models

It answers only this machine. Beyond that (--host) it asks for a token, which FARAD_TOKEN may hold. Requests that wait together
are computed together. Ctrl-C answers what was accepted, and ends.

Keys of --json:
  address, model";

/// Options of `farad serve`.
#[derive(Debug, Args)]
pub struct ServeOptions {
    /// The folder of a run, or an ONNX model
    #[arg(value_name = "RUN|MODEL.onnx", value_hint = ValueHint::AnyPath)]
    pub source: PathBuf,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = host)]
    pub host: IpAddr,
    /// The port; 0 takes any free one
    #[arg(long, value_name = "N", default_value_t = 8018, allow_negative_numbers = true, value_parser = whole(0, u16::MAX))]
    pub port: u16,
    /// What requests must carry: `Authorization: Bearer TEXT` [default: the value of FARAD_TOKEN, if any]
    #[arg(long, value_name = "TEXT")]
    pub token: Option<String>,
    /// Seconds that a request may wait for its answer
    #[arg(long, value_name = "S", default_value_t = 30, allow_negative_numbers = true, value_parser = whole(1, 86_400u64))]
    pub seconds: u64,
    /// Mebibytes that a request may have
    #[arg(long, value_name = "N", default_value_t = 16, allow_negative_numbers = true, value_parser = whole(1, 4096usize))]
    pub most_megabytes: usize,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// The address that a text names.
fn host(text: &str) -> std::result::Result<IpAddr, &'static str> {
    match text {
        "localhost" => Ok(Ipv4Addr::LOCALHOST.into()),
        _ => text.parse().map_err(|_| "it takes an address such as 127.0.0.1, 0.0.0.0 or ::1"),
    }
}

/// Serves until Ctrl-C.
pub fn run(options: &ServeOptions) -> Result<()> {
    crate::ranks::one_process("serve")?;
    let served = served(options)?;
    let token = options.token.clone().or_else(|| farad::ENVIRONMENT.token.clone());
    let limits = ServeLimits {
        body: options.most_megabytes << 20,
        time: Duration::from_secs(options.seconds),
        ..ServeLimits::default()
    };
    let listening = Listening { host: options.host, port: options.port, token, limits };
    let server = Server::open(listening, served)?;
    let stop = Stop::new();
    let asked = stop.clone();
    // The second time the process ends at once.
    on_ending(move |ending| if asked.is_set() { ending.now() } else { asked.set() });
    let (address, words) = (server.address(), server.words());
    let mut out = look::out();
    match options.output.json {
        true => writeln!(out, "{}", json!({ "address": address, "model": words }))?,
        false => writeln!(out, "{address}")?,
    }
    out.flush()?;
    drop(out);
    let talk = options.output.talk();
    talk.say(words);
    talk.say("Ctrl-C ends it");
    Ok(server.serve(&stop)?)
}

/// What lies at a path, to be opened on the server's thread.
fn served(options: &ServeOptions) -> Result<Served> {
    let path = options.source.clone();
    let name = called(&path);
    if path.is_file() && path.extension().is_some_and(|end| end == "onnx") {
        let device = options.device.or_best()?;
        return Ok(Served::samples(name, move || {
            Ok(Box::new(ModelInUse::open(&path, &device).map_err(unusable)?))
        }));
    }
    let run = open_run(&path)?;
    let asked = options.device.asked()?;
    if run.kind() == LANGUAGE {
        let device = the_device(asked, || Ok(run_device(&run)?))?;
        return Ok(Served::text(name, move || Ok(Learned::of(&Run::open(&path)?, &device)?)));
    }
    let kind = KINDS.of(&run)?;
    let device = the_device(asked, || Ok(kind.judges_on(&run)?))?;
    Ok(Served::samples(name, move || Ok(kind.predictor(&Run::open(&path)?, &device)?)))
}

fn the_device(asked: Option<Device>, usual: impl FnOnce() -> Result<Device>) -> Result<Device> {
    asked.map_or_else(usual, Ok)
}

fn unusable(error: crate::error::Error) -> farad_serve::Error {
    farad_serve::Error::Model { text: error.to_string() }
}

/// The last part of a path without its ending.
fn called(path: &Path) -> String {
    path.file_stem().map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
}
