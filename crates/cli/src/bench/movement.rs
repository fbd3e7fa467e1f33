//! Moving elements without computing.

use farad::{Device, Tensor};

use super::case::{CaseWork, Workload, uniform};
use super::reference::{NormDifference, pick, spread};

/// Channels of the images.
const CHANNELS: usize = 128;
/// Pixels of an image: 32 × 32.
const PIXELS: usize = 1024;

/// Images with channels first to images with channels last: `[batch, 128, 32, 32] -> [batch, 32, 32, 128]`.
pub fn permute(batch: usize, device: &Device) -> farad::Result<Workload> {
    let error = move |inputs: &[Tensor], result: &Tensor| {
        let images = spread(batch, 4);
        let (x, y) = (pick(&inputs[0], 0, &images)?, pick(result, 0, &images)?);
        let mut difference = NormDifference::default();
        for (x, y) in x.chunks(CHANNELS * PIXELS).zip(y.chunks(CHANNELS * PIXELS)) {
            for (n, &got) in y.iter().enumerate() {
                difference.add(got, x[n % CHANNELS * PIXELS + n / CHANNELS] as f64);
            }
        }
        Ok(difference.relative())
    };
    let work = CaseWork { bytes: 8.0 * (batch * CHANNELS * PIXELS) as f64, ..CaseWork::default() };
    let inputs = vec![uniform(&[batch, CHANNELS, 32, 32], device)?];
    Ok(Workload::expression(inputs, work, |inputs| inputs[0].permute(&[0, 2, 3, 1]), error))
}
