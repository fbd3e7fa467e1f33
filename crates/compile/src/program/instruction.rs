//! Queries on an instruction: its registers, its view and its buffer.
//!
//! The matches here are the only ones that list all kinds of [`Code`] for this purpose, so a new kind is added
//! in one place.

use crate::program::{BufferId, Code, Reg, View};

impl Code {
    /// The registers that it reads.
    pub fn operands(&self) -> Vec<Reg> {
        match self {
            Code::Unary(_, x) | Code::Cast(x, _) | Code::Reduce(_, x) => vec![*x],
            Code::Binary(_, a, b) => vec![*a, *b],
            Code::Select(c, a, b) => vec![*c, *a, *b],
            Code::Random(key, stream, _) => key.iter().chain(stream).copied().collect(),
            Code::Take { position, .. } => vec![*position],
            Code::Constant(_)
            | Code::Parameter(_)
            | Code::Load(..)
            | Code::Position(_)
            | Code::Accumulator
            | Code::Carry(_) => vec![],
        }
    }

    /// The same instruction on other registers.
    pub fn renumbered(&self, at: impl Fn(Reg) -> Reg) -> Code {
        let mut code = self.clone();
        match &mut code {
            Code::Unary(_, x) | Code::Cast(x, _) | Code::Reduce(_, x) => *x = at(*x),
            Code::Binary(_, a, b) => (*a, *b) = (at(*a), at(*b)),
            Code::Select(c, a, b) => (*c, *a, *b) = (at(*c), at(*a), at(*b)),
            Code::Random(key, stream, _) => (*key, *stream) = (key.map(&at), stream.map(&at)),
            Code::Take { position, .. } => *position = at(*position),
            Code::Constant(_)
            | Code::Parameter(_)
            | Code::Load(..)
            | Code::Position(_)
            | Code::Accumulator
            | Code::Carry(_) => {}
        }
        code
    }

    /// The view that it reads through, if any.
    pub fn view(&self) -> Option<&View> {
        match self {
            Code::Load(_, view) | Code::Take { view, .. } | Code::Position(view) | Code::Random(.., view) => {
                Some(view)
            }
            _ => None,
        }
    }

    /// As [`Code::view`], to change it.
    pub fn view_mut(&mut self) -> Option<&mut View> {
        match self {
            Code::Load(_, view) | Code::Take { view, .. } | Code::Position(view) | Code::Random(.., view) => {
                Some(view)
            }
            _ => None,
        }
    }

    /// The buffer that it reads, if any.
    pub fn buffer(&self) -> Option<BufferId> {
        match self {
            Code::Load(buffer, _) | Code::Take { buffer, .. } => Some(*buffer),
            _ => None,
        }
    }

    /// As [`Code::buffer`], to change it.
    pub fn buffer_mut(&mut self) -> Option<&mut BufferId> {
        match self {
            Code::Load(buffer, _) | Code::Take { buffer, .. } => Some(buffer),
            _ => None,
        }
    }
}
