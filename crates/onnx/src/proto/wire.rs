//! The encoding of protocol buffers: variable-length numbers, fields with a number and a wire type, nested
//! messages.
//!
//! Invariant: a read never goes beyond the given bytes, never nests deeper than [`DEEPEST`], and never
//! allocates more memory than the available bytes justify.

/// How deep messages may nest. ONNX itself needs about six levels per subgraph.
pub const DEEPEST: usize = 100;

/// Why bytes are not a valid message: the position, counted from the start of the file, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    /// The byte at which reading stopped.
    pub place: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// A message that can be read and written.
pub trait Message: Default {
    /// Reads one field; returns `false` if the message has no field with this number.
    fn field(&mut self, number: u64, value: WireValue<'_>, depth: usize) -> Result<bool, WireError>;
    /// Appends all fields.
    fn write(&self, out: &mut Vec<u8>);

    /// Decodes a message.
    fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        Self::read(Bytes { bytes, at: 0 }, 0)
    }

    /// Encodes the message.
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// Decodes the message in a part of a file, nested in `depth` others.
    fn read(mut bytes: Bytes<'_>, depth: usize) -> Result<Self, WireError> {
        if depth > DEEPEST {
            return bytes.fail("messages nest too deep");
        }
        let mut message = Self::default();
        while !bytes.bytes.is_empty() {
            let (number, value) = bytes.field()?;
            message.field(number, value, depth)?;
        }
        Ok(message)
    }
}

impl<M: Message> Message for Box<M> {
    fn field(&mut self, number: u64, value: WireValue<'_>, depth: usize) -> Result<bool, WireError> {
        M::field(self, number, value, depth)
    }
    fn write(&self, out: &mut Vec<u8>) {
        M::write(self, out);
    }
}

/// The bytes of a file that are not read yet.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    bytes: &'a [u8],
    /// Their offset in the file.
    at: usize,
}

/// One field's value as encoded in the file.
#[derive(Clone, Copy)]
pub enum WireValue<'a> {
    /// A variable-length number.
    Number(u64, usize),
    /// Eight bytes.
    Double(u64, usize),
    /// Four bytes.
    Single(u32, usize),
    /// A string, bytes, a message or packed numbers.
    Bytes(Bytes<'a>),
}

impl<'a> Bytes<'a> {
    fn fail<T>(&self, what: &'static str) -> Result<T, WireError> {
        Err(WireError { place: self.at, what })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        if count > self.bytes.len() {
            return self.fail("the file ends inside a field");
        }
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        self.at += count;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, WireError> {
        let mut value = 0u64;
        for place in 0..10 {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << (7 * place).min(63);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        self.fail("a number is longer than ten bytes")
    }

    fn single(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn double(&mut self) -> Result<u64, WireError> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }

    fn field(&mut self) -> Result<(u64, WireValue<'a>), WireError> {
        let at = self.at;
        let key = self.number()?;
        let value = match key & 7 {
            0 => WireValue::Number(self.number()?, at),
            1 => WireValue::Double(self.double()?, at),
            2 => {
                let length = self.number()?;
                let at = self.at;
                match usize::try_from(length) {
                    Ok(length) => WireValue::Bytes(Bytes { bytes: self.take(length)?, at }),
                    Err(_) => return self.fail("a field is longer than memory"),
                }
            }
            5 => WireValue::Single(self.single()?, at),
            _ => return self.fail("a field has an unknown wire type"),
        };
        Ok((key >> 3, value))
    }
}

impl<'a> WireValue<'a> {
    fn mismatch<T>(self) -> Result<T, WireError> {
        let place = match self {
            WireValue::Number(_, at) | WireValue::Double(_, at) | WireValue::Single(_, at) => at,
            WireValue::Bytes(bytes) => bytes.at,
        };
        Err(WireError { place, what: "a field has the wrong wire type for its number" })
    }

    fn bytes(self) -> Result<Bytes<'a>, WireError> {
        match self {
            WireValue::Bytes(bytes) => Ok(bytes),
            other => other.mismatch(),
        }
    }
}

/// A Rust type that can be a message's field.
pub trait Field {
    /// Stores a decoded value: replaces the old one, or appends to a list.
    fn take(&mut self, value: WireValue<'_>, depth: usize) -> Result<(), WireError>;
    /// Appends the encoded field, unless it has its default value.
    fn put(&self, number: u64, out: &mut Vec<u8>);
}

fn put_number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_bytes(number: u64, bytes: &[u8], out: &mut Vec<u8>) {
    put_number(number << 3 | 2, out);
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A type with one value per field.
trait Single: Sized {
    fn of(value: WireValue<'_>) -> Result<Self, WireError>;
    fn put_always(&self, number: u64, out: &mut Vec<u8>);
}

/// A number; lists of it are packed into one field.
trait Number: Single {
    fn next(bytes: &mut Bytes<'_>) -> Result<Self, WireError>;
    fn put_bare(&self, out: &mut Vec<u8>);
}

macro_rules! number {
    ($type:ty, $variant:ident, $kind:literal, $read:ident, $from:expr, $put:expr) => {
        impl Single for $type {
            fn of(value: WireValue<'_>) -> Result<$type, WireError> {
                match value {
                    WireValue::$variant(bits, _) => Ok($from(bits)),
                    other => other.mismatch(),
                }
            }
            fn put_always(&self, number: u64, out: &mut Vec<u8>) {
                put_number(number << 3 | $kind, out);
                self.put_bare(out);
            }
        }
        impl Number for $type {
            fn next(bytes: &mut Bytes<'_>) -> Result<$type, WireError> {
                Ok($from(bytes.$read()?))
            }
            fn put_bare(&self, out: &mut Vec<u8>) {
                $put(*self, out)
            }
        }
        impl Field for Vec<$type> {
            fn take(&mut self, value: WireValue<'_>, _: usize) -> Result<(), WireError> {
                match value {
                    // Packed numbers.
                    WireValue::Bytes(mut bytes) => {
                        while !bytes.bytes.is_empty() {
                            self.push(<$type>::next(&mut bytes)?);
                        }
                    }
                    one => self.push(<$type>::of(one)?),
                }
                Ok(())
            }
            fn put(&self, number: u64, out: &mut Vec<u8>) {
                if !self.is_empty() {
                    let mut bare = Vec::new();
                    self.iter().for_each(|value| value.put_bare(&mut bare));
                    put_bytes(number, &bare, out);
                }
            }
        }
    };
}

number!(i64, Number, 0, number, |bits: u64| bits as i64, |value: i64, out: &mut Vec<u8>| put_number(
    value as u64,
    out
));
number!(u64, Number, 0, number, |bits: u64| bits, put_number);
number!(f32, Single, 5, single, f32::from_bits, |value: f32, out: &mut Vec<u8>| out
    .extend_from_slice(&value.to_le_bytes()));
number!(f64, Double, 1, double, f64::from_bits, |value: f64, out: &mut Vec<u8>| out
    .extend_from_slice(&value.to_le_bytes()));

impl Single for String {
    fn of(value: WireValue<'_>) -> Result<String, WireError> {
        let bytes = value.bytes()?;
        match std::str::from_utf8(bytes.bytes) {
            Ok(text) => Ok(text.to_string()),
            Err(_) => bytes.fail("a string is not UTF-8"),
        }
    }
    fn put_always(&self, number: u64, out: &mut Vec<u8>) {
        put_bytes(number, self.as_bytes(), out);
    }
}

impl Single for Vec<u8> {
    fn of(value: WireValue<'_>) -> Result<Vec<u8>, WireError> {
        Ok(value.bytes()?.bytes.to_vec())
    }
    fn put_always(&self, number: u64, out: &mut Vec<u8>) {
        put_bytes(number, self, out);
    }
}

macro_rules! single {
    ($($type:ty)*) => {$(
        impl Field for $type {
            fn take(&mut self, value: WireValue<'_>, _: usize) -> Result<(), WireError> {
                *self = <$type>::of(value)?;
                Ok(())
            }
            fn put(&self, number: u64, out: &mut Vec<u8>) {
                if *self != <$type>::default() {
                    self.put_always(number, out);
                }
            }
        }
        impl Field for Option<$type> {
            fn take(&mut self, value: WireValue<'_>, _: usize) -> Result<(), WireError> {
                *self = Some(<$type>::of(value)?);
                Ok(())
            }
            fn put(&self, number: u64, out: &mut Vec<u8>) {
                if let Some(value) = self {
                    value.put_always(number, out);
                }
            }
        }
    )*};
}
single!(i64 f32 String Vec<u8>);

macro_rules! many {
    ($($type:ty)*) => {$(
        impl Field for Vec<$type> {
            fn take(&mut self, value: WireValue<'_>, _: usize) -> Result<(), WireError> {
                self.push(<$type>::of(value)?);
                Ok(())
            }
            fn put(&self, number: u64, out: &mut Vec<u8>) {
                self.iter().for_each(|value| value.put_always(number, out));
            }
        }
    )*};
}
many!(String Vec<u8>);

impl<M: Message> Field for Option<M> {
    fn take(&mut self, value: WireValue<'_>, depth: usize) -> Result<(), WireError> {
        *self = Some(M::read(value.bytes()?, depth + 1)?);
        Ok(())
    }
    fn put(&self, number: u64, out: &mut Vec<u8>) {
        if let Some(message) = self {
            put_bytes(number, &message.encode(), out);
        }
    }
}

impl<M: Message> Field for Vec<M> {
    fn take(&mut self, value: WireValue<'_>, depth: usize) -> Result<(), WireError> {
        self.push(M::read(value.bytes()?, depth + 1)?);
        Ok(())
    }
    fn put(&self, number: u64, out: &mut Vec<u8>) {
        self.iter().for_each(|message| put_bytes(number, &message.encode(), out));
    }
}

/// Declares messages: a struct with one documented field per line, preceded by its number in the file.
macro_rules! messages {
    ($($(#[$about:meta])* pub struct $name:ident {
        $($(#[$note:meta])* $number:literal $field:ident: $type:ty,)*
    })*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name {
            $($(#[$note])* pub $field: $type,)*
        }

        impl $crate::proto::wire::Message for $name {
            fn field(
                &mut self,
                number: u64,
                value: $crate::proto::wire::WireValue<'_>,
                depth: usize,
            ) -> Result<bool, $crate::proto::WireError> {
                match number {
                    $($number => $crate::proto::wire::Field::take(&mut self.$field, value, depth)?,)*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            fn write(&self, out: &mut Vec<u8>) {
                $($crate::proto::wire::Field::put(&self.$field, $number, out);)*
            }
        }
    )*};
}
pub(super) use messages;
