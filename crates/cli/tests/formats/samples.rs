//! Valid files of every format, as small as they can be with all their parts.

use std::io::Write;
use std::path::Path;

use farad::prelude::*;
use farad::run::{Checkpoint, Picture};
use farad::{ProductShape, Tuning};
use farad_circuit::{Automaton, Circuit, Edge, Gate, Netlist};

use crate::folder::Folder;

/// A text for tokenizers.
pub const TEXT: &str = "the cat sees the dog 12 times; Ünïcode, too.\nthe dog sees nothing\n";

/// What a writer puts into a file.
fn written(write: impl FnOnce(&Path)) -> Vec<u8> {
    let folder = Folder::in_memory("formats-sample");
    let path = folder.path("sample");
    write(&path);
    std::fs::read(path).unwrap()
}

/// The head of an array of NumPy, 60 bytes long.
const COLUMNS: &str = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), } \n";

fn tensor() -> Tensor {
    Tensor::from_vec((0..6).map(|n| n as f32 / 3.0).collect(), [2, 3], &Device::cpu())
}

pub fn safetensors() -> Vec<Vec<u8>> {
    let (x, whole) = (tensor(), Tensor::arange(4, &Device::cpu()));
    let kinds = [DType::F16, DType::BF16, DType::F64, DType::I64, DType::U8, DType::Bool];
    let others: Vec<(String, Tensor)> = kinds.iter().map(|&kind| (format!("{kind}"), x.cast(kind))).collect();
    let others: Vec<(&str, &Tensor)> = others.iter().map(|(name, t)| (name.as_str(), t)).collect();
    vec![
        written(|path| farad::save(path, &[("x", &x), ("whole", &whole)]).unwrap()),
        written(|path| farad::save(path, &others).unwrap()),
    ]
}

pub fn state_dicts() -> Vec<Vec<u8>> {
    let model = Sequential::new((Linear::new(3, 2), Relu, Linear::new(2, 1)));
    let own = |path: &Path| farad::StateDict::of(&model).write(path).unwrap();
    vec![written(own), include_bytes!("../../../farad/tests/fixtures/state.safetensors").to_vec()]
}

pub fn npys() -> Vec<Vec<u8>> {
    let x = tensor();
    vec![
        written(|path| farad::write_npy(path, &x).unwrap()),
        written(|path| farad::write_npy(path, &x.cast(DType::Bool)).unwrap()),
        // By columns, with the greatest byte first.
        [&b"\x93NUMPY\x01\x00\x3c\x00"[..], COLUMNS.as_bytes(), &[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]]
            .concat(),
    ]
}

pub fn npzs() -> Vec<Vec<u8>> {
    let (x, y) = (tensor(), Tensor::arange(2, &Device::cpu()));
    vec![
        written(|path| farad::write_npz(path, &[("x", &x), ("y", &y)]).unwrap()),
        include_bytes!("../../../farad/tests/fixtures/numpy_compressed.npz").to_vec(),
    ]
}

pub fn onnxs() -> Vec<Vec<u8>> {
    use farad_onnx::proto::*;
    let port = |name| ValueInfoProto::tensor(name, data_type::FLOAT, &[None, Some(2)]);
    let branch = |op: &str| GraphProto {
        node: vec![NodeProto::new(op, &["m"], &["z"], vec![])],
        output: vec![port("z")],
        ..Default::default()
    };
    let branches = vec![
        AttributeProto::graph("then_branch", branch("Relu")),
        AttributeProto::graph("else_branch", branch("Exp")),
    ];
    let graph = GraphProto {
        node: vec![
            NodeProto::new("MatMul", &["x", "w"], &["m"], vec![]),
            NodeProto::new("If", &["yes"], &["i"], branches),
            NodeProto::new("Reshape", &["i", "shape"], &["y"], vec![]),
        ],
        initializer: vec![
            TensorProto::floats("w", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            TensorProto::ints("shape", &[2], &[-1, 1]),
            TensorProto {
                data_type: data_type::BOOL,
                int32_data: vec![1],
                name: "yes".into(),
                ..Default::default()
            },
        ],
        input: vec![port("x")],
        output: vec![port("y")],
        ..Default::default()
    };
    vec![ModelProto::new(graph, 21).encode()]
}

pub fn checkpoints() -> Vec<Vec<u8>> {
    let mut checkpoint = Checkpoint::new("example", 12);
    checkpoint.put("model.weight", &tensor());
    checkpoint.put("adam.step", &Tensor::arange(3, &Device::cpu()));
    checkpoint.set_value((7u64, "a value"));
    let whole = written(|path| checkpoint.write(path).unwrap());
    vec![without_checksum(&whole), whole]
}

/// A checkpoint as earlier builds wrote it. Its header keeps its length: spaces may stand at the end.
pub fn without_checksum(bytes: &[u8]) -> Vec<u8> {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    let start = header.find(",\\\"checksum\\\":").expect("checkpoints have a checksum");
    let end = start + header[start..].find('}').unwrap();
    let shorter = format!("{}{}{}", &header[..start], &header[end..], " ".repeat(end - start));
    [&bytes[..8], shorter.as_bytes(), &bytes[8 + length..]].concat()
}

pub fn tunings() -> Vec<Vec<u8>> {
    let shape = ProductShape { batch: 1, m: 8, k: 8, n: 8, is_f16: false, turned: [false, true] };
    let products = [(shape, "16x16x64 in 16 parts".to_string())].into();
    let tuning = Tuning { adapter: "an adapter".into(), products };
    vec![written(|path| farad::save_tuning(path, &tuning).unwrap())]
}

pub fn idxs() -> Vec<Vec<u8>> {
    let bytes = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4][..], &[9; 24]].concat();
    let words = [&[0, 0, 0x0c, 1, 0, 0, 0, 2][..], &[0, 0, 0, 5, 255, 255, 255, 255]].concat();
    let floats = [&[0, 0, 0x0d, 1, 0, 0, 0, 1][..], &1.5f32.to_be_bytes()].concat();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&bytes).unwrap();
    vec![bytes, words, floats, gzip.finish().unwrap()]
}

pub fn cifars() -> Vec<Vec<u8>> {
    let record = |class: u8| [vec![class], vec![class * 20; 3072]].concat();
    vec![record(3), [record(0), record(9)].concat()]
}

pub fn images() -> Vec<Vec<u8>> {
    let values: Vec<f32> = (0..63).map(|n| n as f32 / 63.0).collect();
    let picture = |path: &Path| Picture::from_gray(9, 7, &values).write_png(path).unwrap();
    vec![written(picture), jpeg(0xc0), jpeg(0xc2)]
}

/// Puts the checksums of a PNG's parts right: each is a length, a name, so many bytes, and the sum of name and bytes.
pub fn mend_png(bytes: &mut [u8]) {
    let mut at = 8;
    while bytes.starts_with(b"\x89PNG") && at + 12 <= bytes.len() {
        let length = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let end = at + 8 + length;
        if end + 4 > bytes.len() {
            return;
        }
        let mut sum = flate2::Crc::new();
        sum.update(&bytes[at + 4..end]);
        bytes[end..end + 4].copy_from_slice(&sum.sum().to_be_bytes());
        at = end + 4;
    }
}

/// Puts the checksums of a zip's files right, where its list still leads to them: an entry of the list has the packing
/// at 10, the sum at 16, the packed size at 20 and the place of the file at 42; a file has the sum at 14.
pub fn mend_zip(bytes: &mut [u8]) {
    let number = |bytes: &[u8], at: usize, size: usize| {
        let digits = bytes.get(at..at + size)?.iter().rev();
        Some(digits.fold(0, |number, &digit| number << 8 | digit as usize))
    };
    for at in 0..bytes.len() {
        if !bytes[at..].starts_with(b"PK\x01\x02") {
            continue;
        }
        let sum = |bytes: &[u8]| {
            let (packing, size) = (number(bytes, at + 10, 2)?, number(bytes, at + 20, 4)?);
            let file = number(bytes, at + 42, 4)?;
            let start = file + 30 + number(bytes, file + 26, 2)? + number(bytes, file + 28, 2)?;
            let packed = bytes.get(start..start.checked_add(size)?)?;
            let mut sum = flate2::CrcReader::new(match packing {
                0 => Box::new(packed) as Box<dyn std::io::Read>,
                _ => Box::new(flate2::read::DeflateDecoder::new(packed)),
            });
            // What cannot be unpacked has no sum.
            std::io::copy(&mut sum, &mut std::io::sink()).ok()?;
            Some((file, sum.crc().sum()))
        };
        if let Some((file, sum)) = sum(bytes) {
            for at in [at + 16, file + 14] {
                bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
            }
        }
    }
}

/// A JPEG of 16 × 16 pixels in three colors, of one scan (`0xc0`) or several (`0xc2`, of which it has the first).
fn jpeg(start: u8) -> Vec<u8> {
    let mut bytes = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
    bytes.extend([3; 64]);
    bytes.extend([0xff, start, 0, 17, 8, 0, 16, 0, 16, 3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0]);
    for class in [0x00, 0x10] {
        // Codes of two to four bits: no difference or end of block first, then short numbers.
        bytes.extend([0xff, 0xc4, 0, 25, class, 0, 2, 2, 2]);
        bytes.extend([0; 12]);
        bytes.extend(if class == 0 { [0, 1, 2, 3, 4, 5] } else { [0, 1, 2, 0x11, 0x21, 0xf0] });
    }
    bytes.extend([0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, if start == 0xc0 { 63 } else { 0 }, 0]);
    bytes.extend((0..60u32).map(|n| (n * 37 % 251) as u8));
    bytes.extend([0xff, 0xd9]);
    bytes
}

pub fn csvs() -> Vec<Vec<u8>> {
    let plain = "size,weight,kind\n1.0,2.0,cat\n3.5,-9e3,dog\n";
    let quoted = "\u{feff}\"a;b\";kind\r\n\"1\";\"x \"\"y\"\"\"\r\n2;z\r\n";
    [plain, quoted, "1,2,3\n4,5,6\n"].map(|text| text.as_bytes().to_vec()).to_vec()
}

pub fn logs() -> Vec<Vec<u8>> {
    vec![b"step,loss,wrong\n1,0.5,\n10,0.25,7\n20,1e-3,0\n30,0.1,0\n".to_vec()]
}

pub fn events() -> Vec<Vec<u8>> {
    let lines = "{\"event\":\"start\",\"seconds\":0.001,\"step\":0,\"device\":\"cpu\"}\n\
        {\"event\":\"checkpoint\",\"seconds\":1.5,\"step\":10,\"training_seconds\":1.4}\n\
        {\"event\":\"end\",\"seconds\":2,\"step\":20,\"training_seconds\":1.9}\n";
    vec![lines.as_bytes().to_vec()]
}

pub fn notes() -> Vec<Vec<u8>> {
    vec![
        br#"{"tags":["baseline","two words"],"text":"one line\nanother"}"#.to_vec(),
        br#"{"tags":["a"]}"#.to_vec(),
    ]
}

pub fn circuits() -> Vec<Vec<u8>> {
    let netlist = r#"{"format": "farad-circuit", "version": 1, "kind": "netlist", "name": "half_adder", "wires": 6,
        "meta": {"kind": "image-classifier", "classes": 2}, "inputs": ["a", "b"],
        "registers": [{"name": "r", "initial": true, "next": 3}],
        "gates": [["xor", 0, 1], ["and", 2, 1], ["not_a", 3]],
        "outputs": [{"name": "sum", "wire": 3}, {"name": "carry", "wire": 4}]}"#;
    let life = Circuit::Automaton(Automaton::life(Edge::Zero)).to_json();
    let mut small = Netlist::new("small");
    let a = small.input("a");
    let b = small.input("b");
    let y = small.gate(Gate::XOR, a, b);
    small.output("y", y);
    vec![netlist.into(), life.into_bytes(), Circuit::Netlist(small).to_json().into_bytes()]
}

/// A tokenizer of three words, as Hugging Face writes it.
#[cfg(feature = "tokenizers")]
pub fn foreign() -> Vec<Vec<u8>> {
    let text = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"the": 0, "cat": 1, "[UNK]": 2}, "unk_token": "[UNK]"}}"#;
    vec![text.into()]
}
