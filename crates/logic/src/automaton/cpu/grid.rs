//! The layout of cells: planes with a border, tiles of neighboring cells, strips of tiles.
//!
//! A plane holds one channel of all grids of a batch. Every grid has a border of one cell, so that the
//! neighbors of adjacent cells are adjacent too. A strip is what one thread processes at a time; its tiles do
//! not depend on the number of threads.

use std::ops::Range;

use farad_circuit::Edge;

use super::super::extent::RollOutExtent;
use super::rows::{CellRow, WIDTH};

/// Most strips per seed, so that their partial sums stay small.
const STRIPS: usize = 32;

/// Numbers that are copied at a time; copies may overrun by one less than this.
pub const CHUNK: usize = 16;

/// Cells of a tile that are adjacent in a plane.
#[derive(Clone, Copy, Debug)]
pub struct CellRun {
    /// The first cell's index in its row.
    pub lane: usize,
    /// The first cell's index in a plane.
    pub place: usize,
    pub len: usize,
}

/// Cells that are processed together.
#[derive(Clone, Debug)]
pub struct CellTile {
    /// The cells in the order of the states array; fewer than [`WIDTH`] only in the last tile.
    pub cells: Range<usize>,
    pub runs: Vec<CellRun>,
}

/// Tiles that one thread processes, one after another.
#[derive(Clone, Debug)]
pub struct Strip {
    pub tiles: Vec<CellTile>,
    /// The part of a plane that contains its cells and all their neighbors.
    pub span: Range<usize>,
}

/// The layout of one seed's planes.
#[derive(Clone, Debug)]
pub struct SeedGrid {
    edge: Edge,
    height: usize,
    width: usize,
    /// Numbers in a plane.
    pub plane: usize,
    /// Tiles in every strip except the last.
    pub tiles_a_strip: usize,
    pub strips: Vec<Strip>,
}

impl SeedGrid {
    pub fn new(extent: &RollOutExtent) -> SeedGrid {
        let (height, width) = (extent.height, extent.width);
        let tiles_a_strip = extent.cells().div_ceil(WIDTH).div_ceil(STRIPS).max(1);
        let mut grid = SeedGrid {
            edge: extent.topology.edge,
            height,
            width,
            plane: extent.batch * (height + 2) * (width + 2),
            tiles_a_strip,
            strips: vec![],
        };
        let cells = extent.cells();
        let size = tiles_a_strip * WIDTH;
        grid.strips =
            (0..cells).step_by(size).map(|first| grid.strip(first..cells.min(first + size))).collect();
        grid
    }

    fn strip(&self, cells: Range<usize>) -> Strip {
        let reach = self.width + 3;
        let span = self.place(cells.start) - reach..self.place(cells.end - 1) + reach + 1;
        let tile = |first: usize| self.tile(first..cells.end.min(first + WIDTH));
        Strip { tiles: cells.clone().step_by(WIDTH).map(tile).collect(), span }
    }

    fn tile(&self, cells: Range<usize>) -> CellTile {
        let mut runs = vec![];
        let mut cell = cells.start;
        while cell < cells.end {
            let len = (self.width - cell % self.width).min(cells.end - cell);
            runs.push(CellRun { lane: cell - cells.start, place: self.place(cell), len });
            cell += len;
        }
        CellTile { cells, runs }
    }

    /// The index of a cell in a plane.
    pub fn place(&self, cell: usize) -> usize {
        let (row, x) = (cell / self.width, cell % self.width);
        let (grid, y) = (row / self.height, row % self.height);
        (grid * (self.height + 2) + y + 1) * (self.width + 2) + x + 1
    }

    /// The index of the neighbor in direction `n` of the cell at an index.
    pub fn neighbor(&self, place: usize, n: usize) -> usize {
        place + n / 3 * (self.width + 2) + n % 3 - (self.width + 3)
    }

    /// Fills the border with what cells at the edge see beyond it. With an edge of zeros there is nothing to
    /// write.
    pub fn fill_rim(&self, plane: &mut [f32]) {
        if self.edge == Edge::Zero {
            return;
        }
        let (height, width) = (self.height, self.width);
        for grid in plane.chunks_exact_mut((height + 2) * (width + 2)) {
            for row in grid.chunks_exact_mut(width + 2) {
                (row[0], row[width + 1]) = (row[width], row[1]);
            }
            grid.copy_within(height * (width + 2)..(height + 1) * (width + 2), 0);
            grid.copy_within(width + 2..2 * (width + 2), (height + 1) * (width + 2));
        }
    }

    /// Adds the gradients of border cells to the cells that they represent.
    pub fn fold_rim(&self, plane: &mut [f32]) {
        if self.edge == Edge::Zero {
            return;
        }
        let (height, width) = (self.height, self.width);
        for grid in plane.chunks_exact_mut((height + 2) * (width + 2)) {
            for row in grid.chunks_exact_mut(width + 2) {
                row[width] += row[0];
                row[1] += row[width + 1];
            }
            for x in 1..=width {
                grid[height * (width + 2) + x] += grid[x];
                grid[width + 2 + x] += grid[(height + 1) * (width + 2) + x];
            }
        }
    }
}

/// Reads a tile's cells from a plane into a row of a buffer, with `at` applied to their indices. What follows
/// the tile's cells is overwritten too, so rows must be read in ascending order.
#[inline(always)]
pub fn read_run_by_run(tile: &CellTile, plane: &[f32], at: impl Fn(usize) -> usize, to: &mut [f32]) {
    for run in &tile.runs {
        let from = &plane[at(run.place)..];
        let to = &mut to[run.lane..];
        for n in (0..run.len).step_by(CHUNK) {
            to[n..n + CHUNK].copy_from_slice(&from[n..n + CHUNK]);
        }
    }
}

/// Clears what lies beyond the tile's cells.
#[inline(always)]
pub fn clear_beyond(tile: &CellTile, rows: &mut [CellRow]) {
    let count = tile.cells.len();
    if count < WIDTH {
        for row in rows {
            row.0[count..].fill(0.0);
        }
    }
}
