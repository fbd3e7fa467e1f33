//! Which runs are the same training with other seeds.
//!
//! Invariant: where anything else in the settings differs, runs are of different groups. Start at [`group`].

use std::hash::{DefaultHasher, Hash, Hasher};

use farad::run::Table;

/// Keys of settings in which repetitions of a training differ.
const SEEDS: [&str; 2] = ["seed", "seeds"];

/// What a run measured on its training part, which is another one with another seed.
const MEASURED: [&str; 5] = ["means", "deviations", "target_mean", "target_deviation", "rules"];

/// A short text that runs share if and only if their kind and all settings but the seeds are the same.
pub fn group(kind: &str, config: &Table) -> String {
    let mut rest = config.clone();
    without_seeds(&mut rest);
    let mut hasher = DefaultHasher::new();
    (kind, rest.to_string()).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn without_seeds(table: &mut Table) {
    table.retain(|key, _| !SEEDS.contains(&key) && !MEASURED.contains(&key));
    for (_, value) in table.iter_mut() {
        if let toml::Value::Table(inner) = value {
            without_seeds(inner);
        }
    }
}

/// The seeds of a run, wherever its settings have them.
pub fn seeds(config: &Table) -> Vec<String> {
    let mut found = vec![];
    for (key, value) in config {
        match value {
            toml::Value::Table(inner) => found.extend(seeds(inner)),
            toml::Value::Array(each) if SEEDS.contains(&key.as_ref()) => {
                found.extend(each.iter().map(toml::Value::to_string));
            }
            // `seeds` as a number says how many there are.
            value if key == SEEDS[0] => found.push(value.to_string()),
            _ => {}
        }
    }
    found.truncate(8);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_differ_in_their_seeds_are_a_group() {
        let of = |kind: &str, config: &str| group(kind, &config.parse().unwrap());
        let first = of("fit", "set = \"x\"\n[settings]\nrate = 0.1\nseed = 1\n");
        assert_eq!(of("fit", "set = \"x\"\n[settings]\nrate = 0.1\nseed = 2\n"), first);
        assert_eq!(of("fit", "set = \"x\"\nmeans = [0.5]\n[settings]\nrate = 0.1\nseed = 2\n"), first);
        assert_eq!(of("fit", "set = \"x\"\nseeds = [3, 4]\n[settings]\nrate = 0.1\n"), first);
        assert_ne!(of("lm", "set = \"x\"\n[settings]\nrate = 0.1\n"), first);
        assert_ne!(of("fit", "set = \"x\"\n[settings]\nrate = 0.2\nseed = 1\n"), first);
        let named = |config: &str| seeds(&config.parse().unwrap()).join(", ");
        assert_eq!(named("seeds = [3, 4]\n[settings]\nrate = 0.1\n"), "3, 4");
        assert_eq!(named("[settings]\nseed = 7\n"), "7");
        assert_eq!(named("seed = 1\nseeds = 2\n"), "1");
    }
}
