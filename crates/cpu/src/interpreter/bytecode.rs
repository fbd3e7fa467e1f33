//! The bytecode that tapes become: instructions over registers that are runs of 32-bit words in scratch or memory, or of
//! 64-bit ones where the dtype is wide.

use farad_ir::{Binary, DType, Reduce, Unary};

/// How a register's words are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `f32`
    Float,
    /// `i32`
    Int,
    /// `u32`
    Word,
    /// 0 or 1
    Bool,
    /// `f64`
    Double,
    /// `i64`
    Long,
    /// `u64`
    LongWord,
}

impl Kind {
    /// The kind of registers that hold `dtype`.
    pub fn of(dtype: DType) -> Kind {
        match dtype.register() {
            DType::F32 => Kind::Float,
            DType::I32 => Kind::Int,
            DType::U32 => Kind::Word,
            DType::F64 => Kind::Double,
            DType::I64 => Kind::Long,
            DType::U64 => Kind::LongWord,
            _ => Kind::Bool,
        }
    }

    /// The dtype whose registers these are.
    pub fn dtype(self) -> DType {
        match self {
            Kind::Float => DType::F32,
            Kind::Int => DType::I32,
            Kind::Word => DType::U32,
            Kind::Bool => DType::Bool,
            Kind::Double => DType::F64,
            Kind::Long => DType::I64,
            Kind::LongWord => DType::U64,
        }
    }

    /// Whether its registers have 64 bits.
    pub fn is_wide(self) -> bool {
        matches!(self, Kind::Double | Kind::Long | Kind::LongWord)
    }
}

/// A register, by its number.
pub type Register = usize;

/// What an instruction reads: a run of words, or one word for the whole tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The register.
    pub register: Register,
    /// Whether its first word stands for every element.
    pub scalar: bool,
}

/// A change of register type or precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    FloatToInt,
    FloatToWord,
    FloatToByte,
    FloatToBool,
    WordToBool,
    WordToByte,
    IntToFloat,
    WordToFloat,
    RoundHalf,
    RoundBrain,
    /// Any other pair, as Rust's `as` has it; truth values ask whether the number is not zero.
    To(Kind, DType),
}

impl Conversion {
    /// Whether it gives a register of 64 bits.
    pub fn is_wide(self) -> bool {
        matches!(self, Conversion::To(_, to) if to.is_wide())
    }
}

/// What an instruction does. Numbers are indices into the kernel's lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Code {
    /// Writes a fixed word, or the two of a wide register.
    Constant(u64),
    /// Writes the n-th word of the run, or that and the next.
    Parameter(usize),
    /// Repeats one word over the tile.
    Fill,
    /// Repeats every word of an outer register along its row.
    SpreadRows,
    /// Repeats an outer register for every row of a tile with outer positions innermost.
    SpreadColumns,
    /// Points the register at memory.
    Alias(usize),
    /// Reads memory.
    Load(usize),
    /// Writes memory.
    Store(usize),
    /// Reads memory at positions from a register.
    Take(usize),
    /// Writes the view's index.
    Position(usize),
    /// Writes random bits.
    Random(usize),
    Unary(Unary, Kind),
    Binary(Binary, Kind),
    Select,
    /// `±a·b ± c`, the signs being negative where set.
    MulAdd {
        minus_product: bool,
        minus_addend: bool,
    },
    /// `e^(a - b)`
    ExpDifference,
    Convert(Conversion),
    /// Adds the tile to an accumulator.
    Reduce(usize),
    /// Copies words.
    Copy,
    /// Does nothing; registers that it names live until here.
    Keep,
}

/// One instruction. What it does not read names register 0.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    pub code: Code,
    pub out: Register,
    pub a: Source,
    pub b: Source,
    pub c: Source,
    /// Whether it reads or writes registers of 64 bits; known when all is emitted.
    pub wide: bool,
}

impl Op {
    /// An instruction that reads nothing.
    pub fn new(code: Code, out: Register) -> Op {
        let none = Source { register: 0, scalar: true };
        Op { code, out, a: none, b: none, c: none, wide: false }
    }

    /// How many of `a`, `b` and `c` are read.
    pub fn reads(&self) -> usize {
        match self.code {
            Code::Constant(_) | Code::Parameter(_) | Code::Alias(_) | Code::Load(_) | Code::Position(_) => 0,
            Code::Random(_) => 0,
            Code::Select | Code::MulAdd { .. } | Code::Keep => 3,
            Code::Binary(..) | Code::ExpDifference => 2,
            _ => 1,
        }
    }

    /// The registers that are read.
    pub fn sources(&self) -> impl Iterator<Item = Register> {
        [self.a, self.b, self.c].into_iter().take(self.reads()).map(|source| source.register)
    }

    /// Whether the instruction writes its own words to `out` (and not a pointer, an accumulator or memory).
    pub fn writes(&self) -> bool {
        !matches!(self.code, Code::Alias(_) | Code::Store(_) | Code::Reduce(_) | Code::Keep)
    }

    /// Rough cost an element, in simple instructions.
    pub fn cost(&self) -> usize {
        match self.code {
            Code::Alias(_) | Code::Constant(_) | Code::Parameter(_) | Code::Keep => 0,
            Code::Unary(u, _) if u.is_costly() => 8,
            Code::ExpDifference => 9,
            Code::Binary(Binary::Pow, _) => 40,
            Code::Binary(Binary::Div | Binary::Rem, _) => 6,
            Code::Load(_) | Code::Store(_) => 3,
            Code::Take(_) | Code::Random(_) => 20,
            _ => 1,
        }
    }
}

/// A reduction's running state: where its words are, and the register it gives.
#[derive(Clone, Copy, Debug)]
pub struct Accumulator {
    pub reduce: Reduce,
    pub kind: Kind,
    /// The outer register that takes the result.
    pub out: Register,
}
