//! What a kernel must do at least, whichever device runs it: for profiles.

use farad_ir::DType;

use crate::program::{BufferId, Code, Instr, Kernel, Spec, Store, View};

/// Bytes and floating-point operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes that must move: each element of a buffer once a direction.
    pub bytes: u64,
    /// Operations on floats.
    pub flops: u64,
}

impl View {
    /// Elements that the view reaches over `axes`, each counted once.
    pub fn reach(&self, axes: &[usize]) -> usize {
        let moves = |axis: usize| {
            self.strides[axis] != 0
                || self.guards.iter().any(|guard| guard.stride != 0 && guard.coefficients[axis] != 0)
        };
        (0..axes.len()).filter(|&axis| moves(axis)).map(|axis| axes[axis]).product()
    }
}

impl Work {
    /// The work of one kernel, given what buffers hold; of a loop, all its trips.
    pub fn of(kernel: &Kernel, spec: &dyn Fn(BufferId) -> Spec) -> Work {
        let mut traffic = Traffic::default();
        let flops = match kernel {
            Kernel::Fused(k) => {
                traffic.tape(&k.tape, &k.axes);
                traffic.stores(&k.stores, &k.axes);
                operations(&k.tape) * (k.outer_len() * k.reduced_len()) as u64
            }
            Kernel::Product(k) => {
                let axes = |last: [usize; 2]| [&k.batch[..], &last].concat();
                traffic.tape(&k.lhs.tape, &axes([k.m, k.k]));
                traffic.tape(&k.rhs.tape, &axes([k.k, k.n]));
                traffic.tape(&k.epilogue, &axes([k.m, k.n]));
                traffic.stores(&k.stores, &axes([k.m, k.n]));
                let batch = k.batch.iter().product::<usize>() as u64;
                let [m, n, terms] = [k.m, k.n, k.k].map(|size| size as u64);
                let around = operations(&k.lhs.tape) * m * terms
                    + operations(&k.rhs.tape) * terms * n
                    + operations(&k.epilogue) * m * n;
                batch * (2 * m * n * terms + around)
            }
            Kernel::Scatter(k) => {
                traffic.touch(k.source.0, false, k.source.1.reach(&k.axes));
                traffic.touch(k.index.0, false, k.index.1.reach(&k.axes));
                traffic.touch(k.target, true, usize::MAX);
                k.axes.iter().product::<usize>() as u64
            }
            Kernel::Sort(_) => {
                let (reads, writes) = kernel.touches();
                reads.iter().for_each(|id| traffic.touch(*id, false, usize::MAX));
                writes.iter().for_each(|id| traffic.touch(*id, true, usize::MAX));
                0
            }
            Kernel::Custom(k) => {
                k.operands.iter().for_each(|id| traffic.touch(*id, false, usize::MAX));
                k.results.iter().for_each(|id| traffic.touch(*id, true, usize::MAX));
                0
            }
            Kernel::Loop(k) => {
                let each = k.steps.iter().map(|step| Work::of(&step.kernel, spec));
                let trip = each.fold(Work::default(), |a, b| Work {
                    bytes: a.bytes + b.bytes,
                    flops: a.flops + b.flops,
                });
                let trips = k.trips as u64;
                return Work { bytes: trips * trip.bytes, flops: trips * trip.flops };
            }
        };
        Work { bytes: traffic.bytes(spec), flops }
    }
}

/// Elements of buffers that a kernel reads or writes, each counted once a direction.
#[derive(Default)]
struct Traffic(Vec<(BufferId, bool, usize)>);

impl Traffic {
    fn touch(&mut self, buffer: BufferId, write: bool, elements: usize) {
        match self.0.iter_mut().find(|(id, way, _)| (*id, *way) == (buffer, write)) {
            Some((.., most)) => *most = elements.max(*most),
            None => self.0.push((buffer, write, elements)),
        }
    }

    fn tape(&mut self, tape: &[Instr], axes: &[usize]) {
        for instr in tape {
            match &instr.code {
                Code::Load(buffer, view) => self.touch(*buffer, false, view.reach(axes)),
                // At worst every position takes another element.
                Code::Take { buffer, .. } => self.touch(*buffer, false, axes.iter().product()),
                _ => {}
            }
        }
    }

    fn stores(&mut self, stores: &[Store], axes: &[usize]) {
        stores.iter().for_each(|store| self.touch(store.buffer, true, store.view.reach(axes)));
    }

    fn bytes(&self, spec: &dyn Fn(BufferId) -> Spec) -> u64 {
        let of = |&(id, _, elements): &(BufferId, bool, usize)| {
            let spec = spec(id);
            (elements.min(spec.len) * spec.dtype.size()) as u64
        };
        self.0.iter().map(of).sum()
    }
}

/// Floating-point operations of a tape at one position.
fn operations(tape: &[Instr]) -> u64 {
    let counts = |instr: &&Instr| {
        matches!(instr.code, Code::Unary(..) | Code::Binary(..) | Code::Reduce(..))
            && instr.dtype == DType::F32
    };
    tape.iter().filter(counts).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Target;
    use farad_ir::{Contraction, Graph, Reduce, Shape};

    fn only(build: impl Fn(&mut Graph) -> farad_ir::NodeId) -> Work {
        let mut graph = Graph::new();
        let output = build(&mut graph);
        let target = Target { bindings: 7, parallel: 1, fuse: true, binding_bytes: 1 << 30, scratch: false };
        let program = crate::compile(&graph, &[output], &[], &target);
        assert_eq!(program.steps.len(), 1, "{program}");
        Work::of(&program.steps[0].kernel, &|id| program.spec(id))
    }

    #[test]
    fn every_element_counts_once_a_direction() {
        let square = only(|graph| {
            let x = graph.input(0, Shape::new(&[10, 7]), DType::F32);
            let y = graph.mul(x, x);
            graph.add(y, x)
        });
        assert_eq!(square, Work { bytes: 2 * 70 * 4, flops: 2 * 70 });
        let sums = only(|graph| {
            let x = graph.input(0, Shape::new(&[10, 7]), DType::F32);
            graph.reduce(Reduce::Sum, x, &[1])
        });
        assert_eq!(sums, Work { bytes: (70 + 10) * 4, flops: 70 });
        let product = only(|graph| {
            let a = graph.input(0, Shape::new(&[64, 32]), DType::F32);
            let b = graph.input(1, Shape::new(&[32, 16]), DType::F32);
            graph.contract(Contraction::matmul(&[], 64, 32, 16), a, b)
        });
        assert_eq!(product, Work { bytes: (64 * 32 + 32 * 16 + 64 * 16) * 4, flops: 2 * 64 * 32 * 16 });
    }
}
