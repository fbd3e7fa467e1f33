//! Curves of several trainings over the steps of their worlds: `cargo run --release -p farad-rl --example curves PICTURE.svg GOAL RUN…`.
//!
//! Prints the returns of all validations as CSV. The picture shows the median of each run's seeds, with a band from the lowest to the
//! highest. Steps are per seed. On stderr: after how many steps the best validation of each seed reached the goal.

use farad::Result;
use farad::run::{Chart, LogTable, Run, Series, counted};
use farad_rl::train::Settings;

/// The validations of a run.
struct Course {
    settings: Settings,
    /// Steps and returns of each seed.
    seeds: Vec<Vec<(f64, f64)>>,
}

impl Course {
    fn read(path: &str) -> Result<Course> {
        let run = Run::open(path)?;
        let settings = Settings::of(&run)?;
        let log = LogTable::read(run.log_path())?;
        let each = (settings.ppo.worlds * settings.ppo.horizon) as f64;
        let column = |seed: u64| match settings.seeds {
            1 => "validation_return".to_string(),
            _ => format!("validation_return_{seed}"),
        };
        let of = |seed| {
            log.series(&column(seed)).into_iter().map(|(update, found)| (update * each, found)).collect()
        };
        let seeds = settings.all_seeds().map(of).collect();
        Ok(Course { settings, seeds })
    }

    fn curve(&self) -> Series {
        let points = self.seeds.iter().map(Vec::len).min().unwrap_or(0);
        let sorted = |at: usize| {
            let mut all: Vec<f64> = self.seeds.iter().map(|seed| seed[at].1).collect();
            all.sort_by(f64::total_cmp);
            (self.seeds[0][at].0, all)
        };
        let rows: Vec<(f64, Vec<f64>)> = (0..points).map(sorted).collect();
        let name = format!("{}, median of {}", self.settings.algorithm, counted(self.seeds.len(), "seed"));
        let median = Series::new(&name, rows.iter().map(|(steps, all)| (*steps, all[all.len() / 2])));
        median.band(rows.iter().map(|(steps, all)| (*steps, all[0], all[all.len() - 1])))
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [picture, goal, runs @ ..] = &arguments[..] else {
        eprintln!("curves PICTURE.svg GOAL RUN…: draws the validations of runs of agents");
        std::process::exit(2);
    };
    let goal: f64 = goal.parse().unwrap_or_else(|_| panic!("a return, not {goal:?}"));
    let courses = runs.iter().map(|run| Course::read(run)).collect::<Result<Vec<_>>>()?;
    println!("algorithm,seed,steps,return");
    for Course { settings, seeds } in &courses {
        for (seed, points) in settings.all_seeds().zip(seeds) {
            points
                .iter()
                .for_each(|(steps, found)| println!("{},{seed},{steps},{found:.3}", settings.algorithm));
            let reached = points.iter().find(|(_, found)| *found >= goal);
            let reached = reached.map_or("never".to_string(), |(steps, _)| counted(*steps as u64, "step"));
            eprintln!("{} {seed}: {reached}", settings.algorithm);
        }
    }
    let world = courses.first().map_or("", |course| &course.settings.world);
    let chart = Chart::new(
        &format!("The {world} by two algorithms"),
        "steps of worlds, per seed",
        "return of validations",
    );
    let chart = courses.iter().fold(chart, |chart, course| chart.series(course.curve()));
    std::fs::write(picture, chart.svg()).unwrap_or_else(|error| panic!("{picture}: {error}"));
    Ok(())
}
