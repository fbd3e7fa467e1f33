//! What a device can do at best, measured by Farad's own kernels: a scaled copy for bytes, products for operations.
//!
//! Invariant: measuring leaves no mark on the device: it happens on a handle of its own, which is closed again.

use std::time::Duration;

use farad_ir::DType;
use serde::Serialize;

use super::{ProfileMode, ProfileOptions};
use crate::device::Device;
use crate::error::Result;
use crate::profile::KernelTime;
use crate::tensor::Tensor;

/// Runs of which the best counts.
const RUNS: usize = 3;
/// Elements that are copied: more than caches hold, and as many as a fast device needs.
const COPIED: [usize; 2] = [1 << 24, 1 << 26];
/// Sizes of the square products.
const PRODUCTS: [usize; 2] = [256, 8192];
/// How long a run takes that is long enough.
const LONG_ENOUGH: Duration = Duration::from_millis(8);

/// The best rates that were measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Peaks {
    /// Bytes a second, read and written, of a scaled copy.
    pub bytes_per_second: f64,
    /// Operations a second of a product of `f32`.
    pub flops_per_second: f64,
    /// Operations a second of a product of `f16`, where the device has units for it.
    pub half_flops_per_second: Option<f64>,
}

impl Device {
    /// What the device can do at best. Measured at the first call, which takes about a second, on a handle of its
    /// own: counters, memory and random numbers of this one stay as they are.
    pub fn peaks(&self) -> Result<Peaks> {
        let mut known = self.0.peaks.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(peaks) = *known {
            return Ok(peaks);
        }
        let alone = self.another()?;
        let found = measure(&alone);
        alone.close();
        let peaks = found?;
        *known = Some(peaks);
        Ok(peaks)
    }
}

fn measure(device: &Device) -> Result<Peaks> {
    let half = device.multiplies_halves().then(|| product(device, DType::F16)).transpose()?;
    Ok(Peaks {
        bytes_per_second: copy(device)?,
        flops_per_second: product(device, DType::F32)?,
        half_flops_per_second: half,
    })
}

/// Bytes a second of the largest copy that is tried.
fn copy(device: &Device) -> Result<f64> {
    let (mut elements, mut best) = (COPIED[0].min(device.0.target.binding_bytes / 4), 0.0);
    loop {
        let found = Tensor::rand([elements], device)
            .detach()
            .and_then(|x| rates(device, || (&x * 1.5).compute(), |kernel| kernel.bytes));
        match found {
            Err(error) if error.is_out_of_memory() && best == 0.0 && elements > 1 << 16 => elements /= 4,
            Err(error) if best == 0.0 => return Err(error),
            Err(_) => return Ok(best),
            Ok((rate, time)) => {
                best = rate;
                if time >= LONG_ENOUGH || elements * 4 > COPIED[1].min(device.0.target.binding_bytes / 4) {
                    return Ok(best);
                }
                elements *= 4;
            }
        }
    }
}

/// Operations a second of the best of larger and larger products.
fn product(device: &Device, dtype: DType) -> Result<f64> {
    let (mut size, mut best) = (PRODUCTS[0], 0.0f64);
    loop {
        let operand = || Tensor::rand([size, size], device).cast(dtype).detach();
        let (lhs, rhs) = (operand()?, operand()?);
        let (rate, time) = rates(device, || lhs.matmul(&rhs).compute(), |kernel| kernel.flops)?;
        best = best.max(rate);
        if time >= LONG_ENOUGH || size >= PRODUCTS[1] {
            return Ok(best);
        }
        size *= 2;
    }
}

/// The best rate a second and time of several runs, after one that compiles.
fn rates(
    device: &Device,
    work: impl Fn() -> Result<()>,
    amount: impl Fn(&KernelTime) -> u64,
) -> Result<(f64, Duration)> {
    work()?;
    let mut best = (0.0, Duration::ZERO);
    for _ in 0..RUNS {
        let options = ProfileOptions { mode: ProfileMode::Kernels, peaks: false };
        let (done, profile) = device.profile_with(options, &work);
        done?;
        let nanoseconds = profile.nanoseconds().max(1);
        let rate = profile.kernels.iter().map(&amount).sum::<u64>() as f64 * 1e9 / nanoseconds as f64;
        if rate > best.0 {
            best = (rate, Duration::from_nanos(nanoseconds));
        }
    }
    Ok(best)
}

impl KernelTime {
    /// The largest part of a peak that the kernel reached, from 0 to about 1: of the bytes or of the operations a
    /// second, whichever it is nearer to. `None` if it was not timed.
    pub fn share_of_peak(&self, peaks: &Peaks) -> Option<f64> {
        let seconds = self.nanoseconds as f64 / 1e9;
        let least_bytes = self.bytes as f64 / peaks.bytes_per_second;
        let half = self.half_flops as f64;
        let quick = peaks.half_flops_per_second.unwrap_or(peaks.flops_per_second);
        let least_flops = half / quick + (self.flops as f64 - half) / peaks.flops_per_second;
        (self.nanoseconds > 0).then(|| least_bytes.max(least_flops) / seconds)
    }
}
