//! How fast a circuit classifies: on one core, with and without packing, and on a GPU.

use std::time::{Duration, Instant};

use farad::run::counted;
use farad::{Device, Tensor};
use farad_circuit::{Netlist, WIDE_SAMPLES, WideSimulator};
use serde::Serialize;

use super::data::{HostSamples, Levels};
use super::packed::Packer;
use crate::error::{Error, Result};
use crate::simulate::NetlistSimulation;

/// How long to measure.
const TIME: Duration = Duration::from_secs(1);
/// Words of 32 samples that a GPU processes at once.
const GPU_WORDS: usize = 1 << 15;

/// The measurements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CircuitSpeed {
    /// Gates that remain after constants, copies and negations are folded.
    pub gates: usize,
    /// Nanoseconds per image on one core, from bits: the mean.
    pub nanoseconds: f64,
    /// The fastest 512 images.
    pub best_nanoseconds: f64,
    /// The same from bytes, including packing.
    pub packed_nanoseconds: f64,
    /// The fastest 512 images.
    pub best_packed_nanoseconds: f64,
    /// The GPU, if there is one.
    pub gpu: Option<String>,
    /// Images per second there, from packed bits that are already on the GPU.
    pub gpu_images_per_second: Option<f64>,
}

impl CircuitSpeed {
    /// The same in words, one line per measurement.
    pub fn lines(&self) -> Vec<String> {
        let (mean, best, gates) = (self.nanoseconds, self.best_nanoseconds, counted(self.gates, "gate"));
        let mut lines = vec![format!("one core, {gates}: {mean:.0} ns per image (fastest 512: {best:.0})")];
        let (mean, best) = (self.packed_nanoseconds, self.best_packed_nanoseconds);
        lines.push(format!("with packing from bytes: {mean:.0} ns per image (fastest 512: {best:.0})"));
        if let (Some(gpu), Some(rate)) = (&self.gpu, self.gpu_images_per_second) {
            lines.push(format!("{gpu}: {rate:.3e} images per second"));
        }
        lines
    }
}

/// Times a circuit on the pictures of a part, which must have at least 512.
pub fn measure(
    netlist: &Netlist,
    thresholds: &[f32],
    part: &HostSamples,
    gpu: Option<&Device>,
) -> Result<CircuitSpeed> {
    let Levels::Bytes(bytes) = &part.levels else {
        return Err(Error::SpeedOfTable);
    };
    let tile = WIDE_SAMPLES * part.features();
    if bytes.len() < tile {
        let what = "speed is measured on 512 samples at least";
        return Err(Error::Encoding { what, found: part.len(), wanted: WIDE_SAMPLES });
    }
    let mut simulator = WideSimulator::new(netlist)?;
    let packer = Packer::new(part.features(), thresholds);
    let mut next = bytes.chunks_exact(tile).cycle();
    packer.pack(&bytes[..tile], simulator.inputs_mut());
    let (nanoseconds, best_nanoseconds) = timed(|| simulator.run());
    let (packed_nanoseconds, best_packed_nanoseconds) = timed(|| {
        packer.pack(next.next().expect("it goes round"), simulator.inputs_mut());
        simulator.run();
    });
    Ok(CircuitSpeed {
        gates: simulator.gates(),
        nanoseconds,
        best_nanoseconds,
        packed_nanoseconds,
        best_packed_nanoseconds,
        gpu: gpu.map(|device| device.name().to_string()),
        gpu_images_per_second: gpu.map(|device| on_gpu(netlist, device)).transpose()?,
    })
}

/// Nanoseconds per sample: the mean, and the best of all tiles.
fn timed(mut run: impl FnMut()) -> (f64, f64) {
    let (start, mut tiles, mut best) = (Instant::now(), 0u64, f64::MAX);
    while start.elapsed() < TIME {
        let tile = Instant::now();
        run();
        best = best.min(tile.elapsed().as_secs_f64());
        tiles += 1;
    }
    let sample = 1e9 / WIDE_SAMPLES as f64;
    (start.elapsed().as_secs_f64() / tiles as f64 * sample, best * sample)
}

/// Samples per second for random bits; their values make no difference.
fn on_gpu(netlist: &Netlist, device: &Device) -> Result<f64> {
    let simulation = NetlistSimulation::new(netlist, device)?;
    let x = Tensor::random_bits_at(1, 0, [1, netlist.inputs.len(), GPU_WORDS], device).detach()?;
    let run = || -> farad::Result<()> { simulation.run(&x).compute() };
    let wait = || -> farad::Result<()> { simulation.run(&x).narrow(2, 0, 1).to_vec::<u32>().map(drop) };
    run()?;
    wait()?;
    let (start, mut runs) = (Instant::now(), 0);
    while start.elapsed() < TIME {
        (0..8).try_for_each(|_| run())?;
        wait()?;
        runs += 9;
    }
    Ok((runs * GPU_WORDS * 32) as f64 / start.elapsed().as_secs_f64())
}
