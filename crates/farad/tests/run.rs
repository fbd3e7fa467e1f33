//! Runs: folders that are never written over, logs, events, and checkpoints that come back or say
//! what is wrong with them.

mod devices;
mod folder;

use std::path::Path;
use std::time::Duration;

use devices::{devices, turn};
use farad::TrainError;
use farad::prelude::*;
use farad::run::{Checkpoint, Events, Log, LogTable, Run, Table, Value, json};
use farad::{DeviceOptions, RandomState, nearest};
use folder::Folder;

fn example_config() -> Table {
    "updates = 500\n[model]\nsizes = [8, 4]\n[optimizer]\nrate = 0.06\n".parse().unwrap()
}

#[test]
fn a_run_is_made_once_and_opened_again() {
    let folder = Folder::new("made");
    let path = folder.at("deep/run");
    let run = Run::create(&path, "example", example_config()).unwrap();
    let text = std::fs::read_to_string(run.config_path()).unwrap();
    assert!(
        text.starts_with("format = \"farad-run\"\nversion = 1\nkind = \"example\"\nupdates = 500\n"),
        "{text}"
    );
    run.write_report("# done\n").unwrap();
    let plot = run.write_plot("loss", &farad::run::Chart::new("loss", "step", "loss").svg()).unwrap();
    assert_eq!(plot, path.join("plots/loss.svg"));
    let file = run.write_file("circuits/deep/one.json", b"{}").unwrap();
    assert_eq!(std::fs::read(file).unwrap(), b"{}");
    for outside in ["../one.json", "/tmp/one.json", "circuits/../../one.json"] {
        let written = std::panic::catch_unwind(|| run.write_file(outside, b"{}"));
        assert!(written.is_err(), "{outside}");
    }
    drop(run);
    let run = Run::open(&path).unwrap();
    assert_eq!((run.kind(), run.config()), ("example", &example_config()));
    assert!(run.checkpoint().unwrap().is_none());
    let writers: [fn(&Run); 3] = [
        |run| drop(run.write_report("# more\n")),
        |run| drop(run.write_plot("loss", "<svg/>")),
        |run| drop(run.plot_path("film.gif")),
    ];
    for write in writers {
        let refused = std::panic::catch_unwind(|| write(&run)).unwrap_err();
        assert!(refused.downcast_ref::<String>().unwrap().starts_with("run: opened to read only"));
    }
    assert_eq!(std::fs::read_to_string(run.report_path()).unwrap(), "# done\n");
    let before = std::fs::read(run.config_path()).unwrap();
    let error = Run::create(&path, "other", Table::new()).unwrap_err().to_string();
    let help = "help: choose a new folder, or resume the run in this one";
    assert_eq!(error, format!("run: folder is not empty: {}\n{help}", path.display()));
    assert_eq!(std::fs::read(run.config_path()).unwrap(), before);
    let mut run = Run::resume(&path).unwrap();
    let mut config = run.config().clone();
    config.insert("updates".into(), 900.into());
    run.set_config(config.clone()).unwrap();
    assert_eq!(Run::open(&path).unwrap().config(), &config);
}

#[test]
fn a_config_keeps_its_order_and_comes_back() {
    let folder = Folder::new("order");
    let mut config = Table::new();
    config.insert("zebra".into(), example_config().into());
    config.insert("updates".into(), 3.into());
    config.insert("a \"name\"".into(), "two\nlines".into());
    let run = Run::create(folder.at("run"), "example", config.clone()).unwrap();
    let text = std::fs::read_to_string(run.config_path()).unwrap();
    assert!(text.find("updates = 3") < text.find("[zebra]"), "{text}");
    assert!(text.find("[zebra.model]") < text.find("[zebra.optimizer]"), "{text}");
    assert_eq!(Run::open(folder.at("run")).unwrap().config(), &config);
}

#[test]
#[should_panic(expected = "run: opened to read only: ")]
fn reading_is_not_writing() {
    let folder = Folder::new("read");
    drop(Run::create(folder.at("run"), "example", Table::new()).unwrap());
    let _ = Run::open(folder.at("run")).unwrap().create_log(&["loss"]);
}

#[test]
#[should_panic(expected = "run: config key is reserved: version")]
fn some_keys_are_reserved() {
    let folder = Folder::new("reserved");
    let _ = Run::create(folder.at("run"), "example", Table::from_iter([("version".to_string(), 2.into())]));
}

#[test]
fn the_nearest_name() {
    let keys = ["learning_rate", "batch", "updates", "checkpoint_every", "noise"];
    for (typed, meant) in [
        ("learning-rate", "learning_rate"),
        ("lerning_rate", "learning_rate"),
        ("update", "updates"),
        ("nois", "noise"),
    ] {
        assert_eq!(nearest(typed, keys), Some(meant));
    }
    assert_eq!([nearest("kernel", keys), nearest("", keys), nearest("x", [])], [None; 3]);
}

#[test]
fn folders_that_are_no_runs() {
    let folder = Folder::new("refused");
    let error = |path: &Path| Run::open(path).unwrap_err().to_string();
    let start = |path: &Path, why: &str| format!("run: not a run: {}: {why}\nhelp: a run is", path.display());
    let missing = folder.at("missing");
    assert!(error(&missing).starts_with(&start(&missing, "no such folder")), "{}", error(&missing));
    assert!(error(&folder.0).starts_with(&start(&folder.0, "it has no config.toml")), "{}", error(&folder.0));
    let file = folder.at("config.toml");
    std::fs::write(&file, "name = \"something else\"\n").unwrap();
    assert!(error(&folder.0).contains("does not say format = \"farad-run\""), "{}", error(&folder.0));
    assert!(error(&file).starts_with(&start(&file, "it is not a folder")), "{}", error(&file));
    std::fs::write(&file, "format = \"farad-run\"\nversion = 7\nkind = \"x\"\n").unwrap();
    let newer = error(&folder.0);
    assert!(
        newer.starts_with(&format!("run: newer version: {} (version 7 vs 1)\n", folder.0.display())),
        "{newer}"
    );
    assert!(newer.contains("help: this build reads version 1"), "{newer}");
    std::fs::write(&file, "format = \"farad-run\"\nversion = [").unwrap();
    assert!(error(&folder.0).starts_with("run: damaged config: "), "{}", error(&folder.0));
}

#[test]
fn one_writer_at_a_time() {
    let folder = Folder::new("locked");
    let path = folder.at("run");
    let run = Run::create(&path, "example", Table::new()).unwrap();
    let error = Run::resume(&path).unwrap_err().to_string();
    let (path_text, process) = (path.display(), std::process::id());
    let wanted = format!("run: in use: {path_text}: process {process} is writing to it\nhelp: wait");
    assert!(error.starts_with(&wanted), "{error}");
    assert!(Run::open(&path).is_ok());
    drop(run);
    // What a process leaves behind that was killed is no lock.
    assert!(path.join(".lock").exists());
    assert!(Run::resume(&path).is_ok());
    let half = folder.at("half");
    std::fs::create_dir(&half).unwrap();
    std::fs::write(half.join(".lock"), "1").unwrap();
    std::fs::write(half.join("config.toml.1.tmp"), "form").unwrap();
    assert!(Run::create(&half, "example", Table::new()).is_ok());
}

#[test]
fn a_log_goes_on_as_if_never_interrupted() {
    let folder = Folder::new("log");
    let write = |log: &mut Log, steps: std::ops::RangeInclusive<u64>| {
        for step in steps {
            let evaluated = step.is_multiple_of(3).then_some(step as f64 / 3.0);
            log.row(step, &[(0.1 / step as f32).into(), evaluated.into(), (step > 4).into()]).unwrap();
        }
        log.flush().unwrap();
    };
    let columns = ["loss", "exact", "late"];
    let whole = folder.at("whole.csv");
    write(&mut Log::create(&whole, &columns).unwrap(), 1..=9);
    let text = std::fs::read_to_string(&whole).unwrap();
    assert!(text.starts_with("step,loss,exact,late\n1,0.1,,0\n2,0.05,,0\n3,0.033333335,1,0\n"), "{text}");
    for (until, torn) in [(7, "9,0.0"), (5, ""), (6, "8,\n9"), (9, "1")] {
        let path = folder.at(&format!("broken-{until}.csv"));
        write(&mut Log::create(&path, &columns).unwrap(), 1..=until);
        let broken = std::fs::read_to_string(&path).unwrap() + torn;
        std::fs::write(&path, broken).unwrap();
        write(&mut Log::resume(&path, &columns, Some(5)).unwrap(), 6..=9);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "until {until}, torn {torn:?}");
        write(&mut Log::resume(&path, &columns, None).unwrap(), 1..=9);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    for torn in ["", "step,lo"] {
        let path = folder.at("header.csv");
        std::fs::write(&path, torn).unwrap();
        write(&mut Log::resume(&path, &columns, None).unwrap(), 1..=9);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    let table = LogTable::read(&whole).unwrap();
    assert_eq!(table.columns(), columns);
    assert_eq!(table.series("exact"), [(3.0, 1.0), (6.0, 2.0), (9.0, 3.0)]);
    assert_eq!(table.series("nothing"), []);
    let error = Log::resume(&whole, &["loss"], Some(5)).unwrap_err().to_string();
    assert!(error.starts_with("log: columns differ: "), "{error}");
    assert!(error.contains("found `step,loss,exact,late`, wanted `step,loss`\nhelp: "), "{error}");
    assert_eq!(std::fs::read_to_string(&whole).unwrap(), text);
}

#[test]
fn events_are_kept_and_a_torn_line_is_passed_over() {
    let folder = Folder::new("events");
    let path = folder.at("events.jsonl");
    assert_eq!(Events::read(&path).unwrap(), Vec::<Value>::new());
    let mut events = Events::open(&path).unwrap();
    events.write("start", 0, json!({ "device": "cpu", "of \"two\"": [1, 2] })).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    events.write("evaluated", 7, Value::Null).unwrap();
    drop(events);
    let before = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&before[..], b"{\"event\":\"to"].concat()).unwrap();
    assert_eq!(Events::read(&path).unwrap().len(), 2);
    Events::open(&path).unwrap().write("resumed", 7, json!({})).unwrap();
    let all = Events::read(&path).unwrap();
    assert_eq!(
        all.iter().map(|e| e["event"].as_str().unwrap()).collect::<Vec<_>>(),
        ["start", "evaluated", "resumed"]
    );
    assert_eq!(
        (&all[0]["device"], &all[0]["of \"two\""], &all[1]["step"]),
        (&json!("cpu"), &json!([1, 2]), &json!(7))
    );
    // Running time goes on where it stopped.
    assert!(
        all[2]["seconds"].as_f64() >= all[1]["seconds"].as_f64() && all[1]["seconds"].as_f64() >= Some(0.02)
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
}

fn example_checkpoint(device: &Device) -> Checkpoint {
    let mut checkpoint = Checkpoint::new("example", 12);
    checkpoint.put("model.weight", &Tensor::from_vec(vec![1.5f32, -0.0, f32::NAN], [3, 1], device));
    checkpoint.put("model.mask", &Tensor::from_vec(vec![1, 0], [2], device).greater(0.0));
    checkpoint.put("other", &Tensor::from_vec(vec![7u32], [1], device));
    checkpoint.set_value((u64::MAX, device.random_state()));
    checkpoint
}

#[test]
fn checkpoints_come_back() {
    let _turn = turn();
    let folder = Folder::new("checkpoint");
    let path = folder.at("checkpoint.safetensors");
    for device in devices() {
        example_checkpoint(&device).write(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        example_checkpoint(&device).write(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "the same contents are the same bytes");
        let back = Checkpoint::read(&path, "example").unwrap();
        assert_eq!((back.step(), back.kind()), (12, "example"));
        let (position, random): (u64, RandomState) = back.value().unwrap();
        assert_eq!((position, random), (u64::MAX, device.random_state()));
        let weight = back.tensor("model.weight", [3, 1], &device).unwrap();
        assert_eq!(weight.device(), &device);
        let bits = |t: &Tensor| t.to_vec::<f32>().unwrap().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&weight), [1.5f32, -0.0, f32::NAN].map(f32::to_bits));
        let model = back.tensors("model", &device).unwrap();
        assert_eq!(model.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["mask", "weight"]);
        assert_eq!(model[0].1.to_vec::<bool>().unwrap(), [true, false]);
        assert_eq!(back.names().collect::<Vec<_>>(), ["model.mask", "model.weight", "other"]);
        // The same file is one that `load` reads.
        assert_eq!(farad::load(&path, &device).unwrap()["other"].to_vec::<u32>().unwrap(), [7]);
    }
}

#[test]
fn checkpoints_that_are_damaged_or_foreign() {
    let folder = Folder::new("damaged");
    let path = folder.at("checkpoint.safetensors");
    let shown = path.display();
    let error = || Checkpoint::read(&path, "example").unwrap_err();
    assert!(error().to_string().starts_with(&format!("checkpoint: file {shown}: ")), "{}", error());
    example_checkpoint(&Device::cpu()).write(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for cut in 0..bytes.len() {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let error = error();
        assert!(
            matches!(error.part(), Some(TrainError::CheckpointTruncated { .. })),
            "cut at {cut}: {error}"
        );
    }
    let cut = format!(
        "checkpoint: truncated: {shown} ({} bytes vs at least {})\nhelp: ",
        bytes.len() - 1,
        bytes.len()
    );
    assert!(error().to_string().starts_with(&cut), "{}", error());
    std::fs::write(&path, [&bytes[..], b"more"].concat()).unwrap();
    assert!(error().to_string().contains("not a checkpoint"), "{}", error());
    std::fs::write(&path, "this is a text file, not a checkpoint").unwrap();
    assert!(
        error().to_string().starts_with(&format!("checkpoint: not a checkpoint: {shown}: ")),
        "{}",
        error()
    );
    farad::save(&path, &[("x", &Tensor::ones([2], &Device::cpu()))]).unwrap();
    let plain = format!("checkpoint: not a checkpoint: {shown}: it holds tensors and no training state");
    assert_eq!(error().to_string(), plain);
    let newer = String::from_utf8_lossy(&bytes[8..]).find("\\\"version\\\":1").unwrap() + 8;
    let mut later = bytes.clone();
    later[newer + "\\\"version\\\":".len()] = b'9';
    std::fs::write(&path, later).unwrap();
    let wanted =
        format!("checkpoint: newer version: {shown} (version 9 vs 1)\nhelp: this build reads version 1");
    assert!(error().to_string().starts_with(&wanted), "{}", error());
    std::fs::write(&path, &bytes).unwrap();
    let kind = Checkpoint::read(&path, "language").unwrap_err().to_string();
    assert_eq!(kind, format!("checkpoint: kinds differ: {shown} (example vs language)"));
}

/// Every bit of a file is watched over, and a run keeps the checkpoint before the last.
#[test]
fn a_bit_that_flips_is_found_and_the_checkpoint_before_is_named() {
    let folder = Folder::new("flipped");
    let run = Run::create(folder.at("run"), "example", Table::new()).unwrap();
    let mut log = run.create_log(&[]).unwrap();
    let save = |step: u64, log: &mut Log| {
        let mut checkpoint = Checkpoint::new("example", step);
        checkpoint.put("weight", &Tensor::full(step as f32, [5], &Device::cpu()));
        checkpoint.set_value(json!({ "position": step }));
        run.save(&checkpoint, log).unwrap();
    };
    save(1, &mut log);
    assert!(!run.previous_path().exists());
    save(2, &mut log);
    save(3, &mut log);
    assert_eq!(Checkpoint::read(run.previous_path(), "example").unwrap().step(), 2);
    let whole = std::fs::read(run.checkpoint_path()).unwrap();
    // Without the word the file is one of an earlier build, and everything in it is as it was written.
    let word = whole.windows(8).position(|window| window == b"checksum").unwrap();
    let mut differ = 0;
    for at in (0..whole.len()).filter(|at| !(word..word + 8).contains(at)) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        std::fs::write(run.checkpoint_path(), damaged).unwrap();
        let read = run.checkpoint().map(drop);
        match read.as_ref().err().and_then(farad::Error::part) {
            Some(TrainError::CheckpointBefore { source, step: 2, .. }) => {
                differ += u32::from(matches!(source.part(), Some(TrainError::CheckpointChecksum { .. })));
            }
            // A newer version or another kind is somebody else's file; spaces at the header's end mean nothing.
            Some(TrainError::CheckpointVersion { .. } | TrainError::CheckpointKind { .. }) => {}
            _ => assert!(whole[at] == b' ', "byte {at}: {read:?}"),
        }
    }
    assert!(differ > 30, "{differ} of {} bytes", whole.len());
    std::fs::remove_file(run.checkpoint_path()).unwrap();
    let lost = run.checkpoint().unwrap_err().to_string();
    assert!(lost.contains("help: the one before it is whole (2 steps): mv "), "{lost}");
}

#[test]
fn tensors_that_do_not_fit() {
    let folder = Folder::new("fit");
    let path = folder.at("checkpoint.safetensors");
    example_checkpoint(&Device::cpu()).write(&path).unwrap();
    let back = Checkpoint::read(&path, "example").unwrap();
    let error =
        |name: &str, shape: &[usize]| back.tensor(name, shape, &Device::cpu()).unwrap_err().to_string();
    assert_eq!(error("bias", &[1]), format!("checkpoint: no such tensor: bias: {}", path.display()));
    let wrong = "checkpoint: shapes differ: model.weight: found [3, 1], wanted";
    assert_eq!(error("model.weight", &[3, 2]), format!("{wrong} [3, 2] (axis 1: 1 vs 2)"));
    assert_eq!(error("model.weight", &[3]), format!("{wrong} [3] (rank 2 vs 1)"));
    let parameter = |shape: &[usize]| Parameter::new(Tensor::zeros(shape, &Device::cpu()));
    let fits = ("weight".to_string(), parameter(&[3, 1]));
    let parameters = [fits.clone(), ("mask".to_string(), parameter(&[2]))];
    let error = back.restore_parameters("model", &parameters).unwrap_err().to_string();
    assert_eq!(error, "checkpoint: dtypes differ: model.mask (bool vs f32)");
    assert_eq!(
        fits.1.value().to_vec::<f32>().unwrap(),
        [0.0; 3],
        "nothing changes if something does not fit"
    );
    back.restore_parameters("model", std::slice::from_ref(&fits)).unwrap();
    assert_eq!(fits.1.value().to_vec::<f32>().unwrap()[0], 1.5);
    let error = back.value::<Vec<u32>>().unwrap_err().to_string();
    assert!(error.starts_with("checkpoint: value cannot be read: "), "{error}");
}

#[test]
fn a_state_of_another_optimizer_is_refused() {
    let device = Device::cpu();
    let start = || vec![Parameter::new(Tensor::ones([2], &device))];
    let trained = || {
        let parameters = start();
        let mut adam = AdamW::new(parameters.clone());
        adam.step(&parameters[0].value().square().sum()).unwrap();
        adam.state().unwrap()
    };
    let error = |optimizer: &mut dyn Optimizer, state: &[(String, Tensor)]| {
        optimizer.restore(state).unwrap_err().to_string()
    };
    let mut plain = Sgd::new(start());
    let left = "restore: more tensors than the optimizer has: moment.0.0 is left over (3 vs 1)";
    assert_eq!(error(&mut plain, &trained()), left);
    let mut wide = AdamW::new(vec![Parameter::new(Tensor::ones([3], &device))]);
    let shapes = "restore: shapes differ: moment.0.0: found [2], wanted [3] (axis 0: 2 vs 3)";
    assert_eq!(error(&mut wide, &trained()), shapes);
    let mut adam = AdamW::new(start());
    let none = "restore: no such tensor: moment.1.0: the optimizer's state";
    assert_eq!(error(&mut adam, &trained()[..2]), none);
    assert_eq!(adam.steps(), 0);
    adam.restore(&trained()).unwrap();
    assert_eq!(adam.steps(), 1);
}

#[test]
fn checkpoints_name_the_table_of_tiles() {
    let Ok(device) = Device::gpu_with(0, DeviceOptions { handle: 41, ..Default::default() }) else {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: no GPU adapter");
        return;
    };
    let folder = Folder::new("tuning");
    let path = folder.at("checkpoint.safetensors");
    let x = Tensor::rand([48, 40], &device).detach().unwrap();
    x.matmul(&x.transpose(0, 1)).compute().unwrap();
    let mut seen = Vec::new();
    let tuned = device.tune(|done, all| seen.push((done, all))).unwrap();
    assert_eq!((tuned.len(), seen), (1, vec![(0, 1)]));
    let write = || {
        let mut checkpoint = Checkpoint::new("test", 1);
        checkpoint.put("x", &x);
        checkpoint.write(&path).unwrap();
        Checkpoint::read(&path, "test").unwrap().tuning().map(String::from)
    };
    assert_eq!(write(), None);
    let mut table = device.tuning_of(&tuned);
    table.products.insert(tuned[0].shape, "32x32x32 in 4 parts".into());
    device.set_tuning(table.clone()).unwrap();
    assert_eq!(write(), Some(table.name()));
    let compiled = device.counters().plans_compiled;
    x.matmul(&x.transpose(0, 1)).compute().unwrap();
    assert_eq!(device.counters().plans_compiled, compiled + 1, "programs are compiled again");
}
