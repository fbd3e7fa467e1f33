//! Exports, checked by tools that are not ours: compilers, simulators and provers of other people.
//!
//! A tool that is not installed is named on standard error and its test passes without it, unless the
//! environment variable `FARAD_REQUIRE_TOOLS` is 1: then it fails (gcc, rustc, iverilog, yosys and chromium;
//! verilator is used where there is one).

mod browser;
mod circuits;
mod classifiers;
mod digitaljs;
mod hardware;
mod page;
mod programs;
mod shader;
mod shader_machine;
mod tool;
