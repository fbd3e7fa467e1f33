//! The worlds that circuits control, one row each: how they run on the host, and what bits mean in them.
//!
//! Invariant: a row's steps on the host are those of its environment on a device, up to rounding.

use std::sync::Arc;

use farad::train::settings::no_choice;
use farad::{DType, Device, Result, Tensor};
use farad_circuit::Netlist;

use super::crawler;
use super::settings::ControllerSettings;
use super::teacher::{self, Lessons};
use crate::environment::Environment;
use crate::environments::{CartPole, Pendulum};

/// The state of a world on the host; what a world does not need is 0.
pub type HostState = [f64; 4];

/// The metadata key of a circuit's world. Circuits without it hold the cart-pole.
const META: &str = "controls";

/// How many bits tell the torque of the pendulum.
const TORQUE_BITS: usize = 4;

/// When a circuit is good enough, so that a search makes it smaller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ControlGoal {
    /// It survives to the end from every start. Starts from which it does not are tried again.
    Survive,
    /// It earns this much in the mean over all starts.
    Return(f64),
}

/// How many starts a search in closed loop tries, and how large circuits may become.
pub struct SearchSizes {
    /// Starts that a candidate is tried on first, and the most to which they may grow.
    pub few: [usize; 2],
    /// Starts that decide.
    pub many: usize,
    /// Gates to which a circuit may grow that is not good enough yet.
    pub largest: usize,
    /// Candidates after which a search without a result begins again.
    pub round: u64,
}

/// A world that runs on the host, state by state.
pub struct HostWorld {
    /// Initial states of that many worlds, drawn from a seed.
    pub starts: fn(usize, u64) -> Result<Vec<HostState>>,
    /// The numbers that are seen of a state.
    pub seen: fn(&HostState) -> HostState,
    /// A step of one world by the output bits, the first one lowest: the next state, the reward, and whether it is over.
    pub advance: fn(HostState, u32) -> (HostState, f64, bool),
    /// The sizes of the search in closed loop.
    pub sizes: SearchSizes,
}

/// A world in which a circuit acts.
pub struct ControlTask {
    /// Its name in settings.
    pub name: &'static str,
    /// What is trained for it, and what that is.
    pub subject: &'static str,
    /// The same in one line.
    pub about: &'static str,
    /// The names of the numbers that are seen.
    pub numbers: &'static [&'static str],
    /// The names of the bits that come out.
    pub outputs: &'static [&'static str],
    /// What these bits do.
    pub meaning: &'static str,
    /// Steps of the longest episode.
    pub longest: usize,
    /// The most that a step earns.
    pub most: f64,
    /// When a circuit is good enough.
    pub goal: ControlGoal,
    /// How many outputs belong together: a group says a number by how many of its bits are set.
    pub group: usize,
    /// How it runs on the host, if it does. Circuits of other worlds are not searched in closed loop.
    pub host: Option<HostWorld>,
    /// The same world on a device.
    pub world: fn(&Device) -> Result<Arc<dyn Environment>>,
    /// The actions of worlds there, by their output bits, booleans `[worlds]` each.
    pub action: fn(&[Tensor]) -> Tensor,
    /// What a teacher does where, by a seed.
    pub(super) lessons: fn(&ControllerSettings) -> Result<Lessons>,
    /// Changes settings to those that suit the world.
    pub(super) usual: fn(&mut ControllerSettings),
}

/// All of them; the first is that of circuits that name none.
pub const TASKS: [ControlTask; 3] = [
    ControlTask {
        name: "cartpole",
        subject: "cartpole-circuit",
        about: "a circuit of logic gates that holds the pole of a cart-pole",
        numbers: &["place", "speed", "angle", "turning"],
        outputs: &["right"],
        meaning: "The output is 1 for a push to the right.",
        longest: CartPole::LONGEST,
        most: 1.0,
        goal: ControlGoal::Survive,
        group: 1,
        host: Some(HostWorld {
            starts: CartPole::starts,
            seen: |state| *state,
            advance: |state, bits| {
                let (next, over) = CartPole::advance(state, bits & 1 == 1);
                (next, 1.0, over)
            },
            sizes: SearchSizes { few: [64, 256], many: 8192, largest: 64, round: 5000 },
        }),
        world: |_| Ok(Arc::new(CartPole)),
        action: |bits| bits[0].cast(DType::I32),
        lessons: |settings| teacher::lessons(&teacher::teacher(settings.seed)?, settings.seed),
        usual: |_| (),
    },
    ControlTask {
        name: "pendulum",
        subject: "pendulum-circuit",
        about: "a circuit of logic gates that swings a pendulum up and holds it",
        numbers: &["cos", "sin", "speed"],
        outputs: &["torque_0", "torque_1", "torque_2", "torque_3"],
        meaning: "The torque is -2 Nm without an output bit that is set, and 1 Nm more with each.",
        longest: Pendulum::LONGEST,
        most: 0.0,
        goal: ControlGoal::Return(-200.0),
        group: TORQUE_BITS,
        host: Some(HostWorld {
            starts: |count, seed| Ok(Pendulum::starts(count, seed)?.into_iter().map(turned).collect()),
            seen: |&[_, speed, cos, sin]| [cos, sin, speed, 0.0],
            advance: |[angle, speed, ..], bits| {
                let (next, reward) = Pendulum::advance([angle, speed], torque(bits.count_ones() as usize));
                (turned(next), reward, false)
            },
            sizes: SearchSizes { few: [64, 192], many: 2048, largest: 800, round: u64::MAX },
        }),
        world: |_| Ok(Arc::new(Pendulum)),
        action: |bits| torques(bits, TORQUE_BITS),
        lessons: |settings| teacher::swinging_lessons(settings.seed, TORQUE_BITS),
        usual: |settings| {
            (settings.thresholds, settings.tree) = (31, 9);
            settings.layers = vec![256, 256, 128, 64, 32, 16, 8];
            (settings.learning_rate, settings.repair, settings.search) = (0.01, 4000, 20_000);
        },
    },
    ControlTask {
        name: "crawler",
        subject: "crawler-circuit",
        about: "a circuit of logic gates that moves a ball on four legs ahead",
        numbers: &crawler::SEEN,
        outputs: &crawler::TURNS,
        meaning: "A motor turns back at full strength without an output bit that is set, rests with one, and turns ahead with two.",
        longest: crawler::LONGEST,
        most: 0.0,
        goal: ControlGoal::Return(crawler::ENOUGH),
        group: crawler::TURN_BITS,
        host: None,
        world: crawler::world,
        action: |bits| torques(bits, crawler::TURN_BITS),
        lessons: crawler::lessons,
        usual: crawler::usual,
    },
];

/// What groups of so many bits say, `[worlds, groups]`: from -1 without a bit that is set to 1 with all of them.
fn torques(bits: &[Tensor], group: usize) -> Tensor {
    let set = |bits: &[Tensor]| {
        let set = bits.iter().map(|bit| bit.cast(DType::F32)).reduce(|a, b| a + b);
        set.expect("there are outputs") * (2.0 / group as f64) - 1.0
    };
    Tensor::stack(&bits.chunks(group).map(set).collect::<Vec<_>>().iter().collect::<Vec<_>>(), 1)
}

/// The torque of so many bits that are set, as a fraction of the maximum.
fn torque(set: usize) -> f64 {
    set as f64 * (2.0 / TORQUE_BITS as f64) - 1.0
}

/// The state of a pendulum: angle, speed, and the angle's cosine and sine.
fn turned([angle, speed]: [f64; 2]) -> HostState {
    // Angles stay small, so that sine and cosine keep their digits.
    let angle = Pendulum::wrapped(angle);
    let (sin, cos) = angle.sin_cos();
    [angle, speed, cos, sin]
}

impl ControlTask {
    /// The task with this name.
    pub fn of(name: &str) -> Result<&'static ControlTask> {
        let names: Vec<&str> = TASKS.iter().map(|task| task.name).collect();
        TASKS.iter().find(|task| task.name == name).ok_or_else(|| no_choice("world", name, &names))
    }

    /// The task of a subject of training.
    pub fn of_subject(subject: &str) -> Result<&'static ControlTask> {
        let names: Vec<&str> = TASKS.iter().map(|task| task.subject).collect();
        TASKS.iter().find(|task| task.subject == subject).ok_or_else(|| no_choice("circuit", subject, &names))
    }

    /// The task of a circuit, if it fits.
    pub fn of_circuit(netlist: &Netlist) -> Option<&'static ControlTask> {
        let name = netlist.meta.get(META).map_or(Some(TASKS[0].name), |name| name.as_str())?;
        let task = TASKS.iter().find(|task| task.name == name)?;
        (netlist.outputs.len() == task.outputs.len() && netlist.registers.is_empty()).then_some(task)
    }

    /// Stores in a circuit which task it is for.
    pub fn put(&self, netlist: &mut Netlist) {
        if self.name != TASKS[0].name {
            netlist.meta.insert(META.into(), self.name.into());
        }
    }

    /// What a good circuit earns from this many starts.
    pub(super) fn enough(&self, starts: usize) -> f64 {
        let each = match self.goal {
            ControlGoal::Survive => self.longest as f64 * self.most,
            ControlGoal::Return(mean) => mean,
        };
        each * starts as f64
    }
}
