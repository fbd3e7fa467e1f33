//! Moves runs of elements between memory and registers of 32-bit or 64-bit words.
//!
//! Invariant: every run is checked against its buffer before memory is touched.

use farad_ir::DType;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::memory::view_access::{DomainRange, StridedRun, ViewAccess};

/// The address of a buffer during a run.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Its first element.
    pub start: *mut u8,
    /// How many elements may be accessed.
    pub len: usize,
    /// The type of its elements.
    pub dtype: DType,
}

// SAFETY: a binding is an address; kernels divide what they write among threads.
unsafe impl Send for Binding {}
// SAFETY: as above.
unsafe impl Sync for Binding {}

impl Binding {
    /// The words starting at `index`, for dtypes that are stored as words. Panics unless `count` of them are in
    /// the buffer.
    pub fn words(&self, index: i64, count: usize) -> *mut u32 {
        self.register_words(index, count)
    }

    /// As [`Binding::words`], for dtypes that are as long as a register.
    pub fn register_words<W: RegisterWord>(&self, index: i64, count: usize) -> *mut W {
        self.check(StridedRun { at: 0, len: count, index, stride: 1 });
        debug_assert_eq!(self.dtype.size(), size_of::<W>());
        // SAFETY: the run was checked.
        unsafe { self.start.cast::<W>().offset(index as isize) }
    }

    /// Its bytes: where they start and how many there are.
    pub fn bytes(&self) -> (*mut u8, usize) {
        (self.start, self.len * self.dtype.size())
    }

    /// The buffer shifted by a number of elements. Panics if that is beyond its end.
    pub fn moved(self, elements: usize) -> Binding {
        assert!(elements <= self.len, "loop: a slice goes beyond its buffer: ({elements} vs {})", self.len);
        // SAFETY: the element is in the buffer, or at its end.
        let start = unsafe { self.start.add(elements * self.dtype.size()) };
        Binding { start, len: self.len - elements, ..self }
    }

    #[inline(always)]
    fn check(&self, run: StridedRun) {
        let end = run.index + run.stride * (run.len as i64 - 1);
        let (low, high) = (run.index.min(end), run.index.max(end));
        assert!(
            run.len == 0 || (low >= 0 && high < self.len as i64),
            "view: goes beyond its buffer: {low}..={high} ({high} vs {})",
            self.len
        );
    }
}

/// An element type in memory, and the register that holds it.
trait RunElement: Copy + 'static {
    /// What its register holds.
    type Word: RegisterWord;
    fn word(self) -> Self::Word;
    fn of(word: Self::Word) -> Self;

    /// Reads adjacent elements.
    #[inline(always)]
    fn read(from: &[Self], out: &mut [Self::Word]) {
        for (out, x) in out.iter_mut().zip(from) {
            *out = x.word();
        }
    }

    /// Writes adjacent elements.
    #[inline(always)]
    fn write(from: &[Self::Word], out: &mut [Self]) {
        for (out, &word) in out.iter_mut().zip(from) {
            *out = Self::of(word);
        }
    }
}

/// Integers, whose registers are `$word`s with the bits of `$register`s.
macro_rules! whole_element {
    ($($type:ty as $register:ty: $word:ty),*) => {$(
        impl RunElement for $type {
            type Word = $word;
            #[inline(always)]
            #[allow(clippy::unnecessary_cast)] // the same code for every type
            fn word(self) -> $word {
                self as $register as $word
            }
            #[inline(always)]
            #[allow(clippy::unnecessary_cast)]
            fn of(word: $word) -> $type {
                word as $type
            }
        }
    )*};
}
whole_element!(u32 as u32: u32, u8 as u32: u32, u16 as u32: u32, i8 as i32: u32, i16 as i32: u32, u64 as u64: u64);

macro_rules! half_element {
    ($type:ty) => {
        impl RunElement for $type {
            type Word = u32;
            #[inline(always)]
            fn word(self) -> u32 {
                self.to_f32().to_bits()
            }
            #[inline(always)]
            fn of(word: u32) -> $type {
                <$type>::from_f32(f32::from_bits(word))
            }
            fn read(from: &[$type], out: &mut [u32]) {
                from.convert_to_f32_slice(bytemuck::cast_slice_mut(out));
            }
            fn write(from: &[u32], out: &mut [$type]) {
                out.convert_from_f32_slice(bytemuck::cast_slice(from));
            }
        }
    };
}
half_element!(f16);
half_element!(bf16);

/// Calls a function that is generic in the element type, for elements in 32-bit registers.
macro_rules! by_dtype {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype {
            DType::F32 | DType::I32 | DType::U32 | DType::Bool => $function::<u32>($($argument),*),
            DType::F16 => $function::<f16>($($argument),*),
            DType::BF16 => $function::<bf16>($($argument),*),
            DType::U8 => $function::<u8>($($argument),*),
            DType::U16 => $function::<u16>($($argument),*),
            DType::I8 => $function::<i8>($($argument),*),
            DType::I16 => $function::<i16>($($argument),*),
            DType::F64 | DType::I64 | DType::U64 => unreachable!("wide elements are not read as words"),
        }
    };
}

/// What a register holds: 32 bits, or 64 for wide dtypes. Functions that are generic in it read and write elements of a dtype
/// by registers of its length.
pub trait RegisterWord: Copy + Default + 'static {
    /// What [`load`] does.
    ///
    /// # Safety
    /// As for [`load`].
    unsafe fn load(access: &ViewAccess, range: DomainRange, shift: i64, binding: Binding, out: &mut [Self]);

    /// What [`load_shifted`] does.
    ///
    /// # Safety
    /// As for [`load`].
    unsafe fn load_shifted(
        access: &ViewAccess,
        range: DomainRange,
        shifts: impl Fn(usize) -> Option<i64>,
        binding: Binding,
        out: &mut [Self],
    );

    /// What [`store`] does.
    ///
    /// # Safety
    /// As for [`store`].
    unsafe fn store(access: &ViewAccess, range: DomainRange, binding: Binding, values: &[Self]);
}

impl RegisterWord for u32 {
    #[inline(always)]
    unsafe fn load(access: &ViewAccess, range: DomainRange, shift: i64, binding: Binding, out: &mut [u32]) {
        if access.is_run() && binding.dtype.size() == 4 {
            let from = binding.words(access.first(range) + shift, range.count);
            // SAFETY: the words were checked to be in the buffer; scratch never overlaps it.
            return unsafe { from.copy_to_nonoverlapping(out.as_mut_ptr(), range.count) };
        }
        // SAFETY: as promised by the caller.
        unsafe { by_dtype!(binding.dtype, load_periods(access, range, shift, binding, out)) }
    }

    #[inline(always)]
    unsafe fn load_shifted(
        access: &ViewAccess,
        range: DomainRange,
        shifts: impl Fn(usize) -> Option<i64>,
        binding: Binding,
        out: &mut [u32],
    ) {
        // SAFETY: as promised by the caller.
        unsafe { by_dtype!(binding.dtype, load_shifted_as(access, range, &shifts, binding, out)) }
    }

    #[inline(always)]
    unsafe fn store(access: &ViewAccess, range: DomainRange, binding: Binding, values: &[u32]) {
        // SAFETY: as promised by the caller.
        unsafe { by_dtype!(binding.dtype, store_as(access, range, binding, values)) }
    }
}

impl RegisterWord for u64 {
    #[inline(always)]
    unsafe fn load(access: &ViewAccess, range: DomainRange, shift: i64, binding: Binding, out: &mut [u64]) {
        debug_assert!(binding.dtype.is_wide());
        // SAFETY: as promised by the caller.
        unsafe { load_periods::<u64>(access, range, shift, binding, out) }
    }

    #[inline(always)]
    unsafe fn load_shifted(
        access: &ViewAccess,
        range: DomainRange,
        shifts: impl Fn(usize) -> Option<i64>,
        binding: Binding,
        out: &mut [u64],
    ) {
        debug_assert!(binding.dtype.is_wide());
        // SAFETY: as promised by the caller.
        unsafe { load_shifted_as::<u64>(access, range, &shifts, binding, out) }
    }

    #[inline(always)]
    unsafe fn store(access: &ViewAccess, range: DomainRange, binding: Binding, values: &[u64]) {
        debug_assert!(binding.dtype.is_wide());
        // SAFETY: as promised by the caller.
        unsafe { store_as::<u64>(access, range, binding, values) }
    }
}

/// Reads a range into `out`, zero where elements do not exist. `shift` is added to every index.
///
/// # Safety
/// The binding's memory must be readable, and nothing may write what is read.
pub unsafe fn load<W: RegisterWord>(
    access: &ViewAccess,
    range: DomainRange,
    shift: i64,
    binding: Binding,
    out: &mut [W],
) {
    debug_assert_eq!(out.len(), range.count);
    // SAFETY: as promised by the caller.
    unsafe { W::load(access, range, shift, binding, out) }
}

/// Reads repeated content once and copies it.
unsafe fn load_periods<T: RunElement>(
    access: &ViewAccess,
    range: DomainRange,
    shift: i64,
    binding: Binding,
    out: &mut [T::Word],
) {
    match access.period() {
        Some(period) if period < range.count => {
            let (once, _) = out.split_at_mut(period);
            // SAFETY: as promised by the caller.
            unsafe { load_as::<T>(access, DomainRange { count: period, ..range }, shift, binding, once) };
            let mut done = period;
            while done < out.len() {
                // `done` is a multiple of the period, so copying from the start continues the pattern.
                let len = done.min(out.len() - done);
                out.copy_within(..len, done);
                done += len;
            }
        }
        // SAFETY: as promised by the caller.
        _ => unsafe { load_as::<T>(access, range, shift, binding, out) },
    }
}

unsafe fn load_as<T: RunElement>(
    access: &ViewAccess,
    range: DomainRange,
    shift: i64,
    binding: Binding,
    out: &mut [T::Word],
) {
    let out = std::cell::Cell::from_mut(out).as_slice_of_cells();
    let start = binding.start.cast::<T>();
    access.existing(
        range,
        |run| {
            let run = StridedRun { index: run.index + shift, ..run };
            binding.check(run);
            // SAFETY: cells have the layout of what they hold, and this is the only reference in use.
            let out = unsafe { &mut *(&raw const out[run.at..run.at + run.len] as *mut [T::Word]) };
            // SAFETY: the run was checked.
            unsafe { read_run(start.offset(run.index as isize), run.stride as isize, out) };
        },
        |at, len| out[at..at + len].iter().for_each(|word| word.set(T::Word::default())),
    );
}

#[inline(always)]
unsafe fn read_run<T: RunElement>(start: *const T, stride: isize, out: &mut [T::Word]) {
    match stride {
        // SAFETY: the caller checked the run.
        1 => T::read(unsafe { std::slice::from_raw_parts(start, out.len()) }, out),
        // SAFETY: as above.
        0 => out.fill(unsafe { start.read() }.word()),
        // As pairs, which compilers vectorize well.
        2 if out.len() > 1 => {
            // SAFETY: as above; the last pair has no second element in the run.
            let pairs = unsafe { std::slice::from_raw_parts(start, 2 * out.len() - 1) };
            for (out, pair) in out.iter_mut().zip(pairs.chunks_exact(2)) {
                *out = pair[0].word();
            }
            out[out.len() - 1] = pairs[pairs.len() - 1].word();
        }
        _ => {
            for (i, out) in out.iter_mut().enumerate() {
                // SAFETY: as above.
                *out = unsafe { start.offset(stride * i as isize).read() }.word();
            }
        }
    }
}

/// Reads a range, adding to each element's index its own shift; zero where no element exists.
///
/// # Safety
/// As for [`load`].
pub unsafe fn load_shifted<W: RegisterWord>(
    access: &ViewAccess,
    range: DomainRange,
    shifts: impl Fn(usize) -> Option<i64>,
    binding: Binding,
    out: &mut [W],
) {
    // SAFETY: as promised by the caller.
    unsafe { W::load_shifted(access, range, shifts, binding, out) }
}

unsafe fn load_shifted_as<T: RunElement>(
    access: &ViewAccess,
    range: DomainRange,
    shifts: &impl Fn(usize) -> Option<i64>,
    binding: Binding,
    out: &mut [T::Word],
) {
    out.fill(T::Word::default());
    let start = binding.start.cast::<T>();
    access.existing(
        range,
        |run| {
            for i in 0..run.len {
                let Some(shift) = shifts(run.at + i) else { continue };
                let index = run.index + run.stride * i as i64 + shift;
                binding.check(StridedRun { index, len: 1, ..run });
                // SAFETY: the element was checked.
                out[run.at + i] = unsafe { start.offset(index as isize).read() }.word();
            }
        },
        |_, _| {},
    );
}

/// Writes the words of a tile to a range.
///
/// # Safety
/// The binding's memory must be writable and this range written by this thread alone.
pub unsafe fn store<W: RegisterWord>(
    access: &ViewAccess,
    range: DomainRange,
    binding: Binding,
    values: &[W],
) {
    debug_assert_eq!(values.len(), range.count);
    // SAFETY: as promised by the caller.
    unsafe { W::store(access, range, binding, values) }
}

unsafe fn store_as<T: RunElement>(
    access: &ViewAccess,
    range: DomainRange,
    binding: Binding,
    values: &[T::Word],
) {
    let start = binding.start.cast::<T>();
    access.runs(range, |run| {
        binding.check(run);
        let values = &values[run.at..run.at + run.len];
        // SAFETY: the run was checked; values lie in scratch, or in other memory (a program never overlaps them).
        unsafe {
            let start = start.offset(run.index as isize);
            if run.stride == 1 {
                if start.cast::<T::Word>().cast_const() != values.as_ptr() {
                    T::write(values, std::slice::from_raw_parts_mut(start, run.len));
                }
            } else {
                for (i, &word) in values.iter().enumerate() {
                    start.offset(run.stride as isize * i as isize).write(T::of(word));
                }
            }
        }
    });
}

#[cfg(test)]
mod tests;
