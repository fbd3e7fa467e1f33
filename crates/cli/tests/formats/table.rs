//! Every format that farad reads: valid samples, and what reads them.

use std::path::Path;

use farad::StateDict;
use farad::data::{Channels, Csv, Dataset, Split, cifar10, npz_set, read_idx, read_image};
use farad::prelude::*;
use farad::run::{Checkpoint, Conclusion, Events, Log, LogTable, Notes, Run, json};
use farad_circuit::{Circuit, Simulator, Statistics};
use farad_lm::Tokenizer;
use farad_lm::data::TokenFile;
use farad_lm::tokenize::TokenizerKind;
use farad_rl::creatures::{Archive, ArchiveAxis, DescriptorRow};
use farad_world::TrialResult;

use crate::folder::Folder;
use crate::samples;

/// A format.
pub struct Format {
    /// As `scripts/fuzz` calls it.
    pub name: &'static str,
    /// The file that is damaged, in a folder of its own.
    pub file: &'static str,
    /// Valid files.
    pub samples: Vec<Vec<u8>>,
    /// Bytes of memory that a byte of the file may cost.
    pub cost: usize,
    /// Puts checksums right after the damage, or it would come no further than those.
    pub mend: fn(&mut [u8]),
    /// Reads the file in the folder and uses what it finds. Errors are fine; panics are not.
    pub read: fn(&Path),
}

/// What every read gets: the folder of its file.
fn at(folder: &Path, file: &str) -> std::path::PathBuf {
    folder.join(file)
}

/// All formats. Runs are made with the command, each in a folder of its name; reading one of their files means
/// reading the run.
pub fn all(runs: &Folder) -> Vec<Format> {
    let mut all = tensors();
    all.extend(data());
    all.extend(language());
    all.extend(circuits());
    all.extend(worlds());
    all.extend(creatures());
    all.extend(of_runs(runs));
    all
}

fn format(name: &'static str, file: &'static str, samples: Vec<Vec<u8>>, read: fn(&Path)) -> Format {
    Format { name, file, samples, cost: 20, mend: |_| (), read }
}

fn tensors() -> Vec<Format> {
    vec![
        format("safetensors", "x.safetensors", samples::safetensors(), |folder| {
            if let Ok(tensors) = farad::load(at(folder, "x.safetensors"), &Device::cpu()) {
                tensors.values().for_each(|tensor| drop(tensor.cast(DType::F32).to_vec::<f32>()));
            }
        }),
        format("state-dict", "x.safetensors", samples::state_dicts(), |folder| {
            let model = Sequential::new((Linear::new(3, 2), Relu, Linear::new(2, 1)));
            if let Ok(state) = StateDict::read(at(folder, "x.safetensors")) {
                let state = state.rename("*.weight", "*.weight").map(|state| state.transpose("2.*"));
                drop(state.map(|state| state.load_into(&model)));
            }
        }),
        format("npy", "x.npy", samples::npys(), |folder| {
            if let Ok(tensor) = farad::read_npy(at(folder, "x.npy"), &Device::cpu()) {
                drop(tensor.cast(DType::F32).to_vec::<f32>());
            }
        }),
        Format {
            mend: samples::mend_zip,
            ..format("npz", "x.npz", samples::npzs(), |folder| {
                drop(farad::read_npz(at(folder, "x.npz"), &Device::cpu()));
                drop(npz_set(at(folder, "x.npz"), "x", "y"));
            })
        },
        format("onnx", "x.onnx", samples::onnxs(), |folder| {
            let Ok(model) = farad_onnx::Model::load(at(folder, "x.onnx")) else { return };
            drop((model.named_parameters(), model.inputs().len(), model.metadata().len()));
        }),
        format("checkpoint", "x.safetensors", samples::checkpoints(), |folder| {
            let Ok(checkpoint) = Checkpoint::read(at(folder, "x.safetensors"), "example") else { return };
            drop(checkpoint.value::<(u64, String)>());
            drop(checkpoint.tensors("model", &Device::cpu()));
            drop(checkpoint.tensor("model.weight", [2, 3], &Device::cpu()));
        }),
        format("tuning", "tuning.json", samples::tunings(), |folder| {
            drop(farad::load_tuning(at(folder, "tuning.json")).map(|tuning| tuning.name()));
        }),
    ]
}

fn data() -> Vec<Format> {
    vec![
        format("idx", "x.idx", samples::idxs(), |folder| drop(read_idx(at(folder, "x.idx")))),
        format("cifar10", "test_batch.bin", samples::cifars(), |folder| {
            if let Ok(set) = cifar10(folder, Split::Test) {
                drop(set.get(set.len() - 1));
            }
        }),
        Format {
            // Deflate makes 1032 bytes of one, each may be eight pixels, and a pixel is six bytes on the way.
            cost: 6 * 8 * 1032,
            mend: samples::mend_png,
            ..format("image", "x.png", samples::images(), |folder| {
                for channels in [Channels::Color, Channels::Gray] {
                    drop(read_image(at(folder, "x.png"), channels));
                }
            })
        },
        format("csv", "x.csv", samples::csvs(), |folder| {
            drop(Csv::new().read(at(folder, "x.csv")));
            drop(Csv::new().without_header().target(1).ignore(0).read(at(folder, "x.csv")));
            drop(Csv::new().target("kind").separator(b';').read(at(folder, "x.csv")));
        }),
        format("log", "log.csv", samples::logs(), |folder| {
            let path = at(folder, "log.csv");
            if let Ok(table) = LogTable::read(&path) {
                drop((table.steps(), table.series("loss")));
            }
            drop(Log::resume(&path, &["loss", "wrong"], Some(20)).map(|mut log| log.flush()));
        }),
        format("events", "events.jsonl", samples::events(), |folder| {
            let path = at(folder, "events.jsonl");
            drop(Events::read(&path).map(|events| Events::training_seconds(&events)));
            drop(Events::open(&path).map(|mut events| events.write("checkpoint", 3, json!({ "a": 1 }))));
        }),
        format("notes", "notes.json", samples::notes(), |folder| {
            drop(Notes::of(folder).map(|notes| Notes::new(&notes.tags, &notes.text)));
        }),
    ]
}

fn language() -> Vec<Format> {
    let kinds = ["bytes", "chars", "words", "bpe"].map(|name| TokenizerKind::named(name).unwrap());
    let learned = kinds.map(|kind| Tokenizer::learn(&kind, samples::TEXT.as_bytes(), 300).unwrap());
    let tokenizers = learned.iter().map(|tokenizer| serde_json::to_vec(tokenizer).unwrap()).collect();
    let tokens = [&[3, 1, 2, 0, 199][..], &[7; 60]].map(|tokens| TokenFile::encoded(tokens, 200));
    vec![
        format("tokenizer", "tokenizer.json", tokenizers, |folder| {
            let bytes = std::fs::read(at(folder, "tokenizer.json")).unwrap();
            if let Ok(tokenizer) = serde_json::from_slice::<Tokenizer>(&bytes) {
                let tokens = tokenizer.encode(samples::TEXT.as_bytes()).unwrap_or_default();
                tokenizer.decode(&tokens);
                let last = tokenizer.size().saturating_sub(1) as u32;
                tokenizer.decode(&[0, last, last]);
                serde_json::to_vec(&tokenizer).unwrap();
            }
        }),
        format("tokens", "x.tokens", tokens.to_vec(), |folder| {
            if let Ok(file) = TokenFile::open(&at(folder, "x.tokens"), 200) {
                file.tokens(0, file.len());
            }
        }),
        #[cfg(feature = "tokenizers")]
        format("tokenizer.json", "tokenizer.json", samples::foreign(), |folder| {
            let path = at(folder, "tokenizer.json");
            if let Ok(foreign) = farad_lm::tokenize::Foreign::read(&path) {
                drop(foreign.encode(samples::TEXT));
            }
        }),
    ]
}

/// Worlds of bodies. What is read is also assembled, if it is small.
fn worlds() -> Vec<Format> {
    let texts = farad_world::WORLDS.iter().map(|row| row.json.as_bytes().to_vec());
    vec![format("world", "world.json", texts.collect(), |folder| {
        let bytes = std::fs::read(at(folder, "world.json")).unwrap();
        let Ok(text) = String::from_utf8(bytes) else { return };
        let Ok(description) = farad_world::Description::from_json(&text) else { return };
        let again = farad_world::Description::from_json(&description.to_json());
        assert_eq!(again.expect("what is written can be read"), description);
        if let Ok(world) = farad_world::World::new(&description, &Device::cpu()) {
            drop((world.contacts(), world.length(0), world.reset(1, 0)));
        }
    })]
}

fn creatures() -> Vec<Format> {
    let plans = || (0..3).map(farad_world::Genotype::random);
    let mut axes = vec![];
    for name in ["mass", "touch"] {
        axes.push(ArchiveAxis::new(DescriptorRow::named(name).expect("a row"), 4));
    }
    let mut archive = Archive::new(axes);
    for (n, plan) in plans().enumerate() {
        let trial =
            TrialResult { distance: 1.0, touch: 0.3 * n as f64, whole: true, ..TrialResult::default() };
        archive.place(&plan, &plan.grown().expect("it grows"), &trial, n as u64);
    }
    let texts = plans().map(|plan| plan.to_json().into_bytes()).collect();
    vec![
        format("genotype", "genotype.json", texts, |folder| {
            let Ok(text) = std::fs::read_to_string(at(folder, "genotype.json")) else { return };
            let Ok(genotype) = farad_world::Genotype::from_json(&text) else { return };
            let Ok(grown) = genotype.grown() else { return };
            let world = farad_world::World::new(&grown.description(), &Device::cpu());
            assert_eq!(world.expect("what grows is whole").bodies(), grown.parts.len());
        }),
        format("archive", "archive.json", vec![archive.to_json().into_bytes()], |folder| {
            let Ok(archive) = Archive::read(&at(folder, "archive.json")) else { return };
            let _ = (archive.ranked().len(), archive.best(), archive.size());
        }),
    ]
}

fn circuits() -> Vec<Format> {
    vec![format("circuit", "x.json", samples::circuits(), |folder| {
        let Ok(circuit) = Circuit::read(at(folder, "x.json")) else { return };
        circuit.check().expect("what is read is whole");
        Statistics::of(circuit.netlist());
        if let Circuit::Netlist(netlist) = &circuit
            && netlist.inputs.len() < 1000
        {
            drop(Simulator::new(netlist));
        }
        assert_eq!(Circuit::from_json(&circuit.to_json()).expect("what is written can be read"), circuit);
    })]
}

/// Configurations and checkpoints of every kind of run, as the command wrote them.
fn of_runs(runs: &Folder) -> Vec<Format> {
    let config = |run: &str| vec![std::fs::read(runs.path(run).join("config.toml")).unwrap()];
    let checkpoint = |run: &str, file: &str| {
        let bytes = std::fs::read(runs.path(run).join(file)).unwrap();
        // Without its checksum, or no damage would come any further.
        vec![samples::without_checksum(&bytes), bytes]
    };
    fn automaton(folder: &Path) {
        let Ok(run) = Run::open(folder) else { return };
        drop(farad_logic::train::Configuration::of(&run));
        drop(farad_logic::train::LearnedAutomata::of(&run).map(|learned| learned.shown()));
    }
    fn logic(folder: &Path) {
        let Ok(run) = Run::open(folder) else { return };
        drop(farad_logic::classify::ClassifierSettings::of(&run));
        drop(farad_logic::classify::LearnedClassifier::of(&run).map(|learned| learned.netlist()));
    }
    fn language(folder: &Path) {
        let Ok(run) = Run::open(folder) else { return };
        drop(farad_lm::train::LmSettings::of(&run));
        drop(farad_lm::train::Learned::of(&run, &Device::cpu()));
    }
    fn conclusion(folder: &Path) {
        (0..300).for_each(|step| drop(Conclusion::of(folder, step).map(|found| found.json())));
    }
    let result = vec![std::fs::read(runs.path("life").join("result.json")).unwrap()];
    vec![
        format("run/result", "result.json", result, conclusion),
        format("life/config", "config.toml", config("life"), automaton),
        format(
            "life/checkpoint",
            "checkpoint.safetensors",
            checkpoint("life", "checkpoint.safetensors"),
            automaton,
        ),
        format("logic/config", "config.toml", config("logic"), logic),
        format(
            "logic/checkpoint",
            "checkpoint.safetensors",
            checkpoint("logic", "checkpoint.safetensors"),
            logic,
        ),
        format("lm/config", "config.toml", config("lm"), language),
        format("lm/best", "best.safetensors", checkpoint("lm", "best.safetensors"), language),
    ]
}
