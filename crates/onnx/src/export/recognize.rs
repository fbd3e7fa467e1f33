//! Recognizes groups of ops that are one ONNX op: a concatenation, written as padded parts that are joined, and
//! the larger of two.

use farad_ir::{Binary, NodeId, Op};

use super::writer::ExportScope;

impl ExportScope<'_> {
    /// The axis and the parts of a concatenation, if a node is one.
    pub fn concatenation(&self, id: NodeId) -> Option<(usize, Vec<NodeId>)> {
        let padded = |id: NodeId| match &self.a.node(id).op {
            Op::Pad(widths) => Some((widths, self.a.node(id).operands[0])),
            _ => None,
        };
        let (mut parts, mut at) = (vec![], id);
        while let Op::Binary(Binary::Join) = self.a.node(at).op {
            let operands = &self.a.node(at).operands;
            parts.push(padded(operands[1])?);
            at = operands[0];
        }
        if parts.is_empty() {
            return None;
        }
        parts.push(padded(at)?);
        parts.reverse();
        let axis = parts[0].0.iter().position(|width| *width != (0, 0))?;
        let mut before = 0;
        for (widths, part) in &parts {
            let alone = widths.iter().enumerate().all(|(n, width)| n == axis || *width == (0, 0));
            if !alone || widths[axis].0 != before {
                return None;
            }
            before += self.a.shape(*part)[axis];
        }
        (before == self.a.shape(id)[axis]).then(|| (axis, parts.into_iter().map(|(_, part)| part).collect()))
    }
    /// The two operands of a select that takes the larger, as pooling does: `a > b or a != a ? a : b`, so that
    /// NaN stays.
    pub fn larger(&self, id: NodeId) -> Option<[NodeId; 2]> {
        let of = |id: NodeId| (&self.a.node(id).op, &self.a.node(id).operands[..]);
        let (Op::Select, &[condition, a, b]) = of(id) else { return None };
        let (Op::Binary(Binary::Or), &[more, none]) = of(condition) else { return None };
        let more = of(more) == (&Op::Binary(Binary::Greater), &[a, b][..]);
        let none = of(none) == (&Op::Binary(Binary::NotEqual), &[a, a][..]);
        (more && none).then_some([a, b])
    }
}
