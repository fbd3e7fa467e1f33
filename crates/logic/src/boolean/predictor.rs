//! The circuit of a Boolean function in use: rows of bits in, bits out.

use farad::run::Run;
use farad::train::{Inputs, Outputs, Prediction, Predictor, Signature};
use farad::{DType, Tensor};
use farad_circuit::{Netlist, Simulator};

use super::report::simplified;
use crate::error::Result;

/// The circuit of a Boolean function, ready for use.
pub struct FunctionInUse {
    signature: Signature,
    netlist: Netlist,
}

impl FunctionInUse {
    /// From a run: the circuit that `farad eval` judges.
    pub fn of(run: &Run) -> Result<FunctionInUse> {
        let netlist = simplified(run, &())?;
        let targets: Vec<String> = netlist.outputs.iter().map(|output| output.name.clone()).collect();
        let columns = netlist.inputs.clone();
        let inputs =
            Inputs::Table { columns, targets: targets.clone(), header: true, bits: true, rules: vec![] };
        Ok(FunctionInUse { signature: Signature { inputs, outputs: Outputs::Numbers(targets) }, netlist })
    }
}

impl Predictor for FunctionInUse {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn predict(&self, samples: &Tensor) -> farad::Result<Vec<Prediction>> {
        let samples = self.signature.inputs.batch(samples)?;
        let (count, width) = (samples.shape()[0], samples.shape()[1]);
        let values = samples.cast(DType::F32).to_vec::<f32>()?;
        let mut planes = vec![vec![0u64; count.div_ceil(64)]; width];
        for (place, value) in values.iter().enumerate() {
            let (row, column) = (place / width, place % width);
            planes[column][row / 64] |= u64::from(*value != 0.0) << (row % 64);
        }
        let slices: Vec<&[u64]> = planes.iter().map(Vec::as_slice).collect();
        let outputs = Simulator::new(&self.netlist).map_err(crate::Error::from)?.run(&slices);
        let bit = |plane: &Vec<u64>, row: usize| (plane[row / 64] >> (row % 64) & 1) as f64;
        let row = |row: usize| Prediction::Numbers(outputs.iter().map(|plane| bit(plane, row)).collect());
        Ok((0..count).map(row).collect())
    }
}
