//! Golden programs: what the compiler makes of given graphs, as text.

use farad_compile::compile;
use farad_compile::program::{Kernel, Place, Program, Target};
use farad_ir::{Binary, Contraction, DType, Graph, IndexMap, NodeId, Op, Reduce, Scalar, Shape, Span, Unary};

fn shape(sizes: &[usize]) -> Shape {
    Shape::new(sizes)
}

fn input(graph: &mut Graph, n: usize, sizes: &[usize]) -> NodeId {
    graph.input(n, shape(sizes), DType::F32)
}

fn gpu() -> Target {
    Target {
        bindings: 7,
        parallel: 131_072,
        fuse: true,
        binding_bytes: 1 << 30,
        channels_last: 1 << 29,
        convolutions: usize::MAX,
        scratch: true,
        ..Target::cpu()
    }
}

fn softmax(graph: &mut Graph, x: NodeId) -> NodeId {
    let whole = graph.shape(x);
    let kept = whole.ones_at(&[1]);
    let spread = |graph: &mut Graph, id: NodeId| {
        let id = graph.reshape(id, kept);
        graph.expand(id, whole)
    };
    let top = graph.reduce(Reduce::Max, x, &[1]);
    let top = spread(graph, top);
    let centered = graph.sub(x, top);
    let powers = graph.unary(Unary::Exp, centered);
    let sum = graph.reduce(Reduce::Sum, powers, &[1]);
    let sum = spread(graph, sum);
    graph.div(powers, sum)
}

#[test]
fn softmax_is_one_row_kernel() {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[64, 100]);
    let y = softmax(&mut graph, x);
    insta::assert_snapshot!(compile(&graph, &[y], &[], &gpu()));
}

#[test]
fn long_chains_on_a_row_compile_quickly() {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[64, 100]);
    let mut y = graph.reduce(Reduce::Sum, x, &[1]);
    // Every squaring reads its operand twice.
    for _ in 0..30 {
        y = graph.mul(y, y);
    }
    let y = graph.reshape(y, shape(&[64, 1]));
    let y = graph.expand(y, shape(&[64, 100]));
    let z = graph.reduce(Reduce::Max, y, &[1]);
    let y = graph.mul(y, x);
    let start = std::time::Instant::now();
    let program = compile(&graph, &[y, z], &[], &gpu());
    assert!(!program.steps.is_empty());
    assert!(start.elapsed().as_millis() < 500, "{:?}", start.elapsed());
}

#[test]
fn an_axis_that_halves_again_and_again_is_cut() {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[4096]);
    // Each level pairs elements at another distance, so one kernel would need twelve axes.
    let mut y = x;
    for level in 0..12 {
        let cut = graph.reshape(y, shape(&[4096 >> (level + 1), 2, 1 << level]));
        let flipped = graph.push(Op::Flip(vec![1]), &[cut]);
        let sum = graph.add(cut, flipped);
        y = graph.reshape(sum, shape(&[4096]));
    }
    let program = compile(&graph, &[y], &[], &gpu());
    assert!(program.steps.len() > 1, "{program}");
}

#[test]
fn a_linear_layer_with_relu_is_one_product() {
    let mut graph = Graph::new();
    let (x, w, b) =
        (input(&mut graph, 0, &[64, 784]), input(&mut graph, 1, &[128, 784]), input(&mut graph, 2, &[128]));
    let transposed = graph.permute(w, &[1, 0]);
    let product = graph.contract(Contraction::matmul(&[], 64, 784, 128), x, transposed);
    let bias = graph.reshape(b, shape(&[1, 128]));
    let bias = graph.expand(bias, shape(&[64, 128]));
    let sum = graph.add(product, bias);
    let y = graph.unary(Unary::Relu, sum);
    insta::assert_snapshot!(compile(&graph, &[y], &[], &gpu()));
}

#[test]
fn padding_and_flipping_are_guards_and_strides() {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[3, 4]);
    let flipped = graph.push(Op::Flip(vec![1]), &[x]);
    let padded = graph.push(Op::Pad(vec![(1, 0), (0, 2)]), &[flipped]);
    let y = graph.unary(Unary::Exp, padded);
    insta::assert_snapshot!(compile(&graph, &[y], &[], &gpu()));
}

#[test]
fn an_update_takes_its_input_over() {
    let mut graph = Graph::new();
    let (p, g) = (input(&mut graph, 0, &[1000]), input(&mut graph, 1, &[1000]));
    let rate = graph.parameter(0, DType::F32);
    let rate = graph.spread(rate, shape(&[1000]));
    let change = graph.mul(rate, g);
    let new = graph.sub(p, change);
    let program = compile(&graph, &[new], &[(0, 0)], &gpu());
    assert_eq!(program.outputs[0].donor, Some(0));
    insta::assert_snapshot!(program);
}

#[test]
fn an_input_that_is_read_elsewhere_later_is_not_taken_over() {
    let mut graph = Graph::new();
    let p = input(&mut graph, 0, &[10]);
    let new = graph.unary(Unary::Exp, p);
    // The flipped read is not at the position that the update writes.
    let flipped = graph.push(Op::Flip(vec![0]), &[p]);
    let both = graph.add(new, flipped);
    let program = compile(&graph, &[both], &[(0, 0)], &gpu());
    assert_eq!(program.outputs[0].donor, None);
}

#[test]
fn long_sums_are_cut_in_two_on_a_gpu_only() {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[8192, 64]);
    let y = graph.reduce(Reduce::Sum, x, &[0]);
    assert_eq!(compile(&graph, &[y], &[], &gpu()).steps.len(), 2);
    assert_eq!(compile(&graph, &[y], &[], &Target::cpu()).steps.len(), 1);
}

#[test]
fn sums_over_several_axes_are_cut_over_all_of_them() {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[8, 256, 48]);
    let y = graph.reduce(Reduce::Sum, x, &[0, 1]);
    let program = compile(&graph, &[y], &[], &gpu());
    let Kernel::Fused(first) = &program.steps[0].kernel else { panic!("{program}") };
    assert!(first.outer_len() >= 16 * 48, "{program}");
    assert_eq!(program.steps.len(), 2, "{program}");
}

#[test]
fn small_sums_that_go_to_one_array_are_one_kernel() {
    let mut graph = Graph::new();
    let sums: Vec<_> = [64, 32, 48]
        .iter()
        .enumerate()
        .map(|(n, &columns)| {
            let x = input(&mut graph, n, &[4096, columns]);
            let y = graph.unary(Unary::Exp, x);
            graph.reduce(Reduce::Sum, y, &[0])
        })
        .collect();
    let pack = graph.push(Op::Pack(vec![0, 64, 128], 192), &sums);
    let y = graph.neg(pack);
    let program = compile(&graph, &[y], &[], &gpu());
    check_hazards(&program);
    let kernels: Vec<&str> = program.steps.iter().map(|step| step.label.as_str()).collect();
    assert_eq!(kernels, ["exp+sum", "exp+sum", "exp+sum", "sums", "neg"], "{program}");
    let Kernel::Sums(sums) = &program.steps[3].kernel else { panic!("{program}") };
    assert_eq!(
        sums.segments.iter().map(|s| (s.to, s.results)).collect::<Vec<_>>(),
        [(0, 64), (64, 32), (128, 48)]
    );
}

#[test]
fn a_strided_convolution_is_a_guarded_sum() {
    let mut graph = Graph::new();
    let (x, w) = (input(&mut graph, 0, &[9]), input(&mut graph, 1, &[3]));
    let read = IndexMap { terms: vec![(0, 2), (1, 1)], offset: -1, divisor: 1 };
    let convolution = Contraction {
        sizes: vec![5, 3],
        out: vec![0],
        lhs: vec![read],
        rhs: vec![IndexMap::axis(1)],
        high: false,
    };
    let y = graph.contract(convolution, x, w);
    insta::assert_snapshot!(compile(&graph, &[y], &[], &gpu()));
}

#[test]
fn constants_and_identities_vanish() {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[4]);
    let one = graph.fill(Scalar::f32(1.0), shape(&[4]));
    let zero = graph.fill(Scalar::f32(0.0), shape(&[4]));
    let scaled = graph.mul(x, one);
    let moved = graph.sub(scaled, zero);
    let back = graph.neg(moved);
    let y = graph.neg(back);
    let twice = graph.binary(Binary::Add, y, y);
    let program = compile(&graph, &[twice], &[], &gpu());
    let Kernel::Fused(kernel) = &program.steps[0].kernel else { panic!("{program}") };
    assert_eq!(kernel.tape.len(), 2, "{program}");
}

/// How many instructions the kernel of one op on an input and a constant has.
fn instructions(op: Binary, constant: f32, constant_first: bool) -> usize {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[4]);
    let constant = graph.fill(Scalar::f32(constant), shape(&[4]));
    let [a, b] = if constant_first { [constant, x] } else { [x, constant] };
    let y = graph.binary(op, a, b);
    let y = graph.unary(farad_ir::Unary::Floor, y);
    let program = compile(&graph, &[y], &[], &gpu());
    let Kernel::Fused(kernel) = &program.steps[0].kernel else { panic!("{program}") };
    kernel.tape.len()
}

#[test]
fn only_what_changes_no_number_vanishes() {
    // A load and the op after it; or a load, a constant, the op itself and the op after it.
    let (gone, there) = (2, 4);
    assert_eq!(instructions(Binary::Add, -0.0, false), gone);
    assert_eq!(instructions(Binary::Add, 0.0, false), there, "-0 + 0 is 0");
    assert_eq!(instructions(Binary::Sub, 0.0, false), gone);
    assert_eq!(instructions(Binary::Sub, -0.0, false), there, "-0 - -0 is 0");
    assert_eq!(instructions(Binary::Sub, 0.0, true), there, "0 - 0 is 0, -(0) is not");
    assert_eq!(instructions(Binary::Sub, -0.0, true), gone + 1, "it is a negation");
    assert_eq!(instructions(Binary::Mul, 1.0, false), gone);
    assert_eq!(instructions(Binary::Mul, 0.0, false), there, "0 times infinity is no number");
}

/// Checks that no kernel reads and writes one allocation, except for updates in place.
fn check_hazards(program: &Program) {
    for step in &program.steps {
        let (reads, writes) = step.kernel.touches();
        let place = |id: &farad_compile::program::BufferId| program.buffers[id.0 as usize].place;
        for written in &writes {
            let clash = reads.iter().any(|read| read != written && place(read) == place(written));
            assert!(!clash, "{} reads and writes {:?}\n{program}", step.label, place(written));
        }
    }
}

#[test]
fn memory_is_shared_but_never_read_and_written_at_once() {
    let mut graph = Graph::new();
    let mut x = input(&mut graph, 0, &[64, 64]);
    let w = input(&mut graph, 1, &[64, 64]);
    for _ in 0..12 {
        let product = graph.contract(Contraction::matmul(&[], 64, 64, 64), x, w);
        x = softmax(&mut graph, product);
    }
    let program = compile(&graph, &[x], &[], &gpu());
    check_hazards(&program);
    assert_eq!(program.steps.len(), 24);
    assert!(program.blocks.len() <= 2, "a chain needs two blocks: {:?}", program.blocks);
    let blocks = program.buffers.iter().filter(|b| matches!(b.place, Place::Block(_))).count();
    assert!(blocks > program.blocks.len());
}

#[test]
fn the_same_graph_gives_the_same_program() {
    let text = || {
        let mut graph = Graph::new();
        let x = input(&mut graph, 0, &[33, 17]);
        let y = softmax(&mut graph, x);
        let z = graph.reduce(Reduce::Sum, y, &[0]);
        compile(&graph, &[y, z], &[], &gpu()).to_string()
    };
    let first = text();
    (0..20).for_each(|_| assert_eq!(text(), first));
}

#[test]
fn a_sort_and_its_gradient_are_one_sort() {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[3, 5000]);
    let order = graph.push(Op::Order(true), &[x]);
    let sorted = graph.push(Op::Gather(1), &[x, order]);
    let squares = graph.mul(sorted, sorted);
    let loss = graph.reduce(Reduce::Sum, squares, &[0, 1]);
    let g = farad_ir::gradient(&mut graph, loss, &[x]).unwrap();
    insta::assert_snapshot!(compile(&graph, &g, &[], &gpu()));
}

#[test]
fn the_largest_of_long_rows_are_selected_forward_and_written_back() {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[3, 5000]);
    let top = graph.push(Op::Top(true, 64), &[x]);
    let largest = graph.push(Op::Gather(1), &[x, top]);
    let squares = graph.mul(largest, largest);
    let loss = graph.reduce(Reduce::Sum, squares, &[0, 1]);
    let g = farad_ir::gradient(&mut graph, loss, &[x]).unwrap();
    insta::assert_snapshot!(compile(&graph, &g, &[], &gpu()));
}

#[test]
fn many_sources_for_many_places_are_sorted_first() {
    let scatters = |entries: usize, sources: usize, target: &Target| {
        let mut graph = Graph::new();
        let source = input(&mut graph, 0, &[sources, 8]);
        let index = graph.input(1, shape(&[sources, 1]), DType::I32);
        let y = graph.push(Op::ScatterAdd(0, entries), &[source, index]);
        compile(&graph, &[y], &[], target)
    };
    insta::assert_snapshot!(scatters(8192, 32_768, &gpu()));
    for program in [scatters(256, 32_768, &gpu()), scatters(8192, 32_768, &Target::cpu())] {
        assert!(
            matches!(&program.steps[..], [step] if matches!(step.kernel, Kernel::Scatter(_))),
            "{program}"
        );
    }
}

#[test]
fn an_epilogue_loads_what_is_kept_for_others() {
    // The gradient of relu is fused into its product, although relu's operand is a sum of parts.
    let mut graph = Graph::new();
    let (x, w) = (input(&mut graph, 0, &[64, 784]), input(&mut graph, 1, &[784, 128]));
    let (u, v) = (input(&mut graph, 2, &[128, 10]), input(&mut graph, 3, &[10, 128]));
    let before = graph.contract(Contraction::matmul(&[], 64, 784, 128), x, w);
    let hidden = graph.unary(Unary::Relu, before);
    let g = graph.contract(Contraction::matmul(&[], 64, 128, 10), hidden, u);
    let back = graph.contract(Contraction::matmul(&[], 64, 10, 128), g, v);
    let zeros = graph.fill_like(hidden, 0.0);
    let on = graph.binary(Binary::Greater, hidden, zeros);
    let back = graph.select(on, back, zeros);
    let turned = graph.permute(hidden, &[1, 0]);
    let weights = graph.contract(Contraction::matmul(&[], 128, 64, 10), turned, g);
    let program = compile(&graph, &[back, weights], &[], &gpu());
    let labels: Vec<&str> = program.steps.iter().map(|step| step.label.as_str()).collect();
    assert!(labels.contains(&"contract+greater+select"), "{labels:?}");
    assert_eq!(labels.len(), 5, "{labels:?}");
}

/// `[batch, inputs, side, side] × [outputs, inputs, 3, 3]`, padded so that the side stays.
fn convolution(batch: usize, inputs: usize, outputs: usize, side: usize) -> Contraction {
    let axis = IndexMap::axis;
    let window = |y: usize, k: usize| IndexMap { terms: vec![(y, 1), (k, 1)], offset: -1, divisor: 1 };
    Contraction {
        sizes: vec![batch, outputs, side, side, inputs, 3, 3],
        out: vec![0, 1, 2, 3],
        lhs: vec![axis(0), axis(4), window(2, 5), window(3, 6)],
        rhs: vec![axis(1), axis(4), axis(5), axis(6)],
        high: false,
    }
}

#[test]
fn a_convolution_is_a_product_with_its_bias_and_activation() {
    let mut graph = Graph::new();
    let (image, weight) = (input(&mut graph, 0, &[8, 3, 28, 28]), input(&mut graph, 1, &[16, 3, 3, 3]));
    let bias = input(&mut graph, 2, &[1, 16, 1, 1]);
    let y = graph.contract(convolution(8, 3, 16, 28), image, weight);
    let bias = graph.expand(bias, shape(&[8, 16, 28, 28]));
    let y = graph.add(y, bias);
    let y = graph.unary(Unary::Relu, y);
    insta::assert_snapshot!(compile(&graph, &[y], &[], &gpu()));
}

#[test]
fn large_convolutions_read_along_channels_that_lie_last_and_share_the_copies() {
    let mut graph = Graph::new();
    let (image, weight) = (input(&mut graph, 0, &[32, 64, 56, 56]), input(&mut graph, 1, &[128, 64, 3, 3]));
    let forward = convolution(32, 64, 128, 56);
    let y = graph.contract(forward.clone(), image, weight);
    let g = graph.unary(Unary::Tanh, y);
    let dw = graph.contract(forward.gradient_rhs(&shape(&[128, 64, 3, 3])), g, image);
    let dx = graph.contract(forward.gradient_lhs(&shape(&[32, 64, 56, 56])), g, weight);
    let program = compile(&graph, &[dw, dx], &[], &gpu());
    insta::assert_snapshot!(program);
    let products = program.steps.iter().filter(|step| matches!(step.kernel, Kernel::Product(_))).count();
    // Two copies of the weight, one of the image, one of the upstream gradient, and the sum of the parts.
    assert_eq!((products, program.steps.len()), (3, 8));
}

/// The product of two matrices, each of which may be transposed.
fn product(graph: &mut Graph, [lhs, rhs]: [NodeId; 2], turned: [bool; 2]) -> NodeId {
    let [left, right] = [lhs, rhs].map(|id| graph.shape(id));
    let axes = |turned: bool, pair: [usize; 2]| {
        let order = if turned { [pair[1], pair[0]] } else { pair };
        order.map(IndexMap::axis).to_vec()
    };
    let (rows, terms) = if turned[0] { (left[1], left[0]) } else { (left[0], left[1]) };
    let columns = if turned[1] { right[0] } else { right[1] };
    let contraction = Contraction {
        sizes: vec![rows, columns, terms],
        lhs: axes(turned[0], [0, 2]),
        rhs: axes(turned[1], [2, 1]),
        out: vec![0, 1],
        high: false,
    };
    graph.contract(contraction, lhs, rhs)
}

/// The number of stores in a program.
fn stores(program: &Program) -> usize {
    program.to_string().lines().filter(|line| line.contains(" <- r")).count()
}

#[test]
fn halves_that_whole_and_cut_products_read_are_stored_once() {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[32, 256, 384]);
    let weights = input(&mut graph, 1, &[384, 1536]);
    let gradient = input(&mut graph, 2, &[32, 256, 1536]);
    let flat = |graph: &mut Graph, id: NodeId, columns: usize| {
        let sine = graph.unary(Unary::Sin, id);
        let halves = graph.cast(sine, DType::F16);
        graph.reshape(halves, shape(&[8192, columns]))
    };
    let x = flat(&mut graph, x, 384);
    let gradient = flat(&mut graph, gradient, 1536);
    let weights = graph.cast(weights, DType::F16);
    let forward = product(&mut graph, [x, weights], [false, false]);
    // 8,192 terms for few results: this product is split.
    let at_weights = product(&mut graph, [x, gradient], [true, false]);
    let at_inputs = product(&mut graph, [gradient, weights], [false, true]);
    let program = compile(&graph, &[forward, at_weights, at_inputs], &[], &gpu());
    // Three operands, three products, and the sum of the parts.
    assert_eq!(stores(&program), 7, "{program}");
    assert!(program.to_string().contains("contract: product batch [4]"), "{program}");
}

#[test]
fn slices_that_all_become_halves_are_views_of_one_cast() {
    let mut graph = Graph::new();
    let x = input(&mut graph, 0, &[64, 3, 128]);
    let sine = graph.unary(Unary::Sin, x);
    let part = |graph: &mut Graph, number: usize| {
        let whole = |len: usize| Span { start: 0, len, step: 1 };
        let spans = vec![whole(64), Span { start: number, len: 1, step: 1 }, whole(128)];
        let slice = graph.push(Op::Slice(spans), &[sine]);
        let matrix = graph.reshape(slice, shape(&[64, 128]));
        graph.cast(matrix, DType::F16)
    };
    let [a, b, c] = [0, 1, 2].map(|number| part(&mut graph, number));
    let scores = product(&mut graph, [a, b], [false, true]);
    let mixed = product(&mut graph, [scores, c], [false, false]);
    let program = compile(&graph, &[mixed], &[], &gpu());
    assert_eq!(stores(&program), 3, "one array of halves and two products: {program}");
}
