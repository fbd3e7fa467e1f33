//! Convolutions and their gradients as products, as the compiler makes them.
#![allow(dead_code)] // every test file uses a part of it

use farad_compile::program::{BufferId, Code, Guard, Kernel, Level, Product, ProductOperand, Store, View};
use farad_ir::{Binary, DType, Unary};

use crate::case::{Case, Rng, Tape, strided};

/// A convolution's sizes (the same taps and strides on both axes), and its dtypes.
#[derive(Clone, Copy, Debug)]
pub struct Convolution {
    pub groups: usize,
    pub batch: usize,
    /// Channels per group.
    pub inputs: usize,
    /// Channels per group.
    pub outputs: usize,
    pub size: [usize; 2],
    pub taps: usize,
    pub stride: usize,
    pub pad: usize,
    pub dilation: usize,
    /// The dtype of images and gradients.
    pub image: DType,
    /// The dtype of results.
    pub result: DType,
    /// Whether to add a bias for each row of the product, and to store a function of that too.
    pub epilogue: bool,
}

/// Which product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Forward,
    Weight,
    Image,
}

impl Convolution {
    fn out(&self) -> [usize; 2] {
        let reach = self.dilation * (self.taps - 1) + 1;
        self.size.map(|size| (size + 2 * self.pad - reach) / self.stride + 1)
    }

    pub fn case(&self, which: Which) -> Case {
        self.case_of(which, None)
    }

    /// With `on_image` applied to what the right operand loads.
    pub fn case_of(&self, which: Which, on_image: Option<Unary>) -> Case {
        let c = *self;
        let [h, w] = c.size;
        let [r, q] = c.out();
        let taps = c.taps * c.taps;
        let image = c.batch * c.groups * c.inputs * h * w;
        let weight = c.groups * c.outputs * c.inputs * taps;
        let result = c.batch * c.groups * c.outputs * r * q;
        let (terms, columns, rows, lens) = match which {
            Which::Forward => {
                ([c.inputs, c.taps, c.taps], [c.batch, r, q], c.outputs, [weight, image, result])
            }
            Which::Weight => {
                ([c.batch, r, q], [c.inputs, c.taps, c.taps], c.outputs, [result, image, weight])
            }
            Which::Image => ([c.outputs, c.taps, c.taps], [c.batch, h, w], c.inputs, [weight, result, image]),
        };
        let mut rng = Rng(71);
        let mut case = Case::default();
        let a = case
            .input(if which == Which::Weight { c.image } else { DType::F32 }, rng.floats(lens[0], -1.0, 1.0));
        let b = case.input(c.image, rng.floats(lens[1], -1.0, 1.0));
        let bias = case.input(DType::F32, rng.floats(c.groups * rows, -1.0, 1.0));
        let y = case.output(c.result, lens[2]);
        let views = c.views(which);
        let operand = |buffer: u32, view: View, on: Option<Unary>| {
            let mut tape = Tape::default();
            let mut value = tape.load(buffer, view);
            if let Some(unary) = on {
                value = tape.unary(unary, value);
            }
            ProductOperand { tape: tape.0, value }
        };
        let mut tape = Tape::default();
        let mut value = tape.push(Code::Accumulator, DType::F32, Level::Full);
        let [lhs, rhs, out] = views;
        let mut stores = vec![];
        if c.epilogue {
            let z = case.output(DType::F32, lens[2]);
            let each = tape.load(bias, strided(0, &[rows as i64, 1, 0, 0, 0]));
            value = tape.binary(Binary::Add, value, each);
            let active = tape.unary(Unary::Tanh, value);
            stores.push(Store { buffer: BufferId(z), value: active, view: out.clone() });
        }
        stores.push(Store { buffer: BufferId(y), value, view: out });
        case.step(Kernel::Product(Product {
            batch: vec![c.groups],
            m: vec![rows],
            n: columns.to_vec(),
            k: terms.to_vec(),
            lhs: operand(a, lhs, None),
            rhs: operand(b, rhs, on_image),
            epilogue: tape.0,
            stores,
        }));
        case
    }

    /// The left operand over `[group, m, k..]`, the right one over `[group, k.., n..]`, the result over
    /// `[group, m, n..]`.
    fn views(&self, which: Which) -> [View; 3] {
        let n = |value: usize| value as i64;
        let [h, w] = self.size.map(n);
        let [r, q] = self.out().map(n);
        let (g, ci, co, t, d, s) =
            (n(self.groups), n(self.inputs), n(self.outputs), n(self.taps), n(self.dilation), n(self.stride));
        let taps = t * t;
        let (image, result) = ([g * ci * h * w, h * w], [g * co * r * q, r * q]);
        match which {
            Which::Forward => [
                strided(0, &[co * ci * taps, ci * taps, taps, t, 1]),
                self.read_image([ci * h * w, image[1], d * w, d, image[0], s * w, s], [2, 3], [5, 6]),
                strided(0, &[co * r * q, result[1], result[0], q, 1]),
            ],
            Which::Weight => [
                strided(0, &[co * r * q, result[1], result[0], q, 1]),
                self.read_image([ci * h * w, image[0], s * w, s, image[1], d * w, d], [5, 6], [2, 3]),
                strided(0, &[co * ci * taps, ci * taps, taps, t, 1]),
            ],
            Which::Image => [
                strided(0, &[co * ci * taps, taps, ci * taps, t, 1]),
                self.read_result(co * r * q, result),
                strided(0, &[ci * h * w, image[1], image[0], w, 1]),
            ],
        }
    }

    fn read_image(&self, strides: [i64; 7], taps: [usize; 2], places: [usize; 2]) -> View {
        let pad = self.pad as i64;
        let mut view = strided(-pad * (self.size[1] as i64 + 1), &strides);
        for axis in 0..2 {
            let mut coefficients = vec![0; 7];
            coefficients[taps[axis]] = self.dilation as i64;
            coefficients[places[axis]] = self.stride as i64;
            if pad > 0 {
                let size = self.size[axis] as i64;
                view.guards.push(Guard { coefficients, offset: -pad, divisor: 1, size, stride: 0 });
            }
        }
        view
    }

    /// Over `[group, output, tap, tap, batch, h, w]`.
    fn read_result(&self, group: i64, [batch, output]: [i64; 2]) -> View {
        let [r, q] = self.out().map(|size| size as i64);
        let (d, pad, s) = (self.dilation as i64, self.pad as i64, self.stride as i64);
        let mut view = strided(0, &[group, output, 0, 0, batch, 0, 0]);
        for (axis, (size, pitch)) in [(r, q), (q, 1)].into_iter().enumerate() {
            let mut coefficients = vec![0; 7];
            (coefficients[2 + axis], coefficients[5 + axis]) = (-d, 1);
            if s == 1 {
                view.offset += pad * pitch;
                (view.strides[2 + axis], view.strides[5 + axis]) = (-d * pitch, pitch);
            }
            let stride = if s == 1 { 0 } else { pitch };
            view.guards.push(Guard { coefficients, offset: pad, divisor: s, size, stride });
        }
        view
    }
}
