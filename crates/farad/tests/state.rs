//! State dicts and NumPy's files: names that are mapped, differences that are told, files of others, damage.

mod devices;
mod fixtures;
mod folder;

use std::path::{Path, PathBuf};

use devices::devices;
use farad::prelude::*;
use farad::run::Checkpoint;
use farad::{Error, StateDict};
use fixtures::Fixture;
use folder::Folder;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn model() -> Sequential {
    Sequential::new((Linear::new(5, 7), Relu, Linear::new(7, 3)))
}

#[test]
fn a_model_of_pytorch_is_imported_by_mapping_names() {
    let fixture_file = Fixture::open("state");
    for device in devices() {
        let model = model().to_device(&device);
        let state = StateDict::read(fixture("state.safetensors")).unwrap();
        let state = state.select("module.**").strip_prefix("module.").unwrap().ignore("steps");
        let state = state.rename("stack.layer_*.**", "*.**").unwrap().transpose("**.weight");
        assert_eq!(state.names().collect::<Vec<_>>(), ["0.bias", "0.weight", "2.bias", "2.weight"]);
        state.load_exactly(&model).unwrap();
        let y = model.forward(&fixture_file.tensor("io/x", &device));
        fixture_file.check("io/y", &y, 1e-6);
    }
}

#[test]
fn differences_are_told_and_only_what_fits_is_loaded() {
    let (model, other) =
        (model(), Sequential::new((Linear::new(5, 7), Relu, Linear::new(8, 3).without_bias())));
    let mut named = StateDict::of(&other);
    assert_eq!((named.len(), named.is_empty()), (3, false));
    let extra = Tensor::ones([2], &Device::cpu());
    named = StateDict::from_tensors(other.state().into_iter().chain([("extra".to_string(), extra)]));
    let before = model.state();
    let difference = named.compare(&model);
    assert_eq!(difference.loaded, ["0.weight", "0.bias"]);
    assert_eq!(
        (&difference.missing[..], &difference.unexpected[..]),
        (&["2.bias".to_string()][..], &["extra".to_string()][..])
    );
    let text = "2 of 4 tensors fit\nmissing (1): 2.bias\nunexpected (1): extra\nof another shape (1): 2.weight ([3, 8] vs [3, 7])";
    assert_eq!(difference.to_string(), text);
    let error = named.load_exactly(&model).unwrap_err().to_string();
    assert_eq!(error, format!("state: does not fit the module: {text}"));
    let same = |a: &Tensor, b: &Tensor| a.to_vec::<f32>().unwrap() == b.to_vec::<f32>().unwrap();
    assert!(model.state().iter().zip(&before).all(|((_, a), (_, b))| same(a, b)), "nothing changed");
    assert_eq!(named.load_into(&model).unwrap(), difference);
    assert!(same(&model.state()[0].1, &other.state()[0].1) && same(&model.state()[2].1, &before[2].1));
    let twice = StateDict::of(&other).rename("*.weight", "weight").unwrap_err().to_string();
    assert!(twice.starts_with("state: two tensors of one name: weight"), "{twice}");
}

#[test]
fn states_go_through_both_kinds_of_files() {
    let folder = Folder::new("states");
    for name in ["x.safetensors", "x.npz"] {
        let (from, to) = (model(), model());
        StateDict::of(&from).write(folder.at(name)).unwrap();
        StateDict::read(folder.at(name)).unwrap().load_exactly(&to).unwrap();
        for ((_, a), (_, b)) in from.state().iter().zip(to.state()) {
            assert_eq!(a.to_vec::<f32>().unwrap(), b.to_vec::<f32>().unwrap());
        }
    }
    // f64 is cast on its way in.
    let doubles = Tensor::from_f64(&[0.5; 15], [3, 5], &Device::cpu());
    let layer = Linear::new(5, 3).without_bias();
    StateDict::from_tensors([("weight".to_string(), doubles)]).load_exactly(&layer).unwrap();
    assert_eq!(layer.weight.value().to_vec::<f32>().unwrap(), [0.5; 15]);
}

#[test]
fn checkpoints_take_whole_modules() {
    let folder = Folder::new("module-checkpoint");
    let (from, to) = (model(), model());
    let mut checkpoint = Checkpoint::new("test", 3);
    checkpoint.put_module("model", &from);
    checkpoint.write(folder.at("c")).unwrap();
    let read = Checkpoint::read(folder.at("c"), "test").unwrap();
    read.restore_module("model", &to).unwrap();
    assert_eq!(from.state()[0].1.to_vec::<f32>().unwrap(), to.state()[0].1.to_vec::<f32>().unwrap());
    let other = Sequential::new((Linear::new(5, 6),));
    let refused = read.restore_module("model", &other).unwrap_err();
    assert!(matches!(refused.part(), Some(farad::NnError::StateDiffers { .. })), "{refused}");
}

#[test]
fn arrays_of_numpy_are_read() {
    for device in devices() {
        for name in ["numpy.npz", "numpy_compressed.npz"] {
            if device.is_gpu() {
                let error = farad::read_npz(fixture(name), &device).unwrap_err().to_string();
                assert!(
                    error.contains("long") && error.contains("the number 10000000000, element 1"),
                    "{error}"
                );
                continue;
            }
            let arrays = farad::read_npz(fixture(name), &device).unwrap();
            assert_eq!(arrays.len(), 10);
            let values = |name: &str| arrays[name].cast(DType::F32).to_vec::<f32>().unwrap();
            assert_eq!(values("single"), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]);
            assert_eq!(values("double"), [0.25, 1.25, 2.25, 3.25, 4.25, 5.25], "columns first");
            assert_eq!(values("half"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
            assert_eq!(values("swapped"), [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0], "the other end first");
            assert_eq!(arrays["words"].to_vec::<i32>().unwrap(), [-2, -1, 0, 1, 2, 3]);
            assert_eq!(values("bytes"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
            assert_eq!(arrays["truth"].to_vec::<bool>().unwrap(), [false, true, false, true, false, true]);
            assert_eq!((arrays["scalar"].item().unwrap(), arrays["scalar"].rank()), (1.5, 0));
            assert_eq!(arrays["empty"].shape()[..], [0, 3]);
            assert!(arrays.values().all(|array| array.device() == &device));
        }
    }
    let long =
        farad::read_npz(fixture("numpy.npz"), &Device::cpu()).unwrap()["long"].to_vec::<i64>().unwrap();
    assert_eq!(long[5], 50_000_000_000);
}

#[test]
fn arrays_are_written_for_numpy() {
    let folder = Folder::new("npy");
    let cpu = Device::cpu();
    let grid = Tensor::arange(6, &cpu).reshape([2, 3]);
    for dtype in
        [DType::F32, DType::F16, DType::F64, DType::I32, DType::U32, DType::I64, DType::U8, DType::Bool]
    {
        let x = grid.cast(dtype);
        farad::write_npy(folder.at("x.npy"), &x).unwrap();
        let back = farad::read_npy(folder.at("x.npy"), &cpu).unwrap();
        assert_eq!((back.dtype(), back.shape()), (x.dtype(), x.shape()));
        assert_eq!(
            back.cast(DType::F32).to_vec::<f32>().unwrap(),
            x.cast(DType::F32).to_vec::<f32>().unwrap()
        );
    }
    farad::write_npy(folder.at("x.npy"), &grid.reshape([6]).cast(DType::BF16)).unwrap();
    let bytes = std::fs::read(folder.at("x.npy")).unwrap();
    assert!(bytes.starts_with(b"\x93NUMPY\x01\0"));
    let text = String::from_utf8_lossy(&bytes[10..128]).into_owned();
    assert!(
        text.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }")
            && text.ends_with(" \n"),
        "{text}"
    );
    for shape in [vec![], vec![1, 6, 1]] {
        let x = Tensor::ones(shape, &cpu);
        farad::write_npz(folder.at("x.npz"), &[("x", &x)]).unwrap();
        assert_eq!(farad::read_npz(folder.at("x.npz"), &cpu).unwrap()["x"].shape(), x.shape());
    }
}

#[test]
fn damaged_and_foreign_arrays_say_so() {
    let folder = Folder::new("damaged-npy");
    let cpu = Device::cpu();
    farad::write_npy(folder.at("whole.npy"), &Tensor::ones([4], &cpu)).unwrap();
    let whole = std::fs::read(folder.at("whole.npy")).unwrap();
    let error = |bytes: &[u8]| {
        std::fs::write(folder.at("x.npy"), bytes).unwrap();
        farad::read_npy(folder.at("x.npy"), &cpu).unwrap_err()
    };
    for length in [7, 11, 40, whole.len() - 1] {
        assert!(matches!(error(&whole[..length]), Error::Truncated { op: "npy", .. }), "{length}");
    }
    assert!(matches!(error(b"PK\x03\x04"), Error::Foreign { .. }));
    assert!(matches!(error(b""), Error::Foreign { .. }));
    let changed = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = whole.windows(from.len()).position(|part| part == from.as_bytes()).unwrap();
        let mut bytes = whole.clone();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        error(&bytes).to_string()
    };
    assert!(changed("<f4", "<c8").ends_with("elements of kind c8 are not supported"));
    assert!(changed("(4,)", "(x,)").contains("its sizes are not numbers"));
    assert!(changed("(4,), }      ", "(999999999,)}").contains("npy: truncated: "));
    assert!(changed("(4,)", "(3,)").ends_with("bytes after its end (16 vs 12)"));
    assert!(changed("NUMPY\x01", "NUMPY\x09").ends_with("version 9 is not known (vs 1 to 3)"));
    let too_many = "(99999999999999999, 99999999999999999)}";
    assert!(
        changed(&format!("(4,), }}{}", " ".repeat(too_many.len() - 7)), too_many).contains("absurd sizes")
    );

    let whole = std::fs::read(fixture("numpy_compressed.npz")).unwrap();
    let error = |bytes: &[u8]| {
        std::fs::write(folder.at("x.npz"), bytes).unwrap();
        farad::read_npz(folder.at("x.npz"), &cpu).unwrap_err()
    };
    assert!(matches!(error(&whole[..whole.len() / 2]), Error::Damaged { op: "npz", .. }));
    assert!(matches!(error(b"nothing"), Error::Foreign { op: "npz", .. }));
    let mut flipped = whole.clone();
    flipped[60] ^= 0xff;
    assert!(matches!(
        error(&flipped),
        Error::Damaged { .. } | Error::Truncated { .. } | Error::Foreign { .. }
    ));
    let error = StateDict::read(fixture("numpy.npz").with_extension("safetensors")).unwrap_err();
    assert!(matches!(error, Error::File { .. }));
    std::fs::copy(fixture("numpy.npz"), folder.at("y.safetensors")).unwrap();
    assert!(matches!(StateDict::read(folder.at("y.safetensors")), Err(Error::Format { .. })));
}
