//! Pages of agents in a browser: a step there is a step of the CPU, hands push, and nothing goes wrong.

#[path = "../../circuit/tests/exports/browser.rs"]
mod browser;
#[allow(dead_code)]
#[path = "../../circuit/tests/exports/tool.rs"]
mod tool;

use std::sync::Arc;

use browser::Browser;
use farad::{Device, Result, Tensor};
use farad_rl::{
    Actions, Actor, ActorCritic, Agents, CartPole, CartPoleSwingUp, Dreamer, DreamerSettings, Environment,
    Locomotion, LocomotionTask, Normalizer, PageWords, Pendulum, PpoSettings, STEP_SEED, SacSettings,
    Transition, page,
};
use farad_world::Description;
use serde_json::{Value, json};
use tool::Folder;

/// Tests of one process share the device's random numbers.
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

const DESKTOP: (u32, u32) = (1280, 800);
const PHONE: (u32, u32) = (390, 844);

/// A policy that was never trained, with a scale: what it does is as good as any for a comparison.
fn agents(environment: &dyn Environment, hidden: &[usize]) -> Result<Agents> {
    let device = Device::cpu();
    farad::seed(5);
    let network = ActorCritic::new(environment.observations(), hidden, environment.actions());
    let mut weights = network.init(1, &device)?;
    // The last layer of a new policy says almost nothing.
    let last = 2 * hidden.len();
    weights[last] = &weights[last] * 60.0;
    let mut scale = Normalizer::new(1, environment.observations(), &device);
    scale.mean = scale.mean.full_like(0.05);
    scale.variance = scale.variance.full_like(0.6);
    let whole = Agents { network: network.into(), weights, normalizer: Some(scale) };
    whole.actors().detach()
}

fn numbers(state: &[Tensor]) -> Result<Vec<Vec<f32>>> {
    state.iter().map(|tensor| tensor.to_vec::<f32>()).collect()
}

/// An agent of Dreamer that was never trained, but says much. It draws what it believes.
fn dreamer(environment: Arc<dyn Environment>) -> Result<Agents> {
    farad::seed(5);
    let settings = DreamerSettings { size: "debug".into(), sequence: 8, ..DreamerSettings::default() };
    let shared = PpoSettings { worlds: 1, horizon: 8, ..PpoSettings::default() };
    let replay = SacSettings { replay: 64, ..SacSettings::default() };
    let mut agents = Dreamer::new(environment, settings, replay, shared, 1, &Device::cpu())?.agents();
    let last = agents.names().iter().position(|name| name == "policy.last.weight").expect("it is there");
    agents.weights[last] = &agents.weights[last] * 200.0;
    agents.actors().detach()
}

/// A pendulum that something pushes at random in every step.
struct Windy;

impl Environment for Windy {
    fn observations(&self) -> usize {
        Pendulum.observations()
    }

    fn actions(&self) -> Actions {
        Pendulum.actions()
    }

    fn longest(&self) -> usize {
        Pendulum.longest()
    }

    fn begin(&self, worlds: usize, device: &Device) -> Vec<Tensor> {
        Pendulum.begin(worlds, device)
    }

    fn observe(&self, state: &[Tensor]) -> Tensor {
        Pendulum.observe(state)
    }

    fn step(&self, state: &[Tensor], action: &Tensor) -> Transition {
        let push = Tensor::rand(state[1].shape(), state[1].device()) - 0.5;
        Pendulum.step(&[state[0].clone(), &state[1] + push], action)
    }

    fn scene(&self) -> Option<Value> {
        Pendulum.scene()
    }
}

/// The state after every step of the CPU, with what the actor remembers, from the random numbers that a page has.
fn course(environment: &dyn Environment, actor: &dyn Actor, steps: usize) -> Result<Vec<Vec<Vec<f32>>>> {
    let device = Device::cpu();
    device.seed(11);
    let mut state = environment.begin(1, &device);
    let own = state.len();
    state.extend(actor.memory(1, &device));
    let mut all = vec![numbers(&state)?];
    device.seed(STEP_SEED);
    for _ in 0..steps {
        let (world, memory) = state.split_at(own);
        let (action, memory) = actor.act_and_remember(memory, &environment.observe(world));
        state = [environment.step(world, &action).state, memory].concat();
        Tensor::compute_all(&state.iter().collect::<Vec<_>>())?;
        state = state.iter().map(Tensor::detach).collect::<Result<_>>()?;
        all.push(numbers(&state)?);
    }
    Ok(all)
}

/// The largest difference of two states, relative to numbers above one.
fn apart(found: &Value, wanted: &[Vec<f32>]) -> f64 {
    let lists = found.as_array().unwrap().iter().zip(wanted);
    let all = lists.flat_map(|(found, wanted)| {
        let found = found.as_array().unwrap();
        assert_eq!(found.len(), wanted.len());
        let one = |(a, b): (&Value, &f32)| {
            let (a, b) = (a.as_f64().expect("a finite number"), f64::from(*b));
            (a - b).abs() / b.abs().max(1.0)
        };
        found.iter().zip(wanted).map(one).collect::<Vec<f64>>()
    });
    all.fold(0.0, f64::max)
}

/// Every step from the CPU's state before it, then all steps in a row.
fn compare(
    browser: &mut Browser,
    environment: &dyn Environment,
    actor: &dyn Actor,
    steps: usize,
    [each, all]: [f64; 2],
) -> Result<()> {
    let course = course(environment, actor, steps)?;
    let moved = course.iter().flatten().flatten().all(|x| x.is_finite());
    assert!(moved && course[0] != course[steps], "the world moves and stays finite");
    let ask = format!(
        "(() => {{ PROGRAM.runs = 0; const found = []; for (const state of {}) {{ farad.set(state); farad.step(1); found.push(farad.state()); }} return found; }})()",
        json!(course[..steps])
    );
    let found = browser.evaluate(&ask);
    for (step, found) in found.as_array().unwrap().iter().enumerate() {
        let off = apart(found, &course[step + 1]);
        assert!(off <= each, "step {step}: off by {off:e}, allowed {each:e}");
    }
    let ask =
        format!("(PROGRAM.runs = 0, farad.set({}), farad.step({steps}), farad.state())", json!(course[0]));
    let off = apart(&browser.evaluate(&ask), &course[steps]);
    assert!(off <= all, "after {steps} steps: off by {off:e}, allowed {all:e}");
    Ok(())
}

/// The page is shown at both sizes in both colors without errors, moves by itself, and a drag holds something.
fn handled(browser: &mut Browser, path: &std::path::Path, hold: &str) {
    for (size, theme) in [(DESKTOP, "light"), (PHONE, "dark")] {
        browser.open(path, &format!("theme={theme}"), size);
        browser.wait_for("farad.counts().steps > 3");
        assert_eq!(
            browser.evaluate("document.documentElement.scrollWidth <= innerWidth"),
            json!(true),
            "{size:?}"
        );
        assert_eq!(browser.evaluate("farad.errors"), json!([]));
    }
    browser.evaluate("farad.pause(); farad.restart()");
    let at = browser.evaluate(&format!(
        "(() => {{ const box = document.getElementById('view').getBoundingClientRect(), [x, y] = farad.held({hold}); return [box.left + x, box.top + y]; }})()"
    ));
    let (x, y) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    let mouse = |kind: &str, x: f64| json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1 });
    browser.call("Input.dispatchMouseEvent", mouse("mousePressed", x));
    browser.call("Input.dispatchMouseEvent", mouse("mouseMoved", x + 60.0));
    assert_eq!(browser.evaluate("farad.holds()"), json!(true), "nothing is held at {x}, {y}");
    // A step with a hand is another step than one without.
    browser.evaluate("globalThis.start = farad.state(); PROGRAM.runs = 0; farad.play()");
    browser.wait_for("farad.counts().steps > 1");
    browser.evaluate("farad.pause()");
    browser.call("Input.dispatchMouseEvent", mouse("mouseReleased", x + 60.0));
    assert_eq!(browser.evaluate("farad.holds()"), json!(false));
    let pulled = "(() => { const steps = farad.counts().steps, found = farad.state().flat(); PROGRAM.runs = 0; farad.set(start); farad.step(steps); \
        const alone = farad.state().flat(); return Math.max(...found.map((x, n) => Math.abs(x - alone[n]))); })()";
    assert!(browser.evaluate(pulled).as_f64().unwrap() > 1e-3, "the hand changed nothing");
    assert_eq!(browser.evaluate("farad.errors"), json!([]));
}

fn words() -> PageWords {
    PageWords { title: "a <test>".into(), about: "</script> is text".into() }
}

/// Writes the page, compares its steps with the CPU's, and handles it.
fn check(
    (folder, browser): (&Folder, &mut Browser),
    name: &str,
    (environment, actor): (&dyn Environment, &dyn Actor),
    steps: usize,
    allowed: [f64; 2],
    hold: &str,
) -> Result<()> {
    let text = page(environment, actor, &words(), &Device::cpu())?;
    assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("eval("), "{name}");
    let path = folder.write(&[(format!("{name}.html"), text)]);
    browser.open(&path, "paused", DESKTOP);
    compare(browser, environment, actor, steps, allowed)?;
    handled(browser, &path, hold);
    Ok(())
}

#[test]
fn a_step_of_the_page_is_a_step_of_the_cpu() -> Result<()> {
    if !tool::have("chromium") {
        return Ok(());
    }
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (folder, mut browser) = (Folder::new(), Browser::start("chromium"));
    let bodies = |name: &str, task: LocomotionTask| -> Result<Locomotion> {
        let row = farad_world::WORLDS.iter().find(|row| row.name == name).expect("it is in the table");
        Locomotion::new(&Description::from_json(row.json)?, task, &Device::cpu())
    };
    // The steps in which agents are trained.
    let long = LocomotionTask { time_step: 0.02, substeps: 4, ..LocomotionTask::default() };
    let (hopper, crawler) = (bodies("hopper", LocomotionTask::default())?, bodies("crawler", long)?);
    // Legs on the ground push small differences apart, so the bodies have fewer steps in a row.
    let cases: [(&str, &dyn Environment, &[usize], usize, [f64; 2], &str); 4] = [
        ("cart-pole", &CartPole, &[64, 64], 40, [2e-6, 1e-4], "{ share: 0 }"),
        ("pendulum", &Pendulum, &[32], 60, [5e-6, 2e-4], "{}"),
        ("hopper", &hopper, &[32, 32], 25, [2e-4, 5e-3], "{ body: 0 }"),
        ("crawler", &crawler, &[], 8, [2e-4, 5e-3], "{ body: 0 }"),
    ];
    for (name, environment, hidden, steps, allowed, hold) in cases {
        let agents = agents(environment, hidden)?;
        check((&folder, &mut browser), name, (environment, &agents), steps, allowed, hold)?;
    }
    Ok(())
}

#[test]
fn what_a_page_draws_at_random_is_what_the_cpu_draws() -> Result<()> {
    if !tool::have("chromium") {
        return Ok(());
    }
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (folder, mut browser) = (Folder::new(), Browser::start("chromium"));
    let device = Device::cpu();
    device.seed(21);
    let before = device.random_state();
    let blown = agents(&Windy, &[16])?;
    check((&folder, &mut browser), "wind", (&Windy, &blown), 30, [5e-6, 2e-4], "{}")?;
    // What it believes is drawn, and carried from step to step.
    let swings = CartPoleSwingUp { images: false };
    let dreams = dreamer(Arc::new(swings))?;
    check((&folder, &mut browser), "dream", (&swings, &dreams), 30, [2e-5, 1e-3], "{ share: 0 }")?;
    let layers = browser.evaluate("farad.layers().map((values) => values.length)");
    assert_eq!(layers, json!([5, 32, 16, 1]), "sees, remembers, believes, does");
    let both = dreamer(Arc::new(Windy))?;
    check((&folder, &mut browser), "both", (&Windy, &both), 20, [2e-5, 1e-3], "{}")?;
    // A page leaves the random numbers of the device as they were.
    device.set_random_state(before);
    page(&Windy, &both, &words(), &device)?;
    assert_eq!(device.random_state(), before);
    Ok(())
}
