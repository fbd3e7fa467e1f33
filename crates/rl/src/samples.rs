//! Samples of a roll-out: by seed instead of by time, and in minibatches.

use farad::{Order, Tensor};

/// `[time, seeds · worlds, numbers]` as `[seeds, time · worlds, numbers]`.
pub(crate) fn by_seed(t: &Tensor, seeds: usize) -> Tensor {
    let (time, worlds, width) = (t.shape()[0], t.shape()[1] / seeds, t.shape()[2]);
    let parts = t.reshape([time, seeds, worlds, width]).permute(&[1, 0, 2, 3]);
    parts.reshape([seeds, time * worlds, width])
}

/// `[seeds, time · worlds]` as `[time, seeds · worlds]`.
pub(crate) fn by_time(t: &Tensor, worlds: usize) -> Tensor {
    let (seeds, time) = (t.shape()[0], t.shape()[1] / worlds);
    let parts = t.reshape([seeds, time, worlds]).permute(&[1, 0, 2]);
    parts.reshape([time, seeds * worlds])
}

/// Rows `[seeds, samples, numbers]` as `[epochs · parts, seeds, samples / parts, numbers]`: in every epoch, each row of a seed
/// is in one part, in another order for every seed.
pub(crate) fn minibatches(rows: &Tensor, epochs: usize, parts: usize) -> Tensor {
    let (seeds, samples, width) = (rows.shape()[0], rows.shape()[1], rows.shape()[2]);
    let device = rows.device();
    let keys = Tensor::rand([epochs, seeds, samples], device);
    let order = keys.argsort(-1, Order::Ascending);
    let from = Tensor::arange(seeds, device) * samples as f64;
    let order = (order + from.reshape([1, seeds, 1])).reshape([epochs, seeds, parts, samples / parts]);
    let order = order.permute(&[0, 2, 1, 3]).reshape([epochs * seeds * samples]);
    let rows = rows.reshape([seeds * samples, width]).index_select(0, &order);
    rows.reshape([epochs * parts, seeds, samples / parts, width])
}
