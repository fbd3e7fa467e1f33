//! Evolution of creatures: archives and their files, MAP-Elites and novelty search.

use farad::prelude::*;
use farad_rl::creatures::{
    Archive, ArchiveAxis, CreatureSettings, DescriptorRow, Evolution, Placement, gallery, of_rank,
};
use farad_world::{Genotype, TrialResult};

fn settings() -> CreatureSettings {
    CreatureSettings {
        population: 16,
        settle: 0.2,
        seconds: 1.0,
        bins: vec![16, 16],
        ..CreatureSettings::new()
    }
}

fn axes(bins: usize) -> Vec<ArchiveAxis> {
    ["mass", "touch"].map(|name| ArchiveAxis::new(DescriptorRow::named(name).expect("a row"), bins)).to_vec()
}

#[test]
fn a_cell_keeps_its_best_creature() {
    let mut archive = Archive::new(axes(4));
    let genotype = Genotype::random(3);
    let grown = genotype.grown().expect("it grows");
    let trial =
        |distance: f64, touch: f64| TrialResult { distance, touch, whole: true, ..TrialResult::default() };
    assert_eq!(archive.place(&genotype, &grown, &trial(1.0, 0.1), 0), Placement::First);
    assert_eq!(archive.place(&genotype, &grown, &trial(1.0, 0.2), 1), Placement::Worse);
    assert_eq!(archive.place(&genotype, &grown, &trial(2.0, 0.2), 1), Placement::Better);
    assert_eq!(archive.place(&genotype, &grown, &trial(0.5, 0.9), 2), Placement::First);
    // Beyond an axis is its outermost cell.
    assert_eq!(archive.place(&genotype, &grown, &trial(0.7, 7.0), 3), Placement::Better);
    let broken = TrialResult { whole: false, ..trial(9.0, 0.5) };
    assert_eq!(archive.place(&genotype, &grown, &broken, 3), Placement::Broken);
    assert_eq!((archive.cells.len(), archive.tried, archive.broken), (2, 6, 1));
    assert_eq!((archive.best(), archive.score()), (2.0, 2.7));
    assert_eq!(of_rank(&archive, 2).expect("there are two").fitness, 0.7);
    let few = of_rank(&archive, 3).expect_err("there are two").to_string();
    assert!(few.contains("fewer creatures (2 vs 3)"), "{few}");
    assert_eq!(Archive::from_json(&archive.to_json()).expect("it is read"), archive);
}

#[test]
fn bad_archives_name_the_place() {
    let mut archive = Archive::new(axes(4));
    let genotype = Genotype::random(3);
    let grown = genotype.grown().expect("it grows");
    let trial = TrialResult { distance: 1.0, touch: 0.1, whole: true, ..TrialResult::default() };
    archive.place(&genotype, &grown, &trial, 0);
    let text = archive.to_json();
    let root = format!("\"root\":\"{}\"", genotype.root);
    let rows = [
        (
            "\"version\":1,\"axes\"",
            "\"version\":2,\"axes\"",
            "version: not supported by this program (2 vs 1)",
        ),
        ("\"mass\"", "\"weight\"", "axes[0].name: no descriptor \"weight\"\nhelp: there are mass, size"),
        ("\"bins\":4", "\"bins\":0", "axes[0].bins: out of range (0 vs 1 to 65536)"),
        ("\"bins\":4", "\"bins\":40000", "axes: cells of all axes out of range (160000 vs 1 to 65536)"),
        ("\"fitness\":1.0", "\"fitness\":\"far\"", "cells[0].fitness: it is a number, not \"far\""),
        (&root, "\"root\":\"head\"", "cells[0].genotype.root: no node \"head\""),
    ];
    for (from, to, wanted) in rows {
        assert!(text.contains(from), "{from} in {text}");
        let found = Archive::from_json(&text.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(found.starts_with("archive: ") && found.contains(wanted), "{found} / {wanted}");
    }
}

#[test]
fn settings_that_do_not_fit_are_refused() {
    let of = |descriptors: &str| {
        let settings = CreatureSettings { descriptors: descriptors.into(), ..settings() };
        Evolution::new(settings, None, &Device::cpu()).err().expect("it is refused").to_string()
    };
    assert!(of("mass").contains("descriptors and bins are not equally many (1 vs 2)"));
    assert!(of("mass,weight").contains("no such descriptor: weight\nhelp: there are mass, size, parts"));
}

/// The best creature gets farther than the best of the first, random ones, cells fill, and a gallery is made of it.
#[test]
fn creatures_get_ahead() -> farad::Result<()> {
    let device = Device::cpu();
    let mut evolution = Evolution::new(settings(), None, &device)?;
    let random = evolution.generation()?;
    let mut last = random;
    for _ in 0..7 {
        last = evolution.generation()?;
    }
    assert!(last.best > 1.2 * random.best, "{random:?} {last:?}");
    assert!(last.cells > random.cells + 5, "{random:?} {last:?}");
    assert_eq!(evolution.archive.tried, 16 * 8);
    // What an archive says is what a trial of its creature gives.
    let elite = of_rank(&evolution.archive, 1)?.clone();
    let again = farad_world::Herd::new(&[elite.genotype.grown()?], &device)?.tried(&settings().trial())?;
    assert!((again[0].distance - elite.fitness).abs() < 0.2 * elite.fitness, "{again:?} {}", elite.fitness);
    let page = gallery(&CreatureSettings { films: 2, ..settings() }, &evolution.archive)?;
    assert!(page.contains("\"creatures\":[{") && !page.contains("/*DATA*/"));
    Ok(())
}

#[test]
fn a_generation_depends_on_the_archive_and_its_number() -> farad::Result<()> {
    for search in ["elites", "novelty"] {
        let settings = CreatureSettings {
            search: search.into(),
            seconds: 0.3,
            population: 8,
            neighbors: 3,
            ..settings()
        };
        let mut whole = Evolution::new(settings.clone(), None, &Device::cpu())?;
        for _ in 0..3 {
            whole.generation()?;
        }
        let mut resumed = Evolution::new(settings, None, &Device::cpu())?;
        resumed.archive = Archive::from_json(&whole.archive.to_json()).expect("it is read");
        resumed.novelty = whole.novelty.clone();
        resumed.generations = whole.generations;
        let (a, b) = (whole.generation()?, resumed.generation()?);
        assert_eq!(a, b, "{search}");
        assert_eq!(whole.archive, resumed.archive, "{search}");
    }
    Ok(())
}

/// Networks alone evolve on a given body.
#[test]
fn a_body_that_is_given_stays() -> farad::Result<()> {
    let ancestor = Genotype::random(4);
    let settings = CreatureSettings { genes: "network".into(), seconds: 0.3, population: 8, ..settings() };
    let mut evolution = Evolution::new(settings, Some(ancestor.clone()), &Device::cpu())?;
    for _ in 0..3 {
        evolution.generation()?;
    }
    for elite in &evolution.archive.cells {
        let [own, first] = [&elite.genotype, &ancestor].map(|g| g.grown().expect("it grows"));
        assert_eq!((own.mass(), own.extent()), (first.mass(), first.extent()));
    }
    assert!(evolution.archive.cells.iter().any(|elite| elite.genotype != ancestor));
    Ok(())
}
