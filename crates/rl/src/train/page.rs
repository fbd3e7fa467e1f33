//! The page of a run's agent.

use farad::run::{Run, counted};
use farad::{Device, Result};

use super::kind::{environment_of, learned};
use super::table::NamedWorld;
use crate::page::{PageWords, page};

/// The page of an agent that a run keeps, by its place among the seeds: what the file is called, and its text. The run may
/// still train.
pub fn agent_page(run: &Run, agent: usize) -> Result<(String, String)> {
    let device = Device::cpu();
    let (settings, agents, updates) = learned(run, &device)?;
    let actor = agents.one(agent).actors().detach()?;
    let by = match &*settings.algorithm {
        "dreamer" => "DreamerV3".into(),
        algorithm => algorithm.to_uppercase(),
    };
    let about = NamedWorld::of(&settings.world).map_or("", |world| world.about);
    let words = PageWords {
        title: settings.title(),
        about: format!(
            "The world: {about}. The policy was trained with {by} for {}. Every step is computed here, in your browser.",
            counted(updates as usize, "update"),
        ),
    };
    let text = page(&*environment_of(&settings, &device)?, &actor, &words, &device)?;
    Ok((format!("{}.html", settings.world), text))
}
