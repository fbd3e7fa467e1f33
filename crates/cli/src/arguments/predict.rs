//! What the command line may say to those who use what was trained: `farad predict`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::flags::{DeviceFlag, OutputFlags, ProfileFlags, whole};

pub const PREDICT_EXAMPLES: &str = "\
Examples:
  farad predict runs/mnist-1 --data picture.png
  farad predict runs/images-1 --data photos --top 5       every picture of a folder, in the order of names
  farad predict runs/csv-1 --data new.csv --json          rows of a table; columns are found by their names
  farad predict runs/logic-table-1 --data new.csv         with the learned circuit
  farad predict runs/mnist-1 --data digits.npy            one sample or many: [28, 28] or [n, 28, 28]
  farad predict model/mnist.onnx --data picture.png       an exported model, or one from another program

Inputs are scaled as in training; pictures of another size are resized. Tables may have other columns too. If the target is
among them, or pictures are in folders with the names of classes, the accuracy or the mean absolute error is printed at the
end.

An ONNX model that Farad exported has all this in its metadata. For other models, inputs [batch, 1 or 3, height, width] are pictures with
levels from 0 to 1; other inputs come as arrays. One output is a number; several are classes, by softmax unless they are probabilities.

Keys of --json:
  classes           row, class, probabilities
  numbers           row, value

Pictures have file instead of row. probabilities has every class, or the most likely ones with --top; circuits that do not count
votes have none. If several values are predicted, value is an object by name. If the data have the answer, it is in target.";

/// Options of `farad predict`.
#[derive(Debug, Args)]
pub struct PredictOptions {
    /// The folder of a run, or an ONNX model
    #[arg(value_name = "RUN|MODEL.onnx", value_hint = ValueHint::AnyPath)]
    pub source: PathBuf,
    /// The data: a table (.csv), a picture (.png, .jpg), a folder of pictures, or an array (.npy)
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub data: PathBuf,
    /// How many classes to show, the most likely first [default: 3; with --json, all]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, usize::MAX))]
    pub top: Option<usize>,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub profile: ProfileFlags,
}
