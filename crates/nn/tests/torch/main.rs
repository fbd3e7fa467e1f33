//! What PyTorch computes: optimizers and schedules. One program, since none of these tests looks at what a device counts.

#[path = "../../../farad/tests/devices/mod.rs"]
mod devices;
#[path = "../../../farad/tests/fixtures/mod.rs"]
mod fixtures;

mod optimizers;
mod schedules;
