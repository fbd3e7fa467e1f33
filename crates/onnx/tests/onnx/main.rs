//! ONNX models: built here and compared with tensors, from PyTorch, damaged, and the node tests of the Python
//! package `onnx`.

#[path = "../../../cli/tests/formats/allocator.rs"]
mod allocator;
mod damage;
mod dtypes;
mod models;
mod node_suite;
mod torch;
