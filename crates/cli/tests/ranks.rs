//! Several processes that train together, as `mpirun` starts them: they learn what one learns, resume with another number of
//! ranks, and end together.

#[path = "folder/mod.rs"]
mod folder;
#[cfg(feature = "mpi")]
#[path = "kills/same.rs"]
mod same;

use std::process::Command;

/// The command that is built by default knows no MPI, and no crate that would need it.
#[test]
fn the_default_build_has_no_mpi() {
    let tree = |features: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.args(["tree", "--offline", "-p", "farad-cli", "-e", "normal,build", "--prefix", "none"]);
        let done = command.args(features).output().expect("cargo tree");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text")
    };
    let has = |tree: &str| tree.lines().any(|line| line.starts_with("mpi ") || line.starts_with("mpi-sys "));
    assert!(!has(&tree(&[])), "the default build needs MPI");
    assert!(has(&tree(&["--features", "mpi"])), "the feature brings no MPI");
}

/// A command that cannot connect its processes says so once, instead of training several times alone.
#[cfg(not(feature = "mpi"))]
#[test]
fn a_command_without_mpi_does_not_train_several_times_alone() {
    let folder = folder::Folder::new("no-mpi");
    for rank in ["0", "1"] {
        let mut command = folder.command("train mnist --data synthetic --device cpu --out run");
        command.env("OMPI_COMM_WORLD_SIZE", "2").env("OMPI_COMM_WORLD_RANK", rank);
        let done = command.output().expect("starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{said}");
        let wanted = "group: 2 processes were started together, and this build cannot connect them";
        assert_eq!(said.contains(wanted) && said.contains("--features mpi"), rank == "0", "{said}");
        assert!(!folder.path("run").exists());
    }
}

#[cfg(feature = "mpi")]
mod with_mpi {
    use std::path::Path;
    use std::process::{Child, Command, Output, Stdio};
    use std::time::{Duration, Instant};

    use farad::run::LogTable;

    use super::folder::{Folder, events, results};
    use super::same::assert_same;

    const MNIST: &str = "train mnist --model mlp --data synthetic --device cpu --epochs 1 --batch 150 --set sizes=16 --set dropout=0 \
        --set checkpoint_every=4 --set log_every=4";
    const LM: &str = "train lm --data text.txt --device cpu --layers 1 --heads 2 --width 16 --context 16 --batch 6 \
        --updates 40 --dropout 0 --learning-rate 0.01 --warm-up 5 --set evaluate_every=20 --set checkpoint_every=4 \
        --set log_every=4 --set sample=8";
    const LOGIC: &str = "train logic-mnist --data synthetic --device cpu --updates 40 --set layers=300,200 --batch 60 \
        --set checkpoint_every=4 --set log_every=4 --set evaluate_every=20 --set simplify_seconds=0";

    const AGENTS: &str = "train cartpole --device cpu --updates 8 --set worlds=8 --set horizon=16 --set evaluate_every=4 \
        --set checkpoint_every=2 --set log_every=2 --set validation=4 --set episodes=4";
    const EVOLVED: &str = "train cartpole --algorithm cma --device cpu --updates 4 --set population=6 \
        --set trials=1 --set evaluate_every=2 --set log_every=1 --set validation=4 --set episodes=4";
    const AUTOMATA: &str = "train checkerboard --device cpu --seeds 3 --updates 12 --no-repair --quick \
        --set evaluate_every=6 --set checkpoint_every=4 --set log_every=4";

    const CREATURES: &str = "train evolve --device cpu --updates 4 --set population=5 --set settle=0.1 --set seconds=0.3 \
        --set bins=6,6 --set films=1 --set checkpoint_every=2";
    // Classes that count differently, in batches that ranks cannot share evenly.
    const TABLE: &str = "train csv --data table.csv --set target=kind --set class_weights=balanced --set dropout=0 --device cpu \
        --set batch=15 --epochs 3 --set warm_up=0 --set checkpoint_every=4 --set log_every=4";

    /// How long ranks may take to end when one of them is gone.
    const PATIENCE: Duration = Duration::from_secs(10);

    /// `mpirun` with so many ranks of a program, or with other words.
    fn mpirun(folder: &Folder, words: &str) -> Command {
        let farad = env!("CARGO_BIN_EXE_farad");
        let mut command = Command::new("mpirun");
        command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
        // Ranks that wait leave the cores to others.
        command.args(["--mca", "mpi_yield_when_idle", "1"]);
        command.args(words.split_whitespace().map(|word| if word == "farad" { farad } else { word }));
        command.current_dir(folder.path(".")).env_remove("FARAD_DEVICE");
        command
    }

    fn run(folder: &Folder, words: &str) -> Output {
        mpirun(folder, words).output().expect("mpirun starts")
    }

    fn succeed(folder: &Folder, words: &str) -> String {
        let done = run(folder, words);
        assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text")
    }

    /// Must fail, with one message; stderr.
    fn fail(folder: &Folder, words: &str, code: i32) -> String {
        let done = run(folder, words);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(code), "{words}: {said}");
        assert_eq!(said.matches("error: ").count(), 1, "{words}: {said}");
        said
    }

    fn text() -> String {
        (0..300).map(|n| format!("the cat {} sees the dog {} .\n", n % 17, n * 7 % 13)).collect()
    }

    /// Rows of two numbers, of which few are of the second kind.
    fn rows() -> String {
        let row = |n: i32| {
            let (x, y) = (n * 37 % 101, n * 53 % 89);
            format!("{x},{y},{}\n", if x + y > 150 { "far" } else { "near" })
        };
        format!("x,y,kind\n{}", (0..240).map(row).collect::<String>())
    }

    fn with_text(name: &str) -> Folder {
        let folder = Folder::new(name);
        std::fs::write(folder.path("text.txt"), text()).expect("a text");
        std::fs::write(folder.path("table.csv"), rows()).expect("a table");
        folder
    }

    /// What was learned and logged has the same bits.
    fn assert_same_bits(folder: &Folder, one: &str, other: &str) {
        for name in ["log.csv", "checkpoint.safetensors"] {
            let read = |run: &str| std::fs::read(folder.path(run).join(name)).expect("a file of a run");
            assert!(read(one) == read(other), "{name} of {one} and of {other} differ");
        }
    }

    /// The losses of two runs, row by row, differ in rounding only.
    fn assert_near(folder: &Folder, one: &str, other: &str, columns: &[&str]) {
        let read = |run: &str| LogTable::read(folder.path(run).join("log.csv")).expect("a log");
        let (one, other) = (read(one), read(other));
        assert_eq!(one.steps(), other.steps());
        for column in columns {
            let (a, b) = (one.series(column), other.series(column));
            assert!(!a.is_empty() && a.len() == b.len());
            for ((step, a), (_, b)) in a.iter().zip(&b) {
                assert!((a - b).abs() <= 1e-3 * b.abs(), "{column} after step {step}: {a} vs {b}");
            }
        }
    }

    #[test]
    fn ranks_learn_what_one_process_learns() {
        let folder = with_text("ranks-learn");
        for (name, start, columns) in [
            ("mnist", MNIST, &["loss", "validation_loss"][..]),
            ("lm", LM, &["loss", "validation_loss"]),
            ("logic", LOGIC, &["soft_loss"]),
            ("table", TABLE, &["loss", "validation_loss"]),
        ] {
            let alone = folder.succeed(&format!("{start} --quiet --json --out {name}-1"));
            for ranks in [2, 4] {
                let words = format!("-n {ranks} farad {start} --quiet --json --out {name}-{ranks}");
                let told = succeed(&folder, &words);
                assert_eq!(told.lines().count(), alone.lines().count(), "rank 0 alone speaks: {told}");
                assert_near(&folder, &format!("{name}-{ranks}"), &format!("{name}-1"), columns);
                assert!(folder.path(&format!("{name}-{ranks}/report.md")).is_file());
            }
        }
        // The same number of ranks gives the same bits.
        succeed(&folder, &format!("-n 2 farad {MNIST} --quiet --out again"));
        assert_eq!(results(&folder.path("again")), results(&folder.path("mnist-2")));
    }

    /// What is spread over ranks learns the same bits as on one, and PPO begins in the same way.
    #[test]
    fn ranks_spread_seeds_policies_and_worlds() {
        let folder = Folder::new("ranks-spread");
        for (name, start, ranks) in [("cma", EVOLVED, 3), ("automata", AUTOMATA, 2)] {
            folder.succeed(&format!("{start} --quiet --out {name}-1"));
            succeed(&folder, &format!("-n {ranks} farad {start} --quiet --out {name}-{ranks}"));
            assert_same_bits(&folder, &format!("{name}-{ranks}"), &format!("{name}-1"));
        }
        // Herds of other sizes are rounded otherwise.
        folder.succeed(&format!("{CREATURES} --quiet --out creatures-1"));
        succeed(&folder, &format!("-n 3 farad {CREATURES} --quiet --out creatures-3"));
        assert_near(&folder, "creatures-3", "creatures-1", &["best", "cells", "mean"]);
        // Repair shares circuits, or the chains of a search where there are fewer.
        for ranks in [1, 2, 4] {
            let run = format!("repaired-{ranks}");
            let copied =
                Command::new("cp").args(["-r", "automata-1", &run]).current_dir(folder.path(".")).status();
            assert!(copied.expect("cp").success());
            let words = format!("repair {run} --candidates 2500 --seconds 600 --quiet --device cpu");
            match ranks {
                1 => drop(folder.succeed(&words)),
                _ => drop(succeed(&folder, &format!("-n {ranks} farad {words}"))),
            }
            let circuits = |run: &str| {
                let named = std::fs::read_dir(folder.path(run).join("circuits")).expect("circuits").flatten();
                let mut all: Vec<_> = named
                    .filter(|file| file.file_name().to_string_lossy().contains("repair"))
                    .map(|file| (file.file_name(), std::fs::read(file.path()).expect("a file")))
                    .collect();
                all.sort();
                all
            };
            assert!(!circuits(&run).is_empty() && circuits(&run) == circuits("repaired-1"), "{ranks} ranks");
        }
        folder.succeed(&format!("{AGENTS} --quiet --out ppo-1"));
        succeed(&folder, &format!("-n 2 farad {AGENTS} --quiet --out ppo-2"));
        let first = |run: &str| {
            let log = LogTable::read(folder.path(run).join("log.csv")).expect("a log");
            log.series("entropy").first().copied().expect("a row").1
        };
        let (two, one) = (first("ppo-2"), first("ppo-1"));
        assert!((two - one).abs() < 1e-4 * one.abs(), "entropy of the first update: {two} vs {one}");
        // The worlds of two ranks go on in one.
        folder.succeed("train --resume ppo-2 --updates 10 --quiet");
    }

    /// Shards and f16 on the wire learn nearly the same, and a killed run of shards goes on with another number of ranks.
    #[test]
    fn shards_and_halves_learn_and_resume() {
        let folder = with_text("ranks-shards");
        folder.succeed(&format!("{LM} --quiet --out whole"));
        for (ranks, how) in
            [(2, "--set shard=true"), (3, "--set shard=true --set wire=f16"), (2, "--set wire=f16")]
        {
            succeed(&folder, &format!("-n {ranks} farad {LM} {how} --quiet --out run"));
            let read =
                |run: &str| LogTable::read(folder.path(run).join("log.csv")).expect("a log").series("loss");
            for ((step, a), (_, b)) in read("run").iter().zip(&read("whole")) {
                assert!((a - b).abs() <= 2e-2 * b.abs(), "{how}: loss after step {step}: {a} vs {b}");
            }
            std::fs::remove_dir_all(folder.path("run")).expect("a run");
        }
        for (n, (first, then)) in [(2, 1), (2, 3)].into_iter().enumerate() {
            let broken = format!("broken-{n}");
            let words = format!("-n {first} farad {LM} --set shard=true --quiet --out {broken}");
            let mut child =
                mpirun(&folder, &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("mpirun");
            wait_for_checkpoints(&folder.path(&broken), 2, &mut child);
            children(child.id()).into_iter().for_each(kill);
            child.wait().expect("it ends");
            succeed(&folder, &format!("-n {then} farad train --resume {broken} --quiet"));
            assert_near(&folder, &broken, "whole", &["loss", "validation_loss"]);
        }
    }

    /// Waits until a run has written so many checkpoints.
    fn wait_for_checkpoints(run: &Path, count: usize, child: &mut Child) {
        let until = Instant::now() + Duration::from_secs(120);
        while events(run).iter().filter(|event| event["event"] == "checkpoint").count() < count {
            assert!(Instant::now() < until, "nothing happens");
            assert!(child.try_wait().expect("a child").is_none(), "it ended before it was killed");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The processes that `mpirun` started.
    fn children(of: u32) -> Vec<u32> {
        let threads = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
        let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let mut all: Vec<u32> = lists
            .flat_map(|list| list.split_whitespace().flat_map(str::parse).collect::<Vec<u32>>())
            .collect();
        all.sort();
        all
    }

    /// Whether a process runs; one that ended and was not collected yet does not.
    fn lives(pid: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    }

    fn kill(pid: u32) {
        assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill").success());
    }

    /// How many times to kill, by `FARAD_RANK_KILLS`; the tests have a short form.
    fn times() -> usize {
        std::env::var("FARAD_RANK_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
    }

    #[test]
    fn a_killed_rank_ends_all_and_the_run_goes_on() {
        let folder = with_text("ranks-killed");
        let shards = format!("{LM} --set shard=true --set wire=f16");
        let agents = AGENTS.replace("--updates 8", "--updates 60");
        let evolved = EVOLVED.replace("--updates 4", "--updates 60 --set checkpoint_every=2");
        let creatures = CREATURES.replace("--updates 4", "--updates 24");
        // Whole runs, with their reports: what goes on is not told to be quick.
        let automata = AUTOMATA.replace("--updates 12", "--updates 60").replace(" --quick", "");
        let kinds = [
            ("lm", LM),
            ("shards", &shards),
            ("ppo", &agents),
            ("network", MNIST),
            ("logic", LOGIC),
            ("cma", &evolved),
            ("automata", &automata),
            ("creatures", &creatures),
        ];
        for (name, start) in kinds.iter().take(times()) {
            succeed(&folder, &format!("-n 2 farad {start} --quiet --out whole-{name}"));
        }
        for n in 0..times() {
            let (name, start) = kinds[n % kinds.len()];
            let broken = format!("broken-{name}");
            let _ = std::fs::remove_dir_all(folder.path(&broken));
            let mut started = mpirun(&folder, &format!("-n 2 farad {start} --quiet --out {broken}"));
            let mut child = started.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("mpirun");
            wait_for_checkpoints(&folder.path(&broken), 1 + n % 5, &mut child);
            let ranks = children(child.id());
            assert_eq!(ranks.len(), 2, "{ranks:?}");
            let (killed, moment) = ((n + n / kinds.len()) % 2, Instant::now());
            kill(ranks[killed]);
            let done = child.wait_with_output().expect("it ends");
            // A rank may still be on its way out when mpirun has ended.
            while ranks.iter().any(|&pid| lives(pid)) {
                assert!(moment.elapsed() < PATIENCE, "a rank lives on");
                std::thread::sleep(Duration::from_millis(10));
            }
            let took = moment.elapsed();
            assert!(took < PATIENCE, "it took {took:?} to end");
            assert!(!done.status.success());
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(said.contains(&format!("rank {killed}")), "{said}");
            succeed(&folder, &format!("-n 2 farad train --resume {broken} --quiet"));
            assert_same(&folder.path(&format!("whole-{name}")), &folder.path(&broken));
            println!(
                "kill {n}: {name}, rank {killed}: all ended after {:.2} s; resumed to the same bits",
                took.as_secs_f64()
            );
        }
    }

    /// A checkpoint knows no ranks: what four began two or one end, with the same order of data.
    #[test]
    fn another_number_of_ranks_goes_on() {
        let folder = with_text("ranks-fewer");
        let evolved = EVOLVED.replace("--updates 4", "--updates 20 --set checkpoint_every=2");
        let automata = AUTOMATA.replace("--updates 12", "--updates 30");
        let creatures = CREATURES.replace("--updates 4", "--updates 12");
        let losses = &["loss", "validation_loss"][..];
        // Kinds that are spread learn the same bits.
        for (name, start, counts, columns) in [
            ("lm", LM, [4, 2], losses),
            ("lm", LM, [1, 3], losses),
            ("network", MNIST, [4, 1], losses),
            ("logic", LOGIC, [2, 1], &["soft_loss"]),
            ("table", TABLE, [2, 3], losses),
            ("cma", &evolved, [3, 2], &[]),
            ("automata", &automata, [3, 2], &[]),
            ("creatures", &creatures, [3, 2], &["best", "cells"]),
        ] {
            let [first, then] = counts;
            let (whole, broken) = (format!("{name}-whole"), format!("{name}-{first}"));
            if !folder.path(&whole).exists() {
                folder.succeed(&format!("{start} --quiet --out {whole}"));
            }
            let mut started = mpirun(&folder, &format!("-n {first} farad {start} --quiet --out {broken}"));
            let mut child = started.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("mpirun");
            wait_for_checkpoints(&folder.path(&broken), 2, &mut child);
            children(child.id()).into_iter().for_each(kill);
            child.wait().expect("it ends");
            succeed(&folder, &format!("-n {then} farad train --resume {broken} --quiet"));
            match columns {
                [] => assert_same_bits(&folder, &broken, &whole),
                columns => assert_near(&folder, &broken, &whole, columns),
            }
        }
    }

    /// What a try came to only the first rank knows; all of them go on with the next seeds.
    #[test]
    fn all_ranks_make_the_next_try() {
        let folder = Folder::new("ranks-tries");
        let start =
            AUTOMATA.replace("--updates 12", "--updates 3").replace("--seeds 3", "--seeds 2 --tries 2");
        succeed(&folder, &format!("-n 2 farad {start} --seed 5 --out tried"));
        assert!(
            folder.path("tried").is_dir() && folder.path("tried-7").is_dir(),
            "seeds 5 and 6, then 7 and 8"
        );
    }

    /// Ranks that a launcher started but MPI does not connect do not train one by one.
    #[test]
    fn what_is_not_connected_is_refused() {
        let folder = Folder::new("ranks-apart");
        let mut command = folder.command(&format!("{MNIST} --out run"));
        // As MPICH's launcher says it, which OpenMPI does not listen to.
        let done = command.env("PMI_SIZE", "2").env("PMI_RANK", "0").output().expect("starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{said}");
        assert!(said.contains("does not connect what was started together (1 vs 2 ranks)"), "{said}");
        assert!(!folder.path("run").exists());
    }

    #[test]
    fn ranks_that_differ_are_refused() {
        let folder = with_text("ranks-differ");
        let one = format!("-n 1 farad {MNIST} --quiet --out run");
        let said = fail(&folder, &format!("{one} --seed 1 : {one} --seed 2"), 1);
        assert!(said.contains("group: ranks differ: seed (rank 0 on "), "{said}");
        std::fs::write(folder.path("other.txt"), text().replace("cat", "cow")).expect("a text");
        let one = format!("-n 1 farad {LM} --quiet --out run");
        let said = fail(&folder, &format!("{one} : {} ", one.replace("text.txt", "other.txt")), 1);
        assert!(said.contains("group: ranks differ: data (rank 0 on "), "{said}");
        assert!(!folder.path("run").exists(), "a refused training leaves nothing behind");
    }

    #[test]
    fn what_all_ranks_are_asked_wrongly_is_answered_once() {
        let folder = with_text("ranks-wrong");
        assert!(fail(&folder, "-n 3 farad train mnist --no-such-flag", 2).contains("no-such-flag"));
        assert!(fail(&folder, "-n 2 farad train mnst", 2).contains("did you mean `mnist`"));
        let said = fail(&folder, "-n 2 farad train cartpole-circuit --device cpu", 2);
        assert!(said.contains("several ranks cannot train this together: "), "{said}");
        for algorithm in ["sac", "shac", "dreamer"] {
            let said =
                fail(&folder, &format!("-n 2 farad train pendulum --algorithm {algorithm} --device cpu"), 1);
            assert!(said.contains(algorithm) && said.contains("help: "), "{said}");
        }
        let said = fail(&folder, "-n 2 farad sweep plan.toml", 2);
        assert!(said.contains("sweep: one process does this"), "{said}");
        let said = fail(&folder, "-n 2 farad train checkerboard --device cpu", 1);
        assert!(said.contains("there is less to spread than there are ranks: seeds (1 vs 2)"), "{said}");
        let said = fail(&folder, &format!("-n 8 farad {LM}"), 1);
        assert!(said.contains("a batch has fewer samples than there are ranks: (6 vs 8)"), "{said}");
    }

    /// A GPU that is lost on one rank ends the others too. Needs a GPU, also a software one.
    #[test]
    fn a_rank_that_loses_its_device_ends_all() {
        if farad::Device::gpu(0).is_err() {
            return eprintln!("skipped: there is no GPU");
        }
        let folder = with_text("ranks-lost");
        let gpu = LM.replace("--device cpu", "--device gpu");
        let one = format!("farad {gpu} --quiet --out run");
        let words = format!("-n 1 {one} : -n 1 env FARAD_FAULT=lose-device:60 {one}");
        let said = fail(&folder, &words, 1);
        assert!(said.contains("rank 1 on ") && said.contains("device lost"), "{said}");
    }

    /// One rank fails where the others wait for it: a disk that is full, for the first; a text that is missing, for another.
    #[test]
    fn an_error_of_one_rank_ends_all_with_its_name() {
        let folder = with_text("ranks-fault");
        let one = format!("-n 1 farad {LM} --quiet --out run");
        let said = fail(&folder, &format!("{one} : {} ", one.replace("text.txt", "gone.txt")), 1);
        assert!(said.contains("rank 1 on ") && said.contains("gone.txt"), "{said}");
        let began = Instant::now();
        // A rate that no model survives: the loss is not finite on all ranks, and the first says so.
        let wild = LM.replace("--learning-rate 0.01", "--learning-rate 1e30");
        let said = fail(&folder, &format!("-n 2 farad {wild} --out wild"), 1);
        assert!(said.contains("rank 0 on ") && said.contains("the loss is not finite"), "{said}");
        assert!(began.elapsed() < 6 * PATIENCE);
    }
}
