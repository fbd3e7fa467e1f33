//! ONNX models: built here and held to tensors, damaged, and the node tests of the Python package `onnx`.

mod models;
mod node_suite;
