//! The least work that a kernel must do: one count of bytes and operations, which all backends use in profiles.
//!
//! Invariant: a byte counts once per direction, however often it is touched. An operation counts once per
//! position at which its value changes. So the rates are those of a perfect kernel, and caches never inflate
//! them.

use std::iter::Sum;
use std::ops::{Add, Mul};

use farad_ir::DType;

use crate::program::{
    BufferId, Code, Custom, Fused, Instr, Kernel, Level, Product, ProductOperand, ProgramBuffer, Recurrence,
    Store,
};

/// Bytes that must move and floating-point operations that must be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Bytes read and written.
    pub bytes: u64,
    /// Operations on floats.
    pub flops: u64,
    /// Those of them that multiply f16 matrices, which tensor cores do on some devices.
    pub half_flops: u64,
}

impl Costs {
    /// The costs of one run of `kernel`. In a loop, `slots` are the buffers that each trip sees a slice of,
    /// with the elements per slice.
    pub fn of(kernel: &Kernel, buffers: &[ProgramBuffer], slots: &[(BufferId, usize)]) -> Costs {
        let mut traffic = Traffic { buffers, slots, touched: vec![] };
        let (flops, half_flops) = match kernel {
            Kernel::Fused(k) => {
                traffic.tape(&k.tape, &k.axes);
                traffic.stores(&k.stores, &k.axes);
                (fused_flops(k), 0)
            }
            Kernel::Product(k) => {
                let [lhs, rhs, out] = k.axes();
                traffic.tape(&k.lhs.tape, &lhs);
                traffic.tape(&k.rhs.tape, &rhs);
                traffic.tape(&k.epilogue, &out);
                traffic.stores(&k.stores, &out);
                product_flops(k, buffers)
            }
            Kernel::Scatter(k) => {
                let elements = k.axes.iter().product::<usize>();
                traffic.touch(k.source.0, false, k.source.1.reach(&k.axes));
                traffic.touch(k.index.0, false, k.index.1.reach(&k.axes));
                traffic.touch(k.target, true, usize::MAX);
                let floats = buffers[k.source.0.0 as usize].dtype.is_float();
                (if floats { elements as u64 } else { 0 }, 0)
            }
            Kernel::Sums(k) => {
                let terms: usize = k.segments.iter().map(|segment| segment.parts * segment.results).sum();
                traffic.touch(k.source, false, terms);
                traffic.touch(k.target, true, k.segments.iter().map(|segment| segment.results).sum());
                (terms as u64, 0)
            }
            Kernel::Sort(k) => {
                traffic.touch(k.operand, false, usize::MAX);
                traffic.touch(k.order, true, usize::MAX);
                (0, 0)
            }
            Kernel::Custom(k) => return custom(k, &mut traffic),
            Kernel::Recurrence(k) => {
                traffic.tape(&k.tape, &k.axes);
                traffic.stores(&k.stores, &k.axes);
                for (id, view) in k.carries.iter().flat_map(|carry| &carry.last) {
                    traffic.touch(*id, true, view.reach(&k.axes));
                }
                (recurrence_flops(k), 0)
            }
            Kernel::Loop(k) => {
                let trip = |step: &crate::program::ProgramStep| Costs::of(&step.kernel, buffers, &k.slots);
                return k.steps.iter().map(trip).sum::<Costs>() * k.trips as u64;
            }
        };
        Costs { bytes: traffic.bytes(), flops, half_flops }
    }
}

/// A custom op states its costs itself; otherwise its operands and results are counted as bytes.
fn custom(kernel: &Custom, traffic: &mut Traffic) -> Costs {
    if let Some((bytes, flops)) = kernel.op.costs(&kernel.shapes) {
        return Costs { bytes, flops, half_flops: 0 };
    }
    kernel.read_only().for_each(|n| traffic.touch(kernel.operands[n], false, usize::MAX));
    kernel.results.iter().for_each(|&id| traffic.touch(id, true, usize::MAX));
    Costs { bytes: traffic.bytes(), ..Costs::default() }
}

/// Elements of buffers that a kernel reads or writes, each counted once per direction.
struct Traffic<'a> {
    buffers: &'a [ProgramBuffer],
    slots: &'a [(BufferId, usize)],
    touched: Vec<TouchedElements>,
}

/// Elements of a buffer, in one direction.
struct TouchedElements {
    buffer: BufferId,
    writes: bool,
    elements: usize,
}

impl Traffic<'_> {
    fn touch(&mut self, buffer: BufferId, writes: bool, elements: usize) {
        match self.touched.iter_mut().find(|known| (known.buffer, known.writes) == (buffer, writes)) {
            Some(known) => known.elements = elements.max(known.elements),
            None => self.touched.push(TouchedElements { buffer, writes, elements }),
        }
    }

    fn tape(&mut self, tape: &[Instr], axes: &[usize]) {
        for instr in tape {
            match &instr.code {
                Code::Load(buffer, view) => self.touch(*buffer, false, view.reach(axes)),
                Code::Take { buffer, .. } => self.touch(*buffer, false, axes.iter().product()),
                _ => {}
            }
        }
    }

    fn stores(&mut self, stores: &[Store], axes: &[usize]) {
        stores.iter().for_each(|store| self.touch(store.buffer, true, store.view.reach(axes)));
    }

    fn bytes(&self) -> u64 {
        let bytes = self.touched.iter().map(|&TouchedElements { buffer: id, elements, .. }| {
            let buffer = self.buffers[id.0 as usize];
            let slice = self.slots.iter().find(|(slot, _)| *slot == id);
            let most = slice.map_or(buffer.len, |&(_, stride)| stride.min(buffer.len));
            (elements.min(most) * buffer.dtype.size()) as u64
        });
        bytes.sum()
    }
}

fn fused_flops(kernel: &Fused) -> u64 {
    let (outer, reduced) = (kernel.outer_len() as u64, kernel.reduced_len() as u64);
    let of = |instr: &Instr| match instr.code {
        // A reduction's value has outer level, but it takes one operation at every position.
        Code::Reduce(..) => outer * reduced,
        _ if instr.level == Level::Outer => outer,
        _ => outer * reduced,
    };
    kernel.tape.iter().filter(|instr| computes(instr)).map(of).sum()
}

fn recurrence_flops(kernel: &Recurrence) -> u64 {
    let (elements, trips) = (kernel.elements() as u64, kernel.trips() as u64);
    let of = |instr: &Instr| if instr.level == Level::Outer { elements } else { elements * trips };
    kernel.tape.iter().filter(|instr| computes(instr)).map(of).sum()
}

/// All operations, and those of the product itself if it multiplies f16.
fn product_flops(kernel: &Product, buffers: &[ProgramBuffer]) -> (u64, u64) {
    let [batch, m, n, terms] =
        [kernel.batches(), kernel.rows(), kernel.columns(), kernel.terms()].map(|size| size as u64);
    let of = |tape: &[Instr]| tape.iter().filter(|instr| computes(instr)).count() as u64;
    let around =
        of(&kernel.lhs.tape) * m * terms + of(&kernel.rhs.tape) * terms * n + of(&kernel.epilogue) * m * n;
    let product = batch * 2 * m * n * terms;
    let f16 = [&kernel.lhs, &kernel.rhs].into_iter().all(|operand| loads_f16(operand, buffers));
    (product + batch * around, if f16 { product } else { 0 })
}

fn loads_f16(operand: &ProductOperand, buffers: &[ProgramBuffer]) -> bool {
    operand.tape.iter().any(|instr| match &instr.code {
        Code::Load(id, _) => buffers[id.0 as usize].dtype == DType::F16,
        _ => false,
    })
}

/// Whether an instruction computes a float.
fn computes(instr: &Instr) -> bool {
    instr.dtype == DType::F32 && matches!(instr.code, Code::Unary(..) | Code::Binary(..) | Code::Reduce(..))
}

impl Add for Costs {
    type Output = Costs;

    fn add(self, other: Costs) -> Costs {
        Costs {
            bytes: self.bytes + other.bytes,
            flops: self.flops + other.flops,
            half_flops: self.half_flops + other.half_flops,
        }
    }
}

impl Mul<u64> for Costs {
    type Output = Costs;

    fn mul(self, times: u64) -> Costs {
        Costs { bytes: self.bytes * times, flops: self.flops * times, half_flops: self.half_flops * times }
    }
}

impl Sum for Costs {
    fn sum<I: Iterator<Item = Costs>>(costs: I) -> Costs {
        costs.fold(Costs::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use farad_ir::{Contraction, Graph, Op, Reduce, Scan, Shape};

    use super::*;
    use crate::compile;
    use crate::program::Target;

    fn costs(graph: &Graph, outputs: &[farad_ir::NodeId]) -> Vec<Costs> {
        costs_for(graph, outputs, &Target::cpu())
    }

    fn costs_for(graph: &Graph, outputs: &[farad_ir::NodeId], target: &Target) -> Vec<Costs> {
        let program = compile(graph, outputs, &[], target);
        program.steps.iter().map(|step| Costs::of(&step.kernel, &program.buffers, &[])).collect()
    }

    #[test]
    fn every_element_counts_once_a_direction() {
        let mut graph = Graph::new();
        let x = graph.input(0, Shape::new(&[10, 7]), DType::F32);
        let square = graph.mul(x, x);
        let y = graph.add(square, x);
        assert_eq!(costs(&graph, &[y]), [Costs { bytes: 2 * 70 * 4, flops: 2 * 70, half_flops: 0 }]);
        let sums = graph.reduce(Reduce::Sum, x, &[1]);
        assert_eq!(costs(&graph, &[sums]), [Costs { bytes: (70 + 10) * 4, flops: 70, half_flops: 0 }]);
        for (dtype, f16) in [(DType::F32, 0), (DType::F16, 2 * 64 * 32 * 16)] {
            let mut graph = Graph::new();
            let a = graph.input(0, Shape::new(&[64, 32]), dtype);
            let b = graph.input(1, Shape::new(&[32, 16]), dtype);
            let product = graph.contract(Contraction::matmul(&[], 64, 32, 16), a, b);
            let bytes = ((64 * 32 + 32 * 16 + 64 * 16) * dtype.size()) as u64;
            let wanted = Costs { bytes, flops: 2 * 64 * 32 * 16, half_flops: f16 };
            assert_eq!(costs(&graph, &[product]), [wanted]);
        }
    }

    #[test]
    fn a_softmax_reads_and_writes_once() {
        let mut graph = Graph::new();
        let x = graph.input(0, Shape::new(&[16, 1024]), DType::F32);
        let most = graph.reduce(Reduce::Max, x, &[1]);
        let most = graph.reshape(most, Shape::new(&[16, 1]));
        let most = graph.expand(most, Shape::new(&[16, 1024]));
        let y = graph.sub(x, most);
        let found = costs(&graph, &[y]);
        assert_eq!(found, [Costs { bytes: 2 * 16 * 1024 * 4, flops: 2 * 16 * 1024, half_flops: 0 }]);
    }

    #[test]
    fn a_loop_costs_its_trips_and_a_trip_its_slices() {
        let mut body = Graph::new();
        let carry = body.input(0, Shape::new(&[8]), DType::F32);
        let slice = body.input(1, Shape::new(&[8]), DType::F32);
        let next = body.add(carry, slice);
        let mut graph = Graph::new();
        let start = graph.input(0, Shape::new(&[8]), DType::F32);
        let sequence = graph.input(1, Shape::new(&[100, 8]), DType::F32);
        let scan = Scan { body, outputs: vec![next], carries: 1, sequences: 1, steps: 100, reverse: false };
        let scan = graph.push(Op::Scan(std::sync::Arc::new(scan)), &[start, sequence]);
        let last = graph.push(Op::Pick(0, Shape::new(&[8]), DType::F32), &[scan]);
        // The state is read and written once; a slice is read at every position.
        let woven = [Costs { bytes: (100 + 2) * 32, flops: 100 * 8, half_flops: 0 }];
        assert_eq!(costs(&graph, &[last]), woven);
        // Carries are copied in and out as well.
        let found = costs_for(&graph, &[last], &Target { fuse: false, ..Target::cpu() });
        let most = found.iter().max_by_key(|costs| costs.bytes).copied();
        assert_eq!(most, Some(Costs { bytes: 100 * 3 * 32, flops: 100 * 8, half_flops: 0 }), "{found:?}");
    }
}
