//! Pages of agents in a browser: a step there is a step of the CPU, hands push, and nothing goes wrong.

#[path = "../../circuit/tests/exports/browser.rs"]
mod browser;
#[allow(dead_code)]
#[path = "../../circuit/tests/exports/tool.rs"]
mod tool;

use browser::Browser;
use farad::{Device, Result, Tensor};
use farad_rl::{
    Actor, ActorCritic, Agents, CartPole, Environment, Locomotion, LocomotionTask, Normalizer, PageWords,
    Pendulum, page,
};
use farad_world::Description;
use serde_json::{Value, json};
use tool::Folder;

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

/// The state after every step of the CPU.
fn course(environment: &dyn Environment, actor: &dyn Actor, steps: usize) -> Result<Vec<Vec<Vec<f32>>>> {
    let device = Device::cpu();
    device.seed(11);
    let mut state = environment.begin(1, &device);
    let mut all = vec![numbers(&state)?];
    for _ in 0..steps {
        state = environment.step(&state, &actor.act(&environment.observe(&state))).state;
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
        "(() => {{ const found = []; for (const state of {}) {{ farad.set(state); farad.step(1); found.push(farad.state()); }} return found; }})()",
        json!(course[..steps])
    );
    let found = browser.evaluate(&ask);
    for (step, found) in found.as_array().unwrap().iter().enumerate() {
        let off = apart(found, &course[step + 1]);
        assert!(off <= each, "step {step}: off by {off:e}, allowed {each:e}");
    }
    let ask = format!("(farad.set({}), farad.step({steps}), farad.state())", json!(course[0]));
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
    browser.evaluate("globalThis.start = farad.state(); farad.play()");
    browser.wait_for("farad.counts().steps > 1");
    browser.evaluate("farad.pause()");
    browser.call("Input.dispatchMouseEvent", mouse("mouseReleased", x + 60.0));
    assert_eq!(browser.evaluate("farad.holds()"), json!(false));
    let pulled = "(() => { const steps = farad.counts().steps, found = farad.state().flat(); farad.set(start); farad.step(steps); \
        const alone = farad.state().flat(); return Math.max(...found.map((x, n) => Math.abs(x - alone[n]))); })()";
    assert!(browser.evaluate(pulled).as_f64().unwrap() > 1e-3, "the hand changed nothing");
    assert_eq!(browser.evaluate("farad.errors"), json!([]));
}

fn words() -> PageWords {
    PageWords { title: "a <test>".into(), about: "</script> is text".into() }
}

#[test]
fn a_step_of_the_page_is_a_step_of_the_cpu() -> Result<()> {
    if !tool::have("chromium") {
        return Ok(());
    }
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
        let text = page(environment, &agents, &words(), &Device::cpu())?;
        assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("eval("), "{name}");
        let path = folder.write(&[(format!("{name}.html"), text)]);
        browser.open(&path, "paused", DESKTOP);
        compare(&mut browser, environment, &agents, steps, allowed)?;
        handled(&mut browser, &path, hold);
    }
    Ok(())
}
