//! A page in which an agent acts: one file for any browser, without network access.
//!
//! What a step computes (observation, policy, world) is recorded for one world and written as JavaScript by
//! `farad-javascript`, so the page computes what the CPU computes. The page draws the world, lets hands push it between
//! steps, and shows what the agent sees, computes and does. Drawing is in `planes.js` (cart-pole, pendulum) and
//! `bodies.js` (rigid bodies), chosen by `drawer` of [`Environment::scene`]. The page itself starts in `page.js`.
//!
//! Invariant: nothing in the page ends a script early, and nothing comes from elsewhere. Start at [`page`].

use farad::run::{Value, json};
use farad::{DType, Device, Result, Tensor};
use farad_javascript::Script;

use crate::environment::Environment;
use crate::episodes::Actor;
use crate::error::RlError;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// The parts of the script, in order.
const SCRIPTS: [&str; 5] = [
    include_str!("world.js"),
    include_str!("planes.js"),
    include_str!("bodies.js"),
    include_str!("activity.js"),
    include_str!("page.js"),
];
/// The file's name.
pub const PAGE_FILE: &str = "page.html";

/// Starts that a page has.
const STARTS: usize = 16;
/// The seed that they are drawn from.
const START_SEED: u64 = 0x7061_6765;
/// The seed of what steps draw. The first step of a page draws what a device with this seed draws first, and so on.
pub const STEP_SEED: u64 = START_SEED + 1;

/// What a page says about an agent.
pub struct PageWords {
    /// The heading.
    pub title: String,
    /// A sentence or two below it.
    pub about: String,
}

/// The page of an agent in its world, as the text of an HTML file. If the actor has several agents, its first acts.
///
/// Fails if the world cannot be drawn, or if something in its step or in the agent cannot be written as JavaScript.
/// Does not advance the device's own random numbers.
pub fn page(
    environment: &dyn Environment,
    actor: &dyn Actor,
    words: &PageWords,
    device: &Device,
) -> Result<String> {
    let scene = environment.scene().ok_or(RlError::NoScene)?;
    let random = device.random_state();
    device.seed(START_SEED);
    let recorded = starts(environment, actor, device).and_then(|(starts, state)| {
        device.seed(STEP_SEED);
        Ok((starts, RecordedStep::of(environment, actor, &state)?))
    });
    device.set_random_state(random);
    let (starts, step) = recorded?;
    let data = json!({
        "title": words.title, "about": words.about, "scene": scene,
        "layers": step.layers, "starts": starts,
    });
    let parts = [
        ("/*TITLE*/", escaped(&format!("{} · farad", words.title))),
        ("/*STYLE*/", STYLE.into()),
        // Inside of strings this is the same character, and outside of strings JSON has none of it.
        ("/*DATA*/", data.to_string().replace('<', "\\u003c")),
        ("/*PROGRAM*/", step.script.text().into()),
        ("/*SCRIPTS*/", SCRIPTS.concat()),
    ];
    let mut page = String::new();
    let mut rest = PAGE;
    for (mark, text) in parts {
        let (before, after) = rest.split_once(mark).expect("the page has every mark once, in this order");
        page += before;
        page += &text;
        rest = after;
    }
    Ok(page + rest)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The numbers of some starts, and the state of the first.
fn starts(
    environment: &dyn Environment,
    actor: &dyn Actor,
    device: &Device,
) -> Result<(Vec<Vec<Vec<f32>>>, Vec<Tensor>)> {
    let all = environment.begin(STARTS, device);
    // What an actor remembers is part of the state; all starts are of the first agent.
    let memory = actor.memory(1, device);
    let memory = memory.iter().map(|t| Tensor::concat(&[&t.narrow(0, 0, 1); STARTS], 0));
    let all: Vec<Tensor> = all.into_iter().chain(memory).collect();
    Tensor::compute_all(&all.iter().collect::<Vec<_>>())?;
    let of = |n: usize| all.iter().map(|t| t.narrow(0, n, 1).to_vec::<f32>()).collect::<Result<Vec<_>>>();
    let first: Vec<Tensor> = all.iter().map(|t| t.narrow(0, 0, 1)).collect();
    Tensor::compute_all(&first.iter().collect::<Vec<_>>())?;
    let first = first.iter().map(Tensor::detach).collect::<Result<Vec<_>>>()?;
    Ok(((0..STARTS).map(of).collect::<Result<_>>()?, first))
}

/// A step of one world, written down.
struct RecordedStep {
    script: Script,
    /// Name, size and key of everything that is shown of the agent.
    layers: Vec<Value>,
}

impl RecordedStep {
    fn of(environment: &dyn Environment, actor: &dyn Actor, state: &[Tensor]) -> Result<RecordedStep> {
        let memory = state.len() - actor.memory(1, state[0].device()).len();
        let (own, memory) = state.split_at(memory);
        let seen = environment.observe(own);
        let (action, memory) = actor.act_and_remember(memory, &seen);
        let next = environment.step(own, &action);
        let flat = |t: &Tensor| t.cast(DType::F32).reshape([t.numel()]);
        let mut outputs: Vec<(String, Tensor)> = next
            .state
            .iter()
            .chain(&memory)
            .enumerate()
            .map(|(n, t)| (format!("state{n}"), t.clone()))
            .collect();
        outputs.extend([
            ("action".to_string(), flat(&action)),
            ("reward".to_string(), next.reward),
            ("ended".to_string(), flat(&next.ended)),
        ]);
        let names = environment.names();
        let mut layers = vec![json!({
            "key": "seen", "name": "sees", "size": seen.numel(), "names": names.seen, "each": true,
        })];
        outputs.push(("seen".into(), flat(&seen)));
        for (n, (name, layer)) in actor.layers(&seen).into_iter().enumerate() {
            layers.push(json!({ "key": format!("layer{n}"), "name": name, "size": layer.numel() }));
            outputs.push((format!("layer{n}"), flat(&layer)));
        }
        for (n, (name, memory)) in actor.memory_names().iter().zip(&memory).enumerate() {
            let key = format!("state{}", own.len() + n);
            layers.push(json!({ "key": key, "name": name, "size": memory.numel() }));
        }
        layers.push(json!({
            "key": "action", "name": "does", "size": action.numel(), "range": 1.0, "names": names.done,
        }));
        let inputs: Vec<(String, &Tensor)> =
            state.iter().enumerate().map(|(n, t)| (format!("state{n}"), t)).collect();
        let inputs: Vec<(&str, &Tensor)> = inputs.iter().map(|(name, t)| (name.as_str(), *t)).collect();
        let outputs: Vec<(&str, &Tensor)> = outputs.iter().map(|(name, t)| (name.as_str(), t)).collect();
        Ok(RecordedStep { script: Script::of(&inputs, &outputs)?, layers })
    }
}
