//! The matrices of Winograd's convolutions, by the construction of Cook and Toom.
//!
//! A tile of `outputs` results under a window of `taps` elements needs `side = outputs + taps - 1` products:
//! `y = Aᵀ[(G w) · (Bᵀ x)]` along each axis. Both polynomials are evaluated at `side - 1` points and at infinity.
//! The points decide the error; these were searched for (docs/lab/convolutions.md).

use std::hash::Hash;

/// Points for tiles of six: near 1, and in pairs of opposite sign. They give half the error of 0, ±1, ±2.
const SIX: [f64; 5] = [0.0, 2.0 / 3.0, -2.0 / 3.0, 1.5, -1.5];
/// Points for tiles of eight.
const EIGHT: [f64; 7] = [0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0];

/// How many results a tile has, and how many elements a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileForm {
    /// Results of a tile, along an axis.
    pub outputs: usize,
    /// Elements of a window, along an axis.
    pub taps: usize,
}

/// What a matrix makes of a tile. Each is used from the left, and transposed from the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// `Bᵀ`: a part of the image to factors.
    Image,
    /// `G`: a window to factors.
    Window,
    /// `Aᵀ`: products to results.
    Result,
    /// `A`: gradients of results to factors.
    Upstream,
    /// `Gᵀ`: products to the gradient of a window.
    WindowGradient,
}

/// A matrix in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub columns: usize,
    /// The elements.
    pub values: Vec<f64>,
}

impl Matrix {
    fn new(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Matrix {
        let values = (0..rows * columns).map(|at| value(at / columns, at % columns)).collect();
        Matrix { rows, columns, values }
    }

    fn transposed(&self) -> Matrix {
        Matrix::new(self.columns, self.rows, |row, column| self.values[column * self.columns + row])
    }
}

impl TileForm {
    /// The form for windows of this many elements: tiles of six, and of eight where the windows are large.
    pub fn of(taps: usize) -> Option<TileForm> {
        let side = match taps {
            2..=4 => 6,
            5..=7 => 8,
            _ => return None,
        };
        Some(TileForm { outputs: side + 1 - taps, taps })
    }

    /// Products of a tile, along an axis.
    pub fn side(&self) -> usize {
        self.outputs + self.taps - 1
    }

    fn points(&self) -> &'static [f64] {
        if self.side() == SIX.len() + 1 { &SIX } else { &EIGHT }
    }

    /// The matrix of a stage.
    pub fn matrix(&self, stage: Stage) -> Matrix {
        let (points, last) = (self.points(), self.side() - 1);
        let power = |point: f64, exponent: usize| point.powi(exponent as i32);
        match stage {
            // Infinity stands for the leading coefficient.
            Stage::Result => Matrix::new(self.outputs, self.side(), |row, column| match column {
                column if column == last => f64::from(row + 1 == self.outputs),
                column => power(points[column], row),
            }),
            Stage::Window => Matrix::new(self.side(), self.taps, |row, column| match row {
                row if row == last => f64::from(column + 1 == self.taps),
                row => {
                    let others = points.iter().filter(|other| **other != points[row]);
                    power(points[row], column) / others.map(|other| points[row] - other).product::<f64>()
                }
            }),
            Stage::Image => {
                let rows: Vec<Vec<f64>> =
                    (0..=last).map(|row| polynomial(points, points.get(row).copied())).collect();
                Matrix::new(last + 1, last + 1, |row, column| rows[row].get(column).copied().unwrap_or(0.0))
            }
            Stage::Upstream => self.matrix(Stage::Result).transposed(),
            Stage::WindowGradient => self.matrix(Stage::Window).transposed(),
        }
    }
}

/// The coefficients of the product of `x - point` over all points but one, lowest first.
fn polynomial(points: &[f64], without: Option<f64>) -> Vec<f64> {
    let mut found = vec![1.0];
    for point in points.iter().filter(|point| Some(**point) != without) {
        let mut next = vec![0.0; found.len() + 1];
        for (degree, value) in found.iter().enumerate() {
            next[degree + 1] += value;
            next[degree] -= point * value;
        }
        found = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(matrix: &Matrix, x: &[f64]) -> Vec<f64> {
        matrix.values.chunks(matrix.columns).map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
    }

    #[test]
    fn every_form_is_a_convolution() {
        for taps in 2..=7 {
            let form = TileForm::of(taps).unwrap();
            let x: Vec<f64> = (0..form.side()).map(|i| ((i * 7 + 3) % 11) as f64 - 5.0).collect();
            let w: Vec<f64> = (0..taps).map(|i| ((i * 5 + 1) % 7) as f64 - 3.0).collect();
            let g: Vec<f64> = (0..form.outputs).map(|i| ((i * 3 + 2) % 5) as f64 - 2.0).collect();
            let times =
                |a: Vec<f64>, b: Vec<f64>| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a * b).collect() };
            let of = |stage, x: &[f64]| apply(&form.matrix(stage), x);
            let y = of(Stage::Result, &times(of(Stage::Window, &w), of(Stage::Image, &x)));
            let dw = of(Stage::WindowGradient, &times(of(Stage::Upstream, &g), of(Stage::Image, &x)));
            for (i, y) in y.iter().enumerate() {
                let exact: f64 = (0..taps).map(|k| x[i + k] * w[k]).sum();
                assert!((y - exact).abs() < 1e-11, "{form:?}: {y} is not {exact}");
            }
            for (k, dw) in dw.iter().enumerate() {
                let exact: f64 = (0..form.outputs).map(|i| x[i + k] * g[i]).sum();
                assert!((dw - exact).abs() < 1e-11, "{form:?}: {dw} is not {exact}");
            }
        }
        assert_eq!((TileForm::of(1), TileForm::of(8)), (None, None));
    }
}
