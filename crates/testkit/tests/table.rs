//! Enumerates the tables and the public methods: anything without a case fails here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use farad_ir::{Binary, DType, Graph, Op, Reduce, Unary};
use farad_testkit::{Case, Form, cases, open_cpu};

/// Public functions that compute nothing themselves, so that they have no case.
const NOT_OPS: &[(&str, &str)] = &[
    ("shape", "says what the tensor is"),
    ("rank", "says what the tensor is"),
    ("numel", "says what the tensor is"),
    ("size", "says what the tensor is"),
    ("dtype", "says what the tensor is"),
    ("device", "says what the tensor is"),
    ("from_vec", "every case starts from it"),
    ("try_from_vec", "every case starts from it"),
    ("from_f64", "casts from f64 start from it"),
    ("to_vec", "every case ends with it"),
    ("to_f64", "casts to f64 end with it"),
    ("to_vec_async", "reads back, as to_vec"),
    ("item", "reads back, as to_vec"),
    ("item_async", "reads back, as to_vec"),
    ("compute", "runs, as compute_all"),
    ("compute_all", "every case is run by it"),
    ("to_device", "moves between devices"),
    ("detach", "keeps the value"),
    ("raise", "refuses a wrong op"),
    ("expect", "refuses a wrong op"),
    ("check_probability", "refuses a wrong op"),
];

/// The public functions in the files that define tensor ops, and the rows of their macro tables.
fn public_functions() -> BTreeSet<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tensor/src");
    let mut files: Vec<_> = std::fs::read_dir(sources.join("tensor"))
        .expect("the ops' sources")
        .flatten()
        .map(|f| f.path())
        .collect();
    files.push(sources.join("checkpoint.rs"));
    let mut found = BTreeSet::new();
    for file in files {
        let text =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let (mut in_table, mut hidden) = (false, false);
        for line in text.lines() {
            let word = |text: &str| {
                text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
            };
            for start in ["pub fn ", "pub async fn "] {
                if let Some(rest) = line.trim_start().strip_prefix(start).filter(|_| !hidden) {
                    found.insert(word(rest));
                }
            }
            // Functions hidden from the documentation are for layers, which have their own cases.
            hidden = line.trim() == "#[doc(hidden)]" || (hidden && line.trim_start().starts_with("#["));
            in_table |= line.ends_with("_methods! {") || line == "activations! {";
            in_table &= line != "}";
            let row = line.trim_start();
            if in_table && row.ends_with(';') && !row.starts_with("//") {
                found.insert(word(row));
            }
        }
    }
    // `$method` in a macro's body has no name.
    found.remove("");
    found
}

#[test]
fn every_public_op_has_a_case() {
    let methods = public_functions();
    assert!(
        methods.len() > 80 && methods.contains("tanh") && methods.contains("matmul"),
        "the sources were not understood: {methods:?}"
    );
    let tested: BTreeSet<&str> = cases::all().iter().map(|case| case.op).collect();
    let known = |name: &str| tested.contains(name) || NOT_OPS.iter().any(|(other, _)| *other == name);
    let missing: Vec<&String> = methods.iter().filter(|name| !known(name)).collect();
    assert!(missing.is_empty(), "no case: {missing:?}\nhelp: add one in crates/testkit/src/cases");
    let gone: Vec<&str> =
        NOT_OPS.iter().map(|(name, _)| *name).filter(|name| !methods.contains(*name)).collect();
    assert!(gone.is_empty(), "listed as no op, but not there any more: {gone:?}");
}

#[test]
fn names_are_unique() {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    cases::all().iter().for_each(|case| *count.entry(case.name()).or_default() += 1);
    let twice: Vec<&String> = count.iter().filter(|(_, n)| **n > 1).map(|(name, _)| name).collect();
    assert!(twice.is_empty(), "two cases of one name: {twice:?}");
}

/// The family of an op. No wildcard: a new primitive must be named here, and then have a case.
fn family(op: &Op) -> &'static str {
    match op {
        Op::Input(_) => "input",
        Op::Parameter(_) => "parameter",
        Op::Constant(_) => "constant",
        Op::Iota(_) => "iota",
        Op::Random(_) => "random",
        Op::Unary(_) => "unary",
        Op::Binary(_) => "binary",
        Op::Select => "select",
        Op::Cast(_) => "cast",
        Op::Reshape(_) => "reshape",
        Op::Permute(_) => "permute",
        Op::Expand(_) => "expand",
        Op::Pad(_) => "pad",
        Op::Slice(_) => "slice",
        Op::Flip(_) => "flip",
        Op::Reduce(..) => "reduce",
        Op::Gather(_) => "gather",
        Op::ScatterAdd(..) => "scatter_add",
        Op::Order(_) => "order",
        Op::Top(..) => "topk",
        Op::Contract(_) => "contract",
        // Only optimizers make packs; their own tests cover them.
        Op::Pack(..) => "pack",
        Op::StopGradient => "stop_gradient",
        Op::Barrier(_) => "barrier",
        Op::Scan(_) => "scan",
        Op::Custom(_) => "custom",
        Op::Pick(..) => "pick",
    }
}

const FAMILIES: [&str; 26] = [
    "input",
    "parameter",
    "constant",
    "iota",
    "random",
    "unary",
    "binary",
    "select",
    "cast",
    "reshape",
    "permute",
    "expand",
    "pad",
    "slice",
    "flip",
    "reduce",
    "gather",
    "scatter_add",
    "order",
    "topk",
    "contract",
    "stop_gradient",
    "barrier",
    "scan",
    "custom",
    "pick",
];

/// What the graphs of all cases contain: ops with the dtypes of their last operand, and families.
#[derive(Default)]
struct Met {
    ops: BTreeSet<(String, Option<DType>)>,
    families: BTreeSet<&'static str>,
}

impl Met {
    fn add(&mut self, graph: &Graph) {
        for node in &graph.nodes {
            let dtype = node.operands.last().map(|&operand| graph.dtype(operand));
            self.ops.insert((node.op.name(), dtype));
            self.families.insert(family(&node.op));
        }
    }

    fn all() -> Met {
        let (device, mut met) = (open_cpu(true), Met::default());
        for case in &cases::all() {
            for form in [Form::Alone, Form::Gradient].into_iter().filter(|form| form.applies(case)) {
                met.add(&graph(case, form, &device));
            }
        }
        met
    }
}

fn graph(case: &Case, form: Form, device: &farad::Device) -> Graph {
    let recorded = form.outputs(case, device).and_then(|outputs| farad::check::graph(&outputs));
    recorded.unwrap_or_else(|error| panic!("{}: {error}", case.name()))
}

#[test]
fn every_table_row_has_a_case_on_every_dtype() {
    let met = Met::all();
    let mut missing = Vec::new();
    let mut need = |name: &str, dtype: DType| {
        if !met.ops.contains(&(name.to_string(), Some(dtype))) {
            missing.push(format!("{name} on {dtype}"));
        }
    };
    for dtype in DType::ALL.into_iter().filter(|d| d.is_compute()) {
        Unary::ALL.iter().filter(|op| op.takes(dtype)).for_each(|op| need(op.row().name, dtype));
        Binary::ALL.iter().filter(|op| op.takes(dtype)).for_each(|op| need(op.row().name, dtype));
        if dtype != DType::Bool {
            Reduce::ALL.iter().for_each(|op| need(op.row().name, dtype));
        }
        DType::ALL
            .iter()
            .filter(|&&to| to.is_compute() && to != dtype)
            .for_each(|to| need(&format!("cast_{to}"), dtype));
    }
    assert!(missing.is_empty(), "no case: {missing:?}\nhelp: add one in crates/testkit/src/cases");
    let families: Vec<&str> = FAMILIES.into_iter().filter(|family| !met.families.contains(family)).collect();
    assert!(families.is_empty(), "no case of a family: {families:?}");
}
