//! What PyTorch computes: layers, attention and networks. One program, since none of these tests
//! looks at what a device counts; those that do, or that make mistakes on purpose, are programs of their own.

#[path = "../devices/mod.rs"]
mod devices;
#[path = "../fixtures/mod.rs"]
mod fixtures;

mod attention;
mod layers;
mod networks;
