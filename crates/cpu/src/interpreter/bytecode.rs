//! The bytecode of tapes. A register is a run of 32-bit words in scratch or memory, or of 64-bit words if the
//! dtype is wide.

use farad_ir::{Binary, DType, Reduce, Unary};

/// How a register's words are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordType {
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

impl WordType {
    /// The kind of registers that hold `dtype`.
    pub fn of(dtype: DType) -> WordType {
        match dtype.register() {
            DType::F32 => WordType::Float,
            DType::I32 => WordType::Int,
            DType::U32 => WordType::Word,
            DType::F64 => WordType::Double,
            DType::I64 => WordType::Long,
            DType::U64 => WordType::LongWord,
            _ => WordType::Bool,
        }
    }

    /// The dtype whose registers these are.
    pub fn dtype(self) -> DType {
        match self {
            WordType::Float => DType::F32,
            WordType::Int => DType::I32,
            WordType::Word => DType::U32,
            WordType::Bool => DType::Bool,
            WordType::Double => DType::F64,
            WordType::Long => DType::I64,
            WordType::LongWord => DType::U64,
        }
    }

    /// Whether its registers have 64 bits.
    pub fn is_wide(self) -> bool {
        matches!(self, WordType::Double | WordType::Long | WordType::LongWord)
    }
}

/// A register, by its number.
pub type RegisterId = usize;

/// What an instruction reads: a run of words, or one word for the whole tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceWords {
    /// The register.
    pub register: RegisterId,
    /// Whether its first word is used for every element.
    pub scalar: bool,
}

impl SourceWords {
    /// What an instruction does not read.
    pub const NONE: SourceWords = SourceWords { register: 0, scalar: true };
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
    /// Any other pair, with the rules of Rust's `as`; a cast to `bool` tests for a nonzero value.
    To(WordType, DType),
}

impl Conversion {
    /// Whether its result is a 64-bit register.
    pub fn is_wide(self) -> bool {
        matches!(self, Conversion::To(_, to) if to.is_wide())
    }
}

/// What an instruction does. Numbers are indices into the kernel's lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Opcode {
    /// Writes a constant word, or the two words of a wide register.
    Constant(u64),
    /// Writes the n-th word of the parameters, or that and the next.
    Parameter(usize),
    /// Repeats one word over the tile.
    Fill,
    /// Repeats every word of an outer register along its row.
    SpreadRows,
    /// Repeats an outer register for every row of a tile whose innermost positions are outer ones.
    SpreadColumns,
    /// Points the register at memory instead of copying.
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
    Unary(Unary, WordType),
    Binary(Binary, WordType),
    Select,
    /// `±a·b ± c`; a set flag means a minus sign.
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
    /// Does nothing; keeps the registers that it names alive up to here.
    Keep,
}

/// One instruction. Unused operands name register 0.
#[derive(Clone, Copy, Debug)]
pub struct BytecodeOp {
    pub code: Opcode,
    pub out: RegisterId,
    pub a: SourceWords,
    pub b: SourceWords,
    pub c: SourceWords,
    /// Whether it reads or writes 64-bit registers; set once everything is emitted.
    pub wide: bool,
}

impl BytecodeOp {
    /// An instruction that reads nothing.
    pub fn new(code: Opcode, out: RegisterId) -> BytecodeOp {
        let none = SourceWords::NONE;
        BytecodeOp { code, out, a: none, b: none, c: none, wide: false }
    }

    /// How many of `a`, `b` and `c` are read.
    pub fn reads(&self) -> usize {
        match self.code {
            Opcode::Constant(_)
            | Opcode::Parameter(_)
            | Opcode::Alias(_)
            | Opcode::Load(_)
            | Opcode::Position(_) => 0,
            Opcode::Random(_) => 0,
            Opcode::Select | Opcode::MulAdd { .. } | Opcode::Keep => 3,
            Opcode::Binary(..) | Opcode::ExpDifference => 2,
            _ => 1,
        }
    }

    /// The registers that are read.
    pub fn sources(&self) -> impl Iterator<Item = RegisterId> {
        [self.a, self.b, self.c].into_iter().take(self.reads()).map(|source| source.register)
    }

    /// Whether the instruction writes words to `out` (and not a pointer, an accumulator or memory).
    pub fn writes(&self) -> bool {
        !matches!(self.code, Opcode::Alias(_) | Opcode::Store(_) | Opcode::Reduce(_) | Opcode::Keep)
    }

    /// Rough cost per element, in simple instructions.
    pub fn cost(&self) -> usize {
        match self.code {
            Opcode::Alias(_) | Opcode::Constant(_) | Opcode::Parameter(_) | Opcode::Keep => 0,
            Opcode::Unary(u, _) if u.is_costly() => 8,
            Opcode::ExpDifference => 9,
            Opcode::Binary(Binary::Pow, _) => 40,
            Opcode::Binary(Binary::Div | Binary::Rem, _) => 6,
            Opcode::Load(_) | Opcode::Store(_) => 3,
            Opcode::Take(_) | Opcode::Random(_) => 20,
            _ => 1,
        }
    }
}

/// A reduction's running state: its words, and the register of its result.
#[derive(Clone, Copy, Debug)]
pub struct ReductionAccumulator {
    pub reduce: Reduce,
    pub kind: WordType,
    /// The outer register that receives the result.
    pub out: RegisterId,
}
