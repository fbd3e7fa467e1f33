//! Several processes that train together: `mpirun -n 8 farad train …`.
//!
//! Every rank prepares its training and says whether it can ([`together`]); then they compare what they have
//! ([`agree`]). From there on an error or a panic of one rank ends all of them ([`ended`]). Rank 0 speaks for all.
//!
//! Invariant: ranks make the same calls in the same order until one of them ends all.

use std::time::Duration;

use farad::devices::use_threads;
use farad::group::{Alarm, Group, core_share};
use farad::run::{Run, count, counted};
use farad::train::{Prepared, TrainingKind};
use farad::{AdapterKind, Device, ENVIRONMENT};

use crate::arguments::DeviceFlag;
use crate::error::{Error, Result};
use crate::look;

/// How long other ranks let rank 0 speak first: most errors are the same on all of them.
const AFTER_THE_FIRST: Duration = Duration::from_secs(3);

/// Whether another process speaks for this one.
pub fn is_follower() -> bool {
    ENVIRONMENT.ranks.is_some_and(|ranks| ranks > 1) && ENVIRONMENT.rank.is_some_and(|rank| rank > 0)
}

/// Refuses what several processes would do to each other, where several were started together.
pub fn one_process(op: &'static str) -> Result<()> {
    match ENVIRONMENT.ranks {
        Some(ranks) if ranks > 1 => Err(Error::OneProcess { op, ranks }),
        _ => Ok(()),
    }
}

/// Waits until rank 0 has spoken: a launcher ends all ranks as soon as one of them ends with an exit code.
pub fn let_the_first_speak() {
    std::thread::sleep(AFTER_THE_FIRST);
}

/// All processes that were started together. Each uses its share of the cores, and a panic of one ends all.
pub fn world() -> Result<Group> {
    let group = Group::world()?;
    if let Some(tasks) = ENVIRONMENT.unconnected {
        look::warn(format!(
            "{} were started together, and each works alone; `srun --mpi=pmix` connects them",
            counted(tasks, "task")
        ));
    }
    if !group.is_alone() {
        use_threads(core_share(&group)?);
        let (alarm, is_first) = (group.alarm(), group.is_first());
        std::panic::set_hook(Box::new(move |panic| {
            // Most panics are the same on all ranks.
            if !is_first {
                let_the_first_speak();
            }
            ended(&alarm, panic)
        }));
    }
    Ok(group)
}

/// Ends all ranks, and says which one failed, where, and why.
pub fn ended(alarm: &Alarm, why: impl std::fmt::Display) -> ! {
    look::fail(format!("{}: {why}", alarm.who()));
    alarm.abort(1)
}

/// What all ranks could do; the error of the first that could not.
pub fn together<T>(group: &Group, done: Result<T>) -> Result<T> {
    if group.is_alone() {
        return done;
    }
    let mine = done.as_ref().err().map_or(String::new(), |error| format!("{} {error}", error.code()));
    let all = group.all_texts(&mine)?;
    let Some((rank, text)) = all.iter().enumerate().find(|(_, text)| !text.is_empty()) else { return done };
    let (code, message) = text.split_once(' ').unwrap_or(("1", text));
    match done {
        Err(error) if rank == group.rank() => Err(error),
        _ => {
            let (host, message, code) = (group.host(rank).into(), message.into(), code.parse().unwrap_or(1));
            Err(Error::OtherRank { rank, host, message, code })
        }
    }
}

/// Refuses ranks that have another version, other settings or other data, or go on from another step.
pub fn agree(
    group: &Group,
    kind: &dyn TrainingKind,
    prepared: &dyn Prepared,
    resumed: Option<&Run>,
) -> Result<()> {
    if group.is_alone() {
        return Ok(());
    }
    let config = prepared.config();
    let mut facts = vec![("version", env!("CARGO_PKG_VERSION").to_string()), ("kind", kind.name().into())];
    // Each rank has a device of its own.
    let settings = config.iter().filter(|(key, _)| *key != "device");
    facts.extend(settings.map(|(key, value)| (key.as_str(), value.to_string())));
    facts.push(("data", prepared.data()));
    if let Some(run) = resumed {
        let checkpoint = together(group, run.checkpoint().map_err(Error::from))?;
        let step = checkpoint.map_or(0, |checkpoint| checkpoint.step());
        facts.push(("steps of the checkpoint", count(step)));
    }
    Ok(group.agree(&facts)?)
}

/// Refuses a kind that ranks cannot train together.
pub fn check(group: &Group, kind: &dyn TrainingKind, subject: &str) -> Result<()> {
    match group.is_alone() || kind.is_parallel() {
        true => Ok(()),
        false => Err(Error::OneRank { what: kind.called(subject), ranks: group.size() }),
    }
}

/// The device of a rank: the local rank picks one of the machine's GPUs, unless a certain device is asked for.
pub fn device(group: &Group, flag: &DeviceFlag, resumed: Option<&Run>) -> Result<Option<Device>> {
    if group.is_alone() {
        return flag.asked();
    }
    let of_run = resumed.and_then(|run| run.config().get("device")?.as_str().map(str::to_string));
    // A run's own GPU was that of rank 0.
    let of_run = of_run.map(|name| if name.starts_with("gpu") { "gpu".to_string() } else { name });
    let name = flag.device.clone().or(of_run).unwrap_or_else(|| "best".into());
    let name = name.split(' ').next().unwrap_or_default();
    let real = |kind: AdapterKind| kind != AdapterKind::Software;
    let found = Device::list().into_iter();
    let gpus: Vec<String> = found
        .filter(|found| found.adapter.as_ref().is_some_and(|a| real(a.kind)))
        .map(|f| f.device)
        .collect();
    let own = match name {
        "best" | "gpu" if !gpus.is_empty() => &gpus[group.local_rank() % gpus.len()],
        name => name,
    };
    Ok(Some(Device::named(own)?))
}

/// What a training came to. An error of one rank ends all; stopping is what all ranks agreed on.
pub fn unless_ended<T>(group: &Group, done: Result<T>) -> Result<T> {
    match done {
        Err(error) if !group.is_alone() && !matches!(error, Error::Interrupted) => {
            if !group.is_first() {
                let_the_first_speak();
            }
            ended(&group.alarm(), error)
        }
        done => done,
    }
}
