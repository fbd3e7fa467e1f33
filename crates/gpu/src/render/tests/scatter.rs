//! Scatter-add: rows and single elements, every dtype, indices out of range.

use farad_compile::program::Scatter;

use super::*;

/// A scatter of `[outer, sources, inner]` along the middle axis into `size` positions; the index may vary along
/// the inner axis.
fn scatter(
    dtype: DType,
    [outer, sources, inner]: [usize; 3],
    size: usize,
    varies: bool,
    bad: bool,
) -> (Case, Kernel) {
    let mut case = Case::default();
    let (s, i) = (sources as i64, inner as i64);
    let len = if varies { outer * sources * inner } else { outer * sources };
    let mut numbers = Numbers(11);
    let mut places: Vec<f64> = (0..len).map(|_| (numbers.next() % size as u64) as f64).collect();
    if bad {
        places[len / 2] = -1.0;
    }
    let source = case.input(dtype, outer * sources * inner);
    let (index, target) = (case.buffer(DType::I32, places), case.output(dtype, outer * size * inner));
    let strides = if varies { [s * i, i, 1] } else { [s, 1, 0] };
    let scatter = Scatter {
        axes: vec![outer, sources, inner],
        axis: 1,
        size,
        source: (source, view(0, &[s * i, i, 1])),
        index: (index, view(0, &strides)),
        target,
        order: None,
        distinct: false,
        site: 4,
    };
    (case, Kernel::Scatter(scatter))
}

#[test]
fn rows_collect_their_sources() {
    for dtype in [DType::F32, DType::F16, DType::I32, DType::U32] {
        for (axes, size) in [
            ([1, 100, 8], 20),
            ([1, 600, 64], 50),
            ([2, 300, 5], 7),
            ([3, 40, 1], 300),
            ([1, 5, 12], 9),
            ([1, 20, 2000], 3),
            ([4, 1, 1], 10),
        ] {
            let (case, kernel) = scatter(dtype, axes, size, false, false);
            assert_eq!(case.check(&kernel, 2e-6), [0, 0]);
        }
    }
}

#[test]
fn elements_collect_their_sources() {
    for dtype in [DType::F32, DType::I32, DType::F16] {
        for (axes, size) in [([1, 30, 8], 10), ([2, 33, 5], 6), ([3, 1, 7], 4), ([2, 5, 1], 8)] {
            let (case, kernel) = scatter(dtype, axes, size, true, false);
            assert_eq!(case.check(&kernel, 2e-6), [0, 0]);
        }
    }
}

#[test]
fn indices_out_of_range_are_reported() {
    for (axes, varies) in [([1, 100, 8], false), ([2, 10, 4], true), ([2, 3, 1], false)] {
        let (case, kernel) = scatter(DType::F32, axes, 6, varies, true);
        let errors = case.check(&kernel, 2e-6);
        assert!(machines().is_empty() || errors == [5, u32::MAX], "{errors:?}");
    }
}

#[test]
fn the_last_axis_scatters_too() {
    for (rows, classes) in [(6, 10), (5, 16)] {
        let mut case = Case::default();
        let labels = (0..rows).map(|row| (row * 3 % classes) as f64).collect();
        let (source, index) = (case.input(DType::F32, rows), case.buffer(DType::U32, labels));
        let target = case.output(DType::F32, rows * classes);
        let one = view(0, &[1, 1]);
        let kernel = Kernel::Scatter(Scatter {
            axes: vec![rows, 1],
            axis: 1,
            size: classes,
            source: (source, one.clone()),
            index: (index, one),
            target,
            order: None,
            distinct: false,
            site: 0,
        });
        case.check(&kernel, 0.0);
    }
}

#[test]
fn sources_that_go_to_different_places_are_written_there() {
    for dtype in [DType::F32, DType::F16, DType::I32, DType::U32] {
        for (axes, size) in [([3, 40, 1], 301), ([1, 20, 6], 64), ([2, 300, 5], 300)] {
            let (mut case, kernel) = scatter(dtype, axes, size, false, false);
            let Kernel::Scatter(mut scatter) = kernel else { unreachable!("made above") };
            // Eleven is coprime to all of these sizes, so no two positions are equal.
            let places = &mut case.memory[scatter.index.0.0 as usize];
            places.iter_mut().enumerate().for_each(|(i, place)| *place = (i % axes[1] * 11 % size) as f64);
            scatter.distinct = true;
            let kernel = Kernel::Scatter(scatter);
            let launches = render(&kernel, &case.program, &[], &Capabilities::core(), &Tuning::default());
            assert_eq!(launches.len(), 2);
            case.check(&kernel, 0.0);
        }
    }
}

/// The same scatter with a sorted index.
fn in_order(case: &mut Case, kernel: Kernel) -> Kernel {
    let Kernel::Scatter(mut scatter) = kernel else { unreachable!("made above") };
    let (sources, size) = (scatter.axes[scatter.axis], scatter.size as f64);
    let rows = case.memory[scatter.index.0.0 as usize].chunks(sources);
    let order = rows.flat_map(|places| {
        let key = |i: usize| if (0.0..size).contains(&places[i]) { places[i] } else { size };
        let mut order: Vec<usize> = (0..sources).collect();
        order.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
        order.into_iter().map(|at| at as f64)
    });
    let order = order.collect();
    scatter.order = Some(case.buffer(DType::I32, order));
    Kernel::Scatter(scatter)
}

#[test]
fn sorted_sources_are_added_in_order() {
    for dtype in [DType::F32, DType::F16, DType::I32, DType::U32] {
        for (axes, size) in [([1, 600, 64], 50), ([2, 300, 5], 7), ([3, 40, 1], 300), ([1, 1000, 12], 2000)] {
            let (mut case, kernel) = scatter(dtype, axes, size, false, false);
            let kernel = in_order(&mut case, kernel);
            assert_eq!(case.check(&kernel, 2e-6), [0, 0]);
        }
    }
}

#[test]
fn sorted_sources_outside_are_reported() {
    let (mut case, kernel) = scatter(DType::F32, [2, 500, 8], 40, false, true);
    let kernel = in_order(&mut case, kernel);
    let errors = case.check(&kernel, 2e-6);
    assert!(machines().is_empty() || errors == [5, u32::MAX], "{errors:?}");
}
