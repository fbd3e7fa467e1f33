//! Exports, checked by independent tools: compilers, simulators and provers.
//!
//! A tool that is not installed is named on standard error and its test passes without it, unless the
//! environment variable `FARAD_REQUIRE_TOOLS` is 1: then it fails (gcc, rustc, iverilog, yosys and chromium;
//! verilator is used if installed).

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
