//! Programs that are broken on purpose, one per invariant: [`verify`] must find what is wrong with each.

use super::*;
use crate::planning::assemble::copy;
use crate::program::{
    Code, Fused, Guard, Instr, Level, Loop, Program, ProgramBuffer, ProgramOutput, Reg, Segment, Spec, Store,
    Sums, View,
};
use farad_ir::{DType, Unary};

const LEN: usize = 64;
const BYTES: usize = 4 * LEN;

/// An input and an output of 64 floats, two blocks with room for one element more, and a buffer over each.
fn program() -> Program {
    let spec = Spec { dtype: DType::F32, len: LEN };
    let buffer = |place| ProgramBuffer { place, offset: 0, dtype: DType::F32, len: LEN };
    Program {
        inputs: vec![spec],
        outputs: vec![ProgramOutput { spec, donor: None }],
        blocks: vec![2 * BYTES, 2 * BYTES],
        buffers: [Place::Input(0), Place::Output(0), Place::Block(0), Place::Block(1)].map(buffer).to_vec(),
        ..Program::default()
    }
}

const INPUT: BufferId = BufferId(0);
const OUTPUT: BufferId = BufferId(1);
const FIRST: BufferId = BufferId(2);
const SECOND: BufferId = BufferId(3);

fn step(wave: usize, kernel: Kernel) -> ProgramStep {
    ProgramStep { wave, label: "copy".into(), kernel }
}

fn moves(from: BufferId, to: BufferId) -> Kernel {
    copy(from, to, LEN, DType::F32)
}

/// Copies in order, one wave each.
fn copies(pairs: &[(BufferId, BufferId)]) -> Program {
    let steps = pairs.iter().enumerate().map(|(n, &(from, to))| step(n, moves(from, to)));
    Program { steps: steps.collect(), ..program() }
}

fn text(program: &Program) -> String {
    verify(program, &Target::cpu()).expect_err("the program is broken").to_string()
}

fn fine(program: &Program) {
    verify(program, &Target::cpu()).unwrap_or_else(|error| panic!("{error}\n{program}"));
}

#[test]
fn a_chain_of_copies_is_in_order() {
    fine(&copies(&[(INPUT, FIRST), (FIRST, SECOND), (SECOND, OUTPUT)]));
    // A block may be reused once nobody reads its contents.
    fine(&copies(&[(INPUT, FIRST), (FIRST, SECOND), (SECOND, FIRST), (FIRST, OUTPUT)]));
}

#[test]
fn two_parts_of_one_block_are_an_alias() {
    let mut program = copies(&[(INPUT, FIRST), (FIRST, SECOND), (SECOND, OUTPUT)]);
    program.buffers[3] = ProgramBuffer { place: Place::Block(0), offset: BYTES, ..program.buffers[3] };
    let wanted = "program: a kernel reads and writes one allocation through two bindings: step 1 (copy): block 0 (b2 vs b3)";
    assert_eq!(text(&program), wanted);
}

/// Over 64 elements, `b2[view] = -b2[i]`.
fn update(view: View) -> Program {
    let mut program = copies(&[(INPUT, FIRST), (FIRST, OUTPUT)]);
    let instr = |code| Instr { code, dtype: DType::F32, level: Level::Full };
    let load = Code::Load(FIRST, View::contiguous(&[LEN]));
    let tape = vec![instr(load), instr(Code::Unary(Unary::Neg, Reg(0)))];
    let stores = vec![Store { buffer: FIRST, value: Reg(1), view }];
    program.steps.insert(1, step(0, Kernel::Fused(Fused { axes: vec![LEN], outer: 1, tape, stores })));
    program.steps.iter_mut().enumerate().for_each(|(n, step)| step.wave = n);
    program
}

#[test]
fn an_update_in_place_reads_where_it_writes() {
    fine(&update(View::contiguous(&[LEN])));
    let reversed = View { offset: LEN as i64 - 1, strides: vec![-1], guards: vec![] };
    let wanted = "program: a kernel overwrites what it reads at other positions: step 1 (copy): b2 (0 + [1] vs 63 + [-1])";
    assert_eq!(text(&update(reversed)), wanted);
}

#[test]
fn a_tensor_whose_place_was_taken_is_gone() {
    let mut program = copies(&[(INPUT, FIRST), (INPUT, SECOND), (FIRST, OUTPUT)]);
    // The second tensor is placed where the first still waits for its reader.
    program.buffers[3].place = Place::Block(0);
    let wanted = "program: a kernel reads a tensor that another has overwritten: step 2 (copy): block 0 (b2 vs b3 of step 1 (copy))";
    assert_eq!(text(&program), wanted);
}

#[test]
fn what_no_step_writes_is_undefined() {
    let program = copies(&[(INPUT, FIRST), (SECOND, OUTPUT)]);
    let wanted = "program: a kernel reads bytes that no step has written: step 1 (copy): b3 in block 1 (bytes 0 to 256)";
    assert_eq!(text(&program), wanted);
    // The same if another tensor lies there, or if it is written too late.
    let mut program = copies(&[(INPUT, FIRST), (SECOND, OUTPUT)]);
    program.buffers[3] = ProgramBuffer { place: Place::Block(0), dtype: DType::U32, ..program.buffers[3] };
    assert!(text(&program).starts_with("program: a kernel reads bytes that no step has written: step 1"));
    let program = copies(&[(SECOND, OUTPUT), (INPUT, SECOND)]);
    assert!(text(&program).starts_with("program: a kernel reads bytes that no step has written: step 0"));
    assert_eq!(
        text(&copies(&[(INPUT, FIRST)])),
        "program: no step writes an output: output 0 (0 vs 64 elements)"
    );
}

#[test]
fn an_input_is_written_only_if_an_output_takes_it_over() {
    let mut program = copies(&[(INPUT, FIRST), (FIRST, INPUT)]);
    let wanted = "program: a kernel writes an input that no output takes over: step 1 (copy): input 0 (b0)";
    assert_eq!(text(&program), wanted);
    program.outputs[0].donor = Some(0);
    fine(&program);
}

/// A program that reads the input through a view and writes the output.
fn reading(view: View) -> Program {
    let mut program = copies(&[(INPUT, OUTPUT)]);
    let Kernel::Fused(kernel) = &mut program.steps[0].kernel else { unreachable!("a copy") };
    kernel.tape[0].code = Code::Load(INPUT, view);
    program
}

#[test]
fn a_view_stays_inside_its_buffer() {
    let view = |offset, guards| View { offset, strides: vec![1], guards };
    let wanted = "program: a kernel goes beyond its buffer: step 0 (copy): b0 at [63] (element 64 vs 64)";
    assert_eq!(text(&reading(view(1, vec![]))), wanted);
    let wanted = "program: a kernel goes beyond its buffer: step 0 (copy): b0 at [0] (element -1 vs 64)";
    assert_eq!(text(&reading(view(-1, vec![]))), wanted);
    // A pad's guard excludes the positions outside.
    let guard = |offset, size| Guard { coefficients: vec![1], offset, divisor: 1, size, stride: 0 };
    fine(&reading(view(-1, vec![guard(-1, 64)])));
    let wanted = "program: a kernel goes beyond its buffer: step 0 (copy): b0 at [0] (element -2 vs 64)";
    assert_eq!(text(&reading(view(-2, vec![guard(0, 63)]))), wanted);
    // A strided read of a gradient: the guard provides the position.
    let divided = |size| Guard { coefficients: vec![1], offset: 0, divisor: 2, size, stride: 2 };
    fine(&reading(View { offset: 0, strides: vec![0], guards: vec![divided(32)] }));
    let far = View { offset: 3, strides: vec![0], guards: vec![divided(32)] };
    assert!(text(&reading(far)).contains("at [62] (element 65 vs 64)"));
}

#[test]
fn a_window_that_moves_is_bounded_by_its_guard() {
    // 1,000 positions of a window of 65 over 64 padded elements: too many to try, so the bound must be proved.
    let mut program = reading(View::contiguous(&[LEN]));
    let Kernel::Fused(kernel) = &mut program.steps[0].kernel else { unreachable!("a copy") };
    let window = Guard { coefficients: vec![1, 1], offset: -500, divisor: 1, size: 64, stride: 0 };
    kernel.axes = vec![1000, 65];
    kernel.tape[0].code = Code::Load(INPUT, View { offset: -500, strides: vec![1, 1], guards: vec![window] });
    kernel.stores[0].view.strides = vec![65, 1];
    program.buffers[1].len = 65_000;
    program.outputs[0].spec.len = 65_000;
    fine(&program);
    let Kernel::Fused(kernel) = &mut program.steps[0].kernel else { unreachable!("a copy") };
    let Code::Load(_, view) = &mut kernel.tape[0].code else { unreachable!("a load") };
    view.offset += 1;
    assert!(text(&program).contains("(element 64 vs 64)"), "{}", text(&program));
}

#[test]
fn no_element_is_written_twice() {
    let mut program = copies(&[(INPUT, OUTPUT)]);
    let Kernel::Fused(kernel) = &mut program.steps[0].kernel else { unreachable!("a copy") };
    kernel.stores[0].view.strides = vec![0];
    let wanted = "program: a kernel writes an element twice: step 0 (copy): b1 at [1] and [0]";
    assert_eq!(text(&program), wanted);
}

#[test]
fn a_buffer_lies_in_its_allocation() {
    let mut program = copies(&[(INPUT, FIRST), (FIRST, OUTPUT)]);
    program.blocks[0] = 128;
    let wanted = "program: a buffer goes beyond its allocation: b2 in block 0 (256 vs 128 bytes)";
    assert_eq!(text(&program), wanted);
}

#[test]
fn steps_of_one_wave_touch_different_bytes() {
    let mut program = copies(&[(INPUT, FIRST), (FIRST, OUTPUT)]);
    program.steps[1].wave = 0;
    let wanted = "program: steps of one wave touch the same bytes: step 0 (copy) and step 1 (copy): block 0 (b2 vs b2)";
    assert_eq!(text(&program), wanted);
    // Two readers of one input may run at once, and so may writers of two parts of a block.
    let mut program = copies(&[(INPUT, FIRST), (INPUT, SECOND), (FIRST, OUTPUT)]);
    program.buffers[3] = ProgramBuffer { place: Place::Block(0), offset: BYTES, ..program.buffers[3] };
    program.steps[1].wave = 0;
    fine(&program);
    program.steps[0].wave = 5;
    let wanted = "program: a step comes after one of a later wave: step 1 (copy) (wave 0 vs 5)";
    assert_eq!(text(&program), wanted);
}

#[test]
fn whatever_a_kernel_names_is_there() {
    let mut program = copies(&[(INPUT, OUTPUT)]);
    let Kernel::Fused(kernel) = &mut program.steps[0].kernel else { unreachable!("a copy") };
    kernel.stores[0].value = Reg(7);
    let wanted = "program: a kernel names something that does not exist: step 0 (copy): register (7 vs 1)";
    assert_eq!(text(&program), wanted);
    let program = copies(&[(INPUT, BufferId(9))]);
    assert_eq!(
        text(&program),
        "program: a kernel names something that does not exist: step 0 (copy): buffer (9 vs 4)"
    );
}

#[test]
fn a_kernel_keeps_within_its_bindings() {
    let program = copies(&[(INPUT, OUTPUT)]);
    let target = Target { bindings: 1, ..Target::cpu() };
    let error = verify(&program, &target).unwrap_err().to_string();
    assert_eq!(error, "program: a kernel has too many bindings: step 0 (copy) (2 vs at most 1)");
}

/// A loop of `trips` trips that copies one of two buffers to the other and swaps them; `last` is read at the
/// end.
fn looped(trips: usize, last: BufferId) -> Program {
    let swaps = vec![(FIRST, SECOND)];
    let steps = vec![step(0, moves(FIRST, SECOND))];
    let body = Kernel::Loop(Loop { trips, reverse: false, steps, slots: vec![], swaps });
    let steps = [moves(INPUT, FIRST), body, moves(last, OUTPUT)];
    let steps = steps.into_iter().enumerate().map(|(n, kernel)| step(n, kernel)).collect();
    Program { steps, ..program() }
}

#[test]
fn loops_are_checked_trip_by_trip() {
    for trips in [1, 2, 3, 4, 7] {
        fine(&looped(trips, if trips % 2 == 1 { SECOND } else { FIRST }));
    }
    let wanted = "program: a kernel reads bytes that no step has written: step 2 (copy): b3 in block 1 (bytes 0 to 256)";
    assert_eq!(text(&looped(0, SECOND)), wanted);
    let mut program = looped(3, SECOND);
    program.steps[0].kernel = moves(INPUT, SECOND);
    let wanted = "program: a kernel reads bytes that no step has written: step 1 (copy), step 0 (copy): b2 in block 0 (bytes 0 to 256)";
    assert_eq!(text(&program), wanted);
    let mut program = looped(3, SECOND);
    program.buffers[3].len = 32;
    let wanted = "program: a loop swaps buffers that differ: step 1 (copy): b2 and b3 (64 vs 32 elements)";
    assert_eq!(text(&program), wanted);
}

#[test]
fn a_slot_ends_with_its_buffer() {
    // Slices of 16 elements: four trips fit, five do not.
    let sliced = |trips| {
        let mut program = copies(&[(INPUT, OUTPUT)]);
        let slots = vec![(INPUT, 16), (OUTPUT, 16)];
        let steps = vec![step(0, copy(INPUT, OUTPUT, 16, DType::F32))];
        program.steps[0].kernel = Kernel::Loop(Loop { trips, reverse: false, steps, slots, swaps: vec![] });
        program
    };
    fine(&sliced(4));
    let wanted =
        "program: a kernel goes beyond its buffer: step 0 (copy), step 0 (copy): b0 at [0] (element 0 vs 0)";
    assert_eq!(text(&sliced(5)), wanted);
}

#[test]
fn sums_write_their_segments_only() {
    let sums = |to: usize| {
        let mut program = copies(&[(INPUT, FIRST), (INPUT, SECOND), (SECOND, OUTPUT)]);
        // A pack of two parts: the first is a sum, the second was copied there before.
        let whole = ProgramBuffer { place: Place::Block(1), offset: 0, dtype: DType::F32, len: 2 * LEN };
        program.buffers[3] = ProgramBuffer { offset: BYTES, len: LEN, ..whole };
        program.buffers.push(whole);
        let segments = vec![Segment { from: 0, to, parts: 8, results: 8 }];
        let kernel = Kernel::Sums(Sums { source: FIRST, target: BufferId(4), segments });
        program.steps.insert(2, step(2, kernel));
        program.steps[3].wave = 3;
        program
    };
    fine(&sums(0));
    let wanted = "program: a kernel reads a tensor that another has overwritten: step 3 (copy): block 1 (b3 vs b4 of step 2 (copy))";
    assert_eq!(text(&sums(LEN)), wanted);
    assert!(text(&sums(2 * LEN)).contains("b4 at [] (element 135 vs 128)"), "{}", text(&sums(2 * LEN)));
}
