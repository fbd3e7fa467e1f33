//! The networks by name, one row each: the defaults for `--model NAME`.
//!
//! `wired` follows LILogicNet, `tree-s` and `tree-m` LogicTreeNet, `compact-s` and `compact-m` CompactLogic,
//! with their published sizes for MNIST and for CIFAR-10; docs/logic-networks.md says where settings differ.
//! Invariant: a run stores every setting, so a row may change without affecting runs.

use super::data::TaskKind;
use super::settings::ClassifierSettings;

/// A named network to train.
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// Its settings, derived from the common ones.
    settings: fn(TaskKind, ClassifierSettings) -> ClassifierSettings,
}

/// All presets; the first one is the default.
pub static PRESETS: [Preset; 8] = [
    Preset { name: "small", about: "8,000 gates that learn their wires", settings: small },
    Preset { name: "medium", about: "48,000 gates on random wires", settings: medium },
    Preset {
        name: "wired",
        about: "8,000 gates with 32 candidates for each wire (LILogicNet)",
        settings: wired,
    },
    Preset {
        name: "tree-s",
        about: "convolutions of trees of gates, small (LogicTreeNet)",
        settings: |task, base| trees(task, base, true),
    },
    Preset {
        name: "tree-m",
        about: "convolutions of trees of gates, medium (LogicTreeNet)",
        settings: |task, base| trees(task, base, false),
    },
    Preset {
        name: "compact-s",
        about: "neurons that draw their candidates again and again, small (CompactLogic)",
        settings: |task, base| compact(task, base, true),
    },
    Preset {
        name: "compact-m",
        about: "neurons that draw their candidates again and again, medium (CompactLogic)",
        settings: |task, base| compact(task, base, false),
    },
    Preset {
        name: "conv",
        about: "convolutions of trees of gates, as earlier versions had them",
        settings: conv,
    },
];

impl Preset {
    /// The preset with this name.
    pub fn named(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// All names.
    pub fn names() -> Vec<&'static str> {
        PRESETS.iter().map(|preset| preset.name).collect()
    }

    /// Its settings for a task, derived from the common ones.
    pub(super) fn apply(&self, task: TaskKind, base: ClassifierSettings) -> ClassifierSettings {
        (self.settings)(task, base)
    }
}

fn small(task: TaskKind, base: ClassifierSettings) -> ClassifierSettings {
    match task {
        // Three minutes on two CPU cores.
        TaskKind::Mnist => {
            ClassifierSettings { levels: vec![0.25], tau: 5.0, updates: 13_350, ..written(base, 5) }
        }
        _ => by_task(task, base),
    }
}

fn medium(task: TaskKind, base: ClassifierSettings) -> ClassifierSettings {
    ClassifierSettings {
        layers: vec![8000; 6],
        wiring: "random".into(),
        forward: "soft".into(),
        tau: 10.0,
        learning_rate: 0.02,
        epochs: 85,
        shift: 1,
        ..by_task(task, base)
    }
}

/// One wide layer with learned wires, on augmented copies. The publication uses a soft forward pass with tau
/// 12.
fn wired(task: TaskKind, base: ClassifierSettings) -> ClassifierSettings {
    let base = match task {
        TaskKind::Mnist => ClassifierSettings { levels: vec![0.25], updates: 100_000, ..written(base, 20) },
        _ => ClassifierSettings { epochs: 200, ..by_task(task, base) },
    };
    ClassifierSettings {
        layers: vec![8000],
        candidates: 32,
        choice_spread: 1.0,
        forward: "hard".into(),
        tau: 8.0,
        learning_rate: 0.075,
        batch: 256,
        ..base
    }
}

/// Copies of handwriting as in LILogicNet. Its published elastic distortions are 64 of half a pixel.
fn written(base: ClassifierSettings, copies: i64) -> ClassifierSettings {
    ClassifierSettings { copies, rotate: 10.0, shear: 10.0, scale: 0.1, elastic_alpha: 32.0, ..base }
}

/// Copies that are moved and bent a little less, for networks with many layers.
fn bent(base: ClassifierSettings, copies: i64) -> ClassifierSettings {
    ClassifierSettings { copies, rotate: 10.0, shear: 8.0, scale: 0.08, elastic_alpha: 30.0, ..base }
}

/// Stages of trees with OR pooling, then three layers on random wires.
fn trees(task: TaskKind, base: ClassifierSettings, small: bool) -> ClassifierSettings {
    let base =
        ClassifierSettings { wiring: "random".into(), forward: "soft".into(), initial_logit: 5.0, ..base };
    match task {
        TaskKind::Cifar10 => {
            let k = if small { 32 } else { 256 };
            ClassifierSettings {
                kernels: vec![k, 4 * k, 16 * k, 32 * k],
                windows: vec![3],
                layers: vec![1280 * k, 640 * k, 320 * k],
                tau: if small { 20.0 } else { 40.0 },
                optimizer: "adamw".into(),
                learning_rate: 0.02,
                weight_decay: 0.002,
                thresholds: 3,
                mirror: true,
                shift: 2,
                edge: true,
                validation: 0.1,
                updates: if small { 350_000 } else { 200_000 },
                ..base
            }
        }
        _ => {
            let k = if small { 16 } else { 64 };
            ClassifierSettings {
                kernels: vec![k, 3 * k, 9 * k],
                windows: vec![5, 3],
                tree_padding: vec![0, 1],
                layers: vec![1280 * k, 640 * k, 320 * k],
                tau: if small { 6.5 } else { 28.0 },
                learning_rate: 0.02,
                batch: if small { 512 } else { 256 },
                validation: 1.0 / 6.0,
                updates: if small { 64_000 } else { 100_000 },
                ..bent(base, 30)
            }
        }
    }
}

/// Convolutions of single gates, then two wide layers, all of neurons that choose among candidates.
fn compact(task: TaskKind, base: ClassifierSettings, small: bool) -> ClassifierSettings {
    let k = if small { 128 } else { 256 };
    let base = match task {
        TaskKind::Cifar10 => {
            ClassifierSettings { mirror: true, shift: 2, edge: true, validation: 0.1, ..base }
        }
        _ => ClassifierSettings { shift: 1, ..bent(base, 20) },
    };
    ClassifierSettings {
        kernels: vec![k, k, 4 * k, 4 * k],
        windows: vec![3],
        strides: vec![2, 1, 2, 1],
        layers: vec![625 * k; 2],
        wiring: "resampled".into(),
        forward: "soft".into(),
        thresholds: if small { 3 } else { 7 },
        tau: if small { 40.0 } else { 63.0 },
        learning_rate: 0.02,
        clip: 10.0,
        resample_until: 0.33,
        freeze_layers: true,
        updates: 600_000,
        ..base
    }
}

fn conv(task: TaskKind, base: ClassifierSettings) -> ClassifierSettings {
    ClassifierSettings {
        kernels: vec![32, 96, 288],
        layers: vec![8000, 4000, 2000],
        wiring: "random".into(),
        forward: "soft".into(),
        initial_logit: 5.0,
        learning_rate: 0.02,
        thresholds: if task == TaskKind::Cifar10 { 3 } else { 2 },
        epochs: 60,
        shift: 1,
        mirror: task == TaskKind::Cifar10,
        ..base
    }
}

/// Settings that suit the pictures of a task, if no publication gives them.
fn by_task(task: TaskKind, base: ClassifierSettings) -> ClassifierSettings {
    match task {
        TaskKind::Cifar10 => ClassifierSettings { thresholds: 3, mirror: true, ..base },
        _ => base,
    }
}
