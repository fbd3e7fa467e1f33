//! Damaged models, read and run: the result is an error, never a panic, too much memory or a long wait.
//!
//! Damage is done to bytes and to content: names, ops, types, sizes, numbers, nodes, nesting. The models are
//! those of PyTorch and, if available, the node tests. `FARAD_FUZZ_SECONDS` sets how long it runs and
//! `FARAD_FUZZ_SEED` the first seed; a failure names its seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use farad_onnx::Model;
use farad_onnx::proto::*;
use farad_testkit::Mutator;

use crate::allocator::peak_of;

/// Number of damaged models by default.
const TIMES: u64 = 1500;
/// Most bytes that a damaged model may allocate.
const MOST_MEMORY: usize = 2 << 30;
const PATIENCE: Duration = Duration::from_secs(20);

/// A model with its inputs.
struct Sample {
    model: ModelProto,
    inputs: Vec<TensorProto>,
    folder: PathBuf,
}

fn samples() -> Vec<Sample> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let suite = std::env::var_os("FARAD_ONNX_SUITE").map(PathBuf::from);
    let mut folders: Vec<PathBuf> = std::iter::once(own)
        .chain(suite)
        .flat_map(|place| std::fs::read_dir(place).expect("a folder"))
        .map(|entry| entry.unwrap().path())
        .filter(|folder| folder.join("model.onnx").exists())
        .collect();
    folders.sort();
    let read = |folder: &PathBuf| {
        let model = ModelProto::decode(&std::fs::read(folder.join("model.onnx")).ok()?).ok()?;
        let place = Some(folder.join("test_data_set_0")).filter(|place| place.exists());
        let place = place.unwrap_or_else(|| folder.clone());
        let files = (0..).map(|n| place.join(format!("input_{n}.pb"))).take_while(|path| path.exists());
        let inputs = files.filter_map(|path| TensorProto::decode(&std::fs::read(path).ok()?).ok()).collect();
        Some(Sample { model, inputs, folder: folder.clone() })
    };
    folders.iter().filter_map(read).collect()
}

/// Numbers at which sizes and counts tend to break.
const EDGES: [i64; 16] =
    [0, 1, -1, 2, 3, 7, 8, -2, 64, 255, 1 << 15, 1 << 24, 1 << 31, 1 << 40, i64::MAX, i64::MIN];

/// Changes the content of a model.
struct Changer {
    state: u64,
}

impl Changer {
    fn below(&mut self, most: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % most.max(1)
    }

    fn pick<'a, T>(&mut self, list: &'a mut [T]) -> Option<&'a mut T> {
        if list.is_empty() {
            return None;
        }
        let place = self.below(list.len());
        Some(&mut list[place])
    }

    fn edge(&mut self) -> i64 {
        EDGES[self.below(EDGES.len())]
    }

    /// One or a few changes to a model and its inputs.
    fn change(&mut self, model: &mut ModelProto, inputs: &mut Vec<TensorProto>, others: &[Sample]) {
        for _ in 0..=self.below(3) {
            let other = &others[self.below(others.len())].model;
            let kind = self.below(20);
            match (kind, &mut model.graph) {
                (0, _) => self.tensor_in(inputs),
                (1, _) => drop(inputs.pop()),
                (2, _) => {
                    let version = self.below(30) as i64;
                    self.pick(&mut model.opset_import).iter_mut().for_each(|set| set.version = version);
                }
                (3, _) => self.recursion(model),
                (4, Some(graph)) => self.nest(graph),
                (5, Some(graph)) => {
                    let kind = self.below(30) as i64;
                    let port = self.pick(&mut graph.input).and_then(|port| port.r#type.as_mut());
                    port.and_then(|kind| kind.tensor_type.as_mut())
                        .iter_mut()
                        .for_each(|own| own.elem_type = kind);
                }
                (6 | 7, Some(graph)) => self.tensor_in(&mut graph.initializer),
                (8, Some(graph)) => self.sparse(graph),
                (_, Some(graph)) => self.nodes(graph, other.graph.as_ref()),
                _ => {}
            }
        }
    }

    fn tensor_in(&mut self, tensors: &mut [TensorProto]) {
        let (what, edge, bytes) = (self.below(7), self.edge(), self.below(64));
        let Some(tensor) = self.pick(tensors) else { return };
        match what {
            0 => tensor.data_type = edge.rem_euclid(30),
            1 => tensor.dims.push(edge),
            2 => drop(tensor.dims.pop()),
            3 => tensor.dims.iter_mut().for_each(|size| *size = edge),
            4 => tensor.raw_data.iter_mut().for_each(|data| data.truncate(bytes)),
            5 => tensor.raw_data.iter_mut().flatten().for_each(|byte| *byte = 0xff ^ (*byte & edge as u8)),
            _ => {
                tensor.data_location = 1;
                let entry =
                    |key: &str, value: &str| StringStringEntryProto { key: key.into(), value: value.into() };
                let places = ["../../Cargo.toml", "/etc/hostname", "model.onnx", ""];
                tensor.external_data =
                    vec![entry("location", places[bytes % 4]), entry("offset", &edge.to_string())];
                tensor.raw_data = None;
            }
        }
    }

    fn sparse(&mut self, graph: &mut GraphProto) {
        let edge = self.edge();
        let values = graph.initializer.pop();
        let name = values.as_ref().map_or("none".to_string(), |values| values.name.clone());
        let own = TensorProto::floats(&name, &[2], &[1.0, 2.0]);
        let indices = TensorProto::ints("", &[2], &[edge, 1]);
        let dims = vec![edge, self.edge()];
        graph.sparse_initializer.push(SparseTensorProto { values: Some(own), indices: Some(indices), dims });
    }

    /// Nests the graph inside several conditionals.
    fn nest(&mut self, graph: &mut GraphProto) {
        let (depth, outputs) = (self.below(80), graph.output.clone());
        let yes = TensorProto {
            data_type: data_type::BOOL,
            int32_data: vec![1],
            name: "yes".into(),
            ..Default::default()
        };
        let mut inner = std::mem::take(&mut graph.node);
        let names: Vec<&str> = outputs.iter().map(|port| port.name.as_str()).collect();
        for _ in 0..depth {
            let body = GraphProto { node: inner, output: outputs.clone(), ..Default::default() };
            let both = vec![
                AttributeProto::graph("then_branch", body),
                AttributeProto::graph("else_branch", GraphProto::default()),
            ];
            inner = vec![NodeProto::new("If", &["yes"], &names, both)];
        }
        graph.node = inner;
        graph.initializer.push(yes);
    }

    /// A function that calls itself, or another that calls it twice.
    fn recursion(&mut self, model: &mut ModelProto) {
        let call =
            |name: &str| NodeProto { domain: "loop".into(), ..NodeProto::new(name, &["a"], &["b"], vec![]) };
        let twice = |name: &str| {
            let first = NodeProto { output: vec!["c".into()], ..call(name) };
            vec![first, NodeProto { input: vec!["c".into()], ..call(name) }]
        };
        let count = 1 + self.below(40);
        let around = self.below(2) * count;
        for n in 0..count {
            let next = format!("f{}", if n + 1 == count && around > 0 { 0 } else { n + 1 });
            model.functions.push(FunctionProto {
                name: format!("f{n}"),
                domain: "loop".into(),
                input: vec!["a".into()],
                output: vec!["b".into()],
                node: if n + 1 < count || around > 0 {
                    twice(&next)
                } else {
                    vec![NodeProto::new("Relu", &["a"], &["b"], vec![])]
                },
                opset_import: model.opset_import.clone(),
                ..Default::default()
            });
        }
        if let Some(graph) = &mut model.graph
            && let Some(node) = self.pick(&mut graph.node)
        {
            (node.op_type, node.domain) = ("f0".into(), "loop".into());
            node.attribute.clear();
            node.input.truncate(1);
            node.output.truncate(1);
        }
    }

    fn nodes(&mut self, graph: &mut GraphProto, other: Option<&GraphProto>) {
        let names: Vec<String> = graph
            .node
            .iter()
            .flat_map(|node| node.output.iter().chain(&node.input))
            .chain(graph.initializer.iter().map(|tensor| &tensor.name))
            .cloned()
            .collect();
        let name = if names.is_empty() { String::new() } else { names[self.below(names.len())].clone() };
        let (what, edge) = (self.below(12), self.edge());
        let foreign = other.and_then(|other| other.node.first()).cloned().unwrap_or_default();
        let Some(node) = self.pick(&mut graph.node) else { return };
        match what {
            0 | 1 => self.pick(&mut node.input).iter_mut().for_each(|input| **input = name.clone()),
            2 => self.pick(&mut node.output).iter_mut().for_each(|output| **output = name.clone()),
            3 => node.op_type = foreign.op_type,
            4 => (node.op_type, node.attribute) = (foreign.op_type, foreign.attribute),
            5 => node.input.push(name),
            6 => drop(node.input.pop()),
            7 => node.attribute = foreign.attribute,
            8 => graph.node.push(NodeProto { input: vec![name.clone(); 3], ..foreign }),
            _ => {
                let count = self.below(9);
                let Some(attribute) = self.pick(&mut node.attribute) else { return };
                match attribute.r#type {
                    attribute_type::INT => attribute.i = Some(edge),
                    attribute_type::FLOAT => attribute.f = Some(f32::from_bits(edge as u32)),
                    attribute_type::INTS => {
                        attribute.ints.resize(count, edge);
                        self.pick(&mut attribute.ints).iter_mut().for_each(|own| **own = edge);
                    }
                    attribute_type::TENSOR => {
                        self.tensor_in(attribute.t.as_mut_slice());
                    }
                    attribute_type::GRAPH => {
                        attribute.g.iter_mut().for_each(|inner| self.nodes(inner, other));
                    }
                    _ => attribute.r#type = edge.rem_euclid(16),
                }
            }
        }
    }
}

/// Reads and runs a damaged model.
fn read_and_run(bytes: &[u8], inputs: &[TensorProto], folder: &Path) {
    // By a path, so that external files are found.
    let model = if bytes.len().is_multiple_of(4) {
        Model::from_bytes(bytes)
    } else {
        let path = folder.join("damaged.onnx");
        std::fs::write(&path, bytes).unwrap();
        Model::load(&path)
    };
    let Ok(model) = model else { return };
    drop(model.run_protos(inputs));
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}: {text}")))
}

#[test]
fn damaged_models_are_errors() {
    crate::allocator::check();
    let samples = samples();
    let until = number("FARAD_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let first = number("FARAD_FUZZ_SEED").unwrap_or(1);
    let folder = std::env::temp_dir().join(format!("farad-damaged-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut failures, mut tried) = (Vec::new(), 0);
    for seed in first.. {
        if until.map_or(tried >= TIMES, |until| Instant::now() > until) || failures.len() >= 40 {
            break;
        }
        tried += 1;
        let mut changer = Changer { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        let sample = &samples[changer.below(samples.len())];
        let (mut model, mut inputs) = (sample.model.clone(), sample.inputs.clone());
        let bytes = if seed.is_multiple_of(4) {
            Mutator::new(seed).damaged(&[model.encode()])
        } else {
            changer.change(&mut model, &mut inputs, &samples);
            model.encode()
        };
        let title = format!("seed {seed}, {}", sample.folder.file_name().unwrap().display());
        // Tells which model it was if the process dies.
        std::fs::write(folder.join("last"), &title).unwrap();
        let (start, mut caught) = (Instant::now(), None);
        let peak = peak_of(|| {
            caught = catch_unwind(AssertUnwindSafe(|| read_and_run(&bytes, &inputs, &folder))).err()
        });
        if let Some(panic) = caught {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            failures.push(format!("{title}: panics: {}", text.unwrap_or_default()));
        }
        if peak > MOST_MEMORY {
            failures.push(format!("{title}: takes {peak} bytes ({peak} vs {MOST_MEMORY})"));
        }
        if start.elapsed() > PATIENCE {
            failures.push(format!("{title}: takes {:?}", start.elapsed()));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{tried} damaged models, seeds from {first}");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
