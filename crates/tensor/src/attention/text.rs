//! The WGSL of the kernels: `shared.wgsl` has what they share. Sizes are its constants, the mask is a region, and loops
//! over register tiles are unrolled ([`WgslText`]).
//!
//! Invariant: texts depend on the width, the tile and whether there is a mask, never on the number of heads,
//! queries and keys.

use farad_ir::WgslText;

const SHARED: &str = include_str!("shared.wgsl");

/// Every query sees every key that its place allows.
const UNMASKED: &str = "fn seen(head: u32, key: u32) -> bool {\n    return true;\n}\n";

/// How a workgroup and its invocations share the work of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionTile {
    /// Rows that a workgroup has, and rows that pass by at once.
    pub own: usize,
    pub stream: usize,
    /// Rows of an invocation, and invocations that share them.
    pub rows: usize,
    pub lanes: usize,
    /// `vec4`s of a row.
    pub width: usize,
    /// Turns of a hot loop that are written out: 1, 2 or 4.
    pub steps: usize,
}

impl AttentionTile {
    /// Invocations of a workgroup.
    pub fn threads(&self) -> usize {
        self.own / self.rows * self.lanes
    }

    /// `vec4`s of a row that an invocation has.
    pub fn columns(&self) -> usize {
        self.width.div_ceil(self.lanes)
    }

    /// `vec4`s that a row takes in workgroup memory.
    pub fn stride(&self) -> usize {
        (self.columns() * self.lanes) | 1
    }

    /// `vec4`s that a row of scores takes in workgroup memory.
    pub fn scores(&self) -> usize {
        (self.stream / 4) | 1
    }

    /// `vec4`s that an invocation brings into workgroup memory for so many rows.
    fn loads(&self, rows: usize) -> usize {
        (rows * self.columns() * self.lanes).div_ceil(self.threads())
    }

    fn constants(&self) -> [(&'static str, usize); 12] {
        [
            ("OWN", self.own),
            ("STREAM", self.stream),
            ("ROWS", self.rows),
            ("LANES", self.lanes),
            ("WIDTH", self.width),
            ("COLUMNS", self.columns()),
            ("KEYS", self.stream / self.lanes),
            ("QUARTERS", self.stream / 4),
            ("OWN_LOADS", self.loads(self.own)),
            ("STREAM_LOADS", self.loads(self.stream)),
            ("STEPS", self.steps),
            ("PARTS", self.steps.min(self.stream / 4)),
        ]
    }
}

/// A kernel's text for this tile.
pub fn specialize(file: &str, tile: &AttentionTile, masked: bool) -> WgslText {
    let shared = WgslText::new(SHARED).region("kernel", "").sizes(&tile.constants());
    let shared = if masked { shared } else { shared.region("mask", UNMASKED) };
    WgslText::new(file).region("shared", shared).unrolled()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_replace_those_of_the_file() {
        let tile = AttentionTile { own: 8, stream: 4, rows: 2, lanes: 4, width: 3, steps: 4 };
        let file = "//{ shared\nold\n//}\nfor (var i = 0u; i < ROWS; i++) { // unroll\nf(i);\n}\n";
        let [masked, unmasked] = [true, false].map(|masked| specialize(file, &tile, masked).to_string());
        for text in [&masked, &unmasked] {
            assert!(text.contains("const OWN = 8u;\n") && text.contains("const COLUMNS = 1u;\n"), "{text}");
            assert!(text.ends_with("{\nf(0u);\n}\n{\nf(1u);\n}\n") && !text.contains("old"), "{text}");
        }
        assert!(masked.contains("mask[") && !unmasked.contains("mask["));
    }
}
