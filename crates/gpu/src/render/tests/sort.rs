//! Argsort of rows: short and long ones, every dtype, equal elements, tiles and slices.

use farad_compile::program::{Keys, Sort};

use super::*;

/// A sort of rows of `data`, with its scratch memory.
fn sort(dtype: DType, rows: usize, len: usize, keys: Keys, data: Vec<f64>) -> (Case, Kernel) {
    top(dtype, [rows, len, len], keys, data)
}

/// The first `taken` entries of the order of rows of `data`, with scratch memory.
fn top(dtype: DType, [rows, len, taken]: [usize; 3], keys: Keys, data: Vec<f64>) -> (Case, Kernel) {
    let mut case = Case::default();
    let operand = case.buffer(dtype, data);
    let order = case.output(DType::I32, case.memory[0].len() / len * taken);
    let mut sort = Sort { rows, len, taken, operand, order, keys, scratch: vec![] };
    for words in sort.scratch_words() {
        let buffer = case.output(DType::U32, words);
        sort.scratch.push(buffer);
    }
    (case, Kernel::Sort(sort))
}

/// Data with many equal elements; floats include both zeros, infinities and NaN.
fn data(dtype: DType, len: usize) -> Vec<f64> {
    let mut numbers = Numbers(len as u64);
    let special = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, -1.5];
    let draw = |_| match dtype {
        DType::F32 | DType::F16 if numbers.next().is_multiple_of(4) => special[numbers.next() as usize % 6],
        DType::F32 | DType::F16 => (numbers.next() % 400) as f64 / 8.0 - 25.0,
        DType::I32 => (numbers.next() % 90_000) as f64 - 45_000.0,
        DType::U32 => (numbers.next() % 90_000) as f64,
        _ => (numbers.next() % 2) as f64,
    };
    (0..len).map(draw).collect()
}

#[test]
fn short_rows_are_put_in_stable_order() {
    for (rows, len) in [(1, 1), (7, 13), (1100, 3), (600, 40), (3, 1000), (2, 2048)] {
        for dtype in [DType::F32, DType::F16, DType::I32, DType::U32, DType::Bool] {
            for keys in [Keys::Ascending, Keys::Descending] {
                let (case, kernel) = sort(dtype, rows, len, keys, data(dtype, rows * len));
                case.check(&kernel, 0.0);
            }
        }
    }
}

#[test]
fn long_rows_are_put_in_stable_order() {
    // One tile, several, and so many that their counts are summed in a separate launch.
    for (rows, len) in [(1, 2049), (5, 3001), (1, 70_001)] {
        for dtype in [DType::F32, DType::F16, DType::I32, DType::U32, DType::Bool] {
            for keys in [Keys::Ascending, Keys::Descending] {
                let (case, kernel) = sort(dtype, rows, len, keys, data(dtype, rows * len));
                case.check(&kernel, 0.0);
            }
        }
    }
}

#[test]
fn the_first_of_an_order_are_those_of_a_sort() {
    // Short rows; selections from one tile and from many; of one element, of as many as one workgroup sorts,
    // and of more.
    let sizes = [
        [7, 13, 1],
        [2, 2048, 1000],
        [1, 2049, 1],
        [5, 3001, 64],
        [2, 70_001, 2048],
        [2, 9001, 3000],
        [1, 3000, 2999],
    ];
    for size in sizes {
        for dtype in [DType::F32, DType::F16, DType::I32, DType::U32, DType::Bool] {
            for keys in [Keys::Ascending, Keys::Descending] {
                let (case, kernel) = top(dtype, size, keys, data(dtype, size[0] * size[1]));
                case.check(&kernel, 0.0);
            }
        }
    }
    // All keys are equal.
    let (case, kernel) = top(DType::F32, [3, 5000, 300], Keys::Descending, vec![-0.0; 15_000]);
    case.check(&kernel, 0.0);
}

#[test]
fn a_selection_sorts_nothing_but_what_it_selects() {
    let rendered = |taken| {
        let (case, kernel) = top(DType::F32, [2, 9000, taken], Keys::Descending, vec![0.0; 18_000]);
        let launches = render(&kernel, &case.program, &[], &Capabilities::core(), &Tuning::default());
        launches.into_iter().map(|launch| (launch.entry, launch.workgroups[0])).collect::<Vec<_>>()
    };
    let count = ("count_within", 18);
    let select = [("clear", 8), count, count, count, count, ("tally", 18), ("gather", 18)];
    assert_eq!(rendered(64), [&select[..], &[("selected_rows", 2)]].concat());
    // Five tiles of selected keys, four digits.
    assert_eq!(rendered(2500), [&select[..], &[("count", 6), ("move_tile", 6)].repeat(4)].concat());
}

#[test]
fn positions_are_sorted_by_the_bits_that_they_have() {
    for (size, passes) in [(50, 1), (300, 2), (70_000, 3)] {
        let (rows, len) = (2, 3000);
        let mut numbers = Numbers(size as u64);
        let places = (0..rows * len).map(|_| (numbers.next() % (size as u64 + 9)) as f64 - 4.0).collect();
        let (case, kernel) = sort(DType::I32, rows, len, Keys::Below(size), places);
        let launches = render(&kernel, &case.program, &[], &Capabilities::core(), &Tuning::default());
        assert_eq!(launches.iter().filter(|launch| launch.entry == "move_tile").count(), passes);
        case.check(&kernel, 0.0);
    }
}

#[test]
fn permutations_are_inverted_in_one_launch() {
    for (rows, len) in [(1, 1), (3, 10), (2, 5000)] {
        // Seventeen is coprime to all of these lengths.
        let inverse = (0..rows).flat_map(|row| (0..len).map(move |i| ((i * 17 + row) % len) as f64));
        let (case, kernel) = sort(DType::I32, rows, len, Keys::Permutation, inverse.collect());
        assert_eq!(render(&kernel, &case.program, &[], &Capabilities::core(), &Tuning::default()).len(), 1);
        case.check(&kernel, 0.0);
    }
}

#[test]
fn slices_of_a_loop_are_sorted_where_they_lie() {
    for (dtype, len) in [(DType::F16, 301), (DType::F16, 2501), (DType::F32, 2501), (DType::I32, 7)] {
        // The third of four slices, each with an odd number of f16 elements.
        let (mut case, kernel) = sort(dtype, 1, len, Keys::Ascending, data(dtype, 4 * len));
        case.slots = vec![(BufferId(0), len, 2), (BufferId(1), len, 2)];
        case.check(&kernel, 0.0);
    }
    for taken in [5, 2100] {
        let (mut case, kernel) =
            top(DType::F16, [1, 2501, taken], Keys::Ascending, data(DType::F16, 4 * 2501));
        case.slots = vec![(BufferId(0), 2501, 2), (BufferId(1), taken, 2)];
        case.check(&kernel, 0.0);
    }
}

#[test]
fn a_sort_says_what_it_moves() {
    let (case, kernel) = sort(DType::F32, 1, 1 << 16, Keys::Ascending, vec![0.0; 1 << 16]);
    let launches = render(&kernel, &case.program, &[], &Capabilities::core(), &Tuning::default());
    assert!(launches.iter().all(|launch| launch.costs.bytes > 0));
    assert!(launches.iter().map(|launch| launch.costs.bytes).sum::<u64>() >= (4 * 5 * 4) << 16);
}

#[test]
fn more_workgroups_than_a_dimension_has_are_folded() {
    let permutation = (0..3000).map(|i| (i * 17 % 3000) as f64).collect();
    for (rows, len, keys, elements) in [
        (40, 100, Keys::Ascending, data(DType::I32, 4000)),
        (5, 3001, Keys::Descending, data(DType::I32, 15_005)),
        (1, 40_000, Keys::Ascending, data(DType::I32, 40_000)),
        (1, 3000, Keys::Permutation, permutation),
    ] {
        let (case, kernel) = sort(DType::I32, rows, len, keys, elements);
        case.check_rendered(&kernel, 0.0, |slots, capabilities| {
            let few = Capabilities { workgroups: 7, ..*capabilities };
            let launches = render(&kernel, &case.program, slots, &few, &Tuning::default());
            assert!(launches.iter().all(|launch| launch.workgroups[0] <= 7));
            assert!(launches.iter().any(|launch| launch.workgroups[1] > 1));
            launches
        });
    }
}
