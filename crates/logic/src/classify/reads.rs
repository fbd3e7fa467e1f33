//! A picture of what a circuit looks at: how many of its gates read each pixel.
//!
//! Invariant: only what the class depends on counts. Start at [`sheet`].

use farad::fit::samples::picture;
use farad::run::{Picture, Sheet, Thumbnail, count};
use farad_circuit::Netlist;

use super::data::{HostSamples, Levels};

/// The side of a picture on the sheet.
const SIDE: f64 = 252.0;
/// Samples whose mean is shown, at most.
const MOST_AVERAGED: usize = 2000;

/// For each number of a sample, how many gates and outputs of a circuit read one of its bits. Its inputs are the bits of
/// the first number, then those of the second, and so on.
pub fn reads(netlist: &Netlist, features: usize) -> Vec<usize> {
    let bits = netlist.inputs.len() / features.max(1);
    let (live, mut reads) = (netlist.live_wires(), vec![0; features]);
    let gates = netlist.gates.iter().enumerate().filter(|(n, _)| live[netlist.sources() + n]);
    let operands = gates.flat_map(|(_, gate)| gate.operands());
    for wire in operands.chain(netlist.outputs.iter().map(|output| output.wire)) {
        if let Some(read) = reads.get_mut(wire.index() / bits.max(1)) {
            *read += usize::from(wire.index() < netlist.inputs.len());
        }
    }
    reads
}

/// Draws how many gates read each pixel, the brightest the most, beside the mean of the samples; none if samples are no
/// pictures.
pub fn sheet(netlist: &Netlist, part: &HostSamples, about: &str) -> Option<Sheet> {
    let Levels::Bytes(bytes) = &part.levels else { return None };
    let [channels, height, width] = part.shape;
    let pixels = height * width;
    let all = reads(netlist, part.features());
    let read: Vec<usize> =
        (0..pixels).map(|pixel| (0..channels).map(|channel| all[channel * pixels + pixel]).sum()).collect();
    let most = *read.iter().max()?;
    let seen = read.iter().filter(|&&read| read > 0).count();
    // A pixel that one gate reads must differ from one that none reads.
    let bright = |&read: &usize| (read as f32 / most.max(1) as f32).sqrt();
    let heat = Picture::from_gray(width, height, &read.iter().map(bright).collect::<Vec<_>>());
    let title = format!("Pixels that the circuit reads: {} of {}", count(seen), count(pixels));
    let range = format!("black: none, white: {}", count(most));
    let sheet = Sheet::new(&title, (SIDE, SIDE)).about(about);
    let sheet =
        sheet.tile(Thumbnail::new(heat.scaled(8).png(), &["gates that read a pixel".to_string(), range]));
    Some(match mean(bytes, part) {
        Some(mean) => sheet.tile(Thumbnail::new(mean.png(), &["mean of the test part"])),
        None => sheet,
    })
}

/// The mean of the first samples, as a picture.
fn mean(bytes: &[u8], part: &HostSamples) -> Option<Picture> {
    let (features, samples) = (part.features(), part.len().min(MOST_AVERAGED));
    let mut sums = vec![0.0; features];
    for sample in bytes.chunks_exact(features).take(samples) {
        sums.iter_mut().zip(sample).for_each(|(sum, &level)| *sum += f32::from(level) / 255.0);
    }
    let mean: Vec<f32> = sums.iter().map(|sum| sum / samples.max(1) as f32).collect();
    picture(&mean, &part.shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farad_circuit::Gate;

    #[test]
    fn only_what_the_class_depends_on_is_read() {
        let mut netlist = Netlist::new("two bits of each of three pixels");
        let wires: Vec<_> = (0..6).map(|n| netlist.input(format!("b{n}"))).collect();
        let kept = netlist.gate(Gate::AND, wires[0], wires[1]);
        let both = netlist.gate(Gate::XOR, kept, wires[0]);
        netlist.gate(Gate::OR, wires[2], wires[3]);
        netlist.output("class0", both);
        netlist.output("class1", wires[5]);
        assert_eq!(reads(&netlist, 3), [3, 0, 1]);
        let part = HostSamples { levels: Levels::Bytes(vec![0, 255, 51]), labels: vec![1], shape: [1, 1, 3] };
        let svg = sheet(&netlist, &part, "a run").unwrap().svg();
        assert!(svg.contains("Pixels that the circuit reads: 2 of 3") && svg.contains("white: 3"));
        let table = HostSamples { levels: Levels::Numbers(vec![0.5; 3]), ..part };
        assert!(sheet(&netlist, &table, "a run").is_none());
    }
}
