//! What is written can be parsed again, and invalid text is rejected with its line.

use crate::{Graph, gradient};

/// At least one line for every op that can be parsed.
const EVERY_OP: &str = "\
n0 = input(0) : f32[4, 8]
n1 = parameter(0) : u32[]
n2 = constant(-1.5) : f32[]
n3 = constant(7) : i32[]
n4 = iota : i32[4]
n5 = random n1 n1 n1 n1 : u32[3]
n6 = exp n0 : f32[4, 8] @2
n7 = max n0 n6 : f32[4, 8]
n8 = greater n0 n6 : bool[4, 8]
n9 = select n8 n0 n7 : f32[4, 8]
n10 = cast n9 : f16[4, 8]
n11 = reshape n0 : f32[2, 16]
n12 = permute(1, 0) n11 : f32[16, 2]
n13 = sum(1) n12 : f32[16]
n14 = reshape n13 : f32[16, 1]
n15 = expand n14 : f32[16, 3]
n16 = pad(1:0, 0:2) n15 : f32[17, 5]
n17 = slice(0:4:2, 1:3:1) n16 : f32[4, 3]
n18 = flip(0, 1) n17 : f32[4, 3]
n19 = max(0) n18 : f32[3]
n20 = reshape n4 : i32[4, 1]
n21 = gather(0) n18 n20 : f32[4, 3]
n22 = scatter_add(0, 9) n21 n20 : f32[9, 3]
n23 = order(descending) n22 : i32[9, 3]
n24 = topk(ascending, 2) n22 : i32[9, 2]
n25 = contract(a=4 b=3 c=8; a c; a b -> c b) n0 n21 : f32[8, 3]
n26 = pack(0, 64 of 128) n19 n13 : f32[128]
n27 = stop_gradient n26 : f32[128]
n28 = barrier(28) n27 : f32[128]
return n28, n10
";

#[test]
fn what_is_written_is_read_again() {
    let (graph, outputs) = Graph::parse(EVERY_OP).unwrap();
    assert_eq!(graph.show(&outputs).to_string(), EVERY_OP);
    graph.check(&outputs).unwrap();
}

#[test]
fn maps_of_convolutions_are_read_again() {
    let text = "\
n0 = input(0) : f32[9]
n1 = input(1) : f32[3]
n2 = contract(a=5 b=3; 2a+b-1; b -> a) n0 n1 : f32[5]
n3 = contract(a=5 b=3 c=9; (-b+c+1)/2; b -> c) n2 n1 : f32[9]
return n3
";
    let (graph, outputs) = Graph::parse(text).unwrap();
    assert_eq!(graph.show(&outputs).to_string(), text);
}

#[test]
fn loops_and_their_gradients_are_read_again() {
    let text = "\
x = input(0) : f32[4, 3]
start = input(1) : f32[3]
w = input(2) : f32[3, 3]
all = scan(steps 4, carries 1, sequences 1, reverse) start x w : f32[3] {
  h = input(0) : f32[3]
  x = input(1) : f32[3]
  w = input(2) : f32[3, 3]
  row = contract(a=3 b=3; b; b a -> a) h w
  sum = add row x
  next = tanh sum
  return next, sum
}
last = pick(0) all : f32[3]
rows = pick(1) all : f32[4, 3]
square = mul last last
one = sum(0) square
return one, rows
";
    let (mut graph, outputs) = Graph::parse(text).unwrap();
    let leaves = [crate::NodeId(1), crate::NodeId(2)];
    let slopes = gradient(&mut graph, outputs[0], &leaves).unwrap();
    graph.check(&slopes).unwrap();
    let (again, same) = Graph::parse(&graph.show(&slopes).to_string()).unwrap();
    assert_eq!((again, same), (graph, slopes));
}

#[test]
fn what_is_no_graph_is_refused_by_its_line() {
    let error = |text: &str| Graph::parse(text).unwrap_err().to_string();
    let x = "x = input(0) : f32[4]\n";
    assert_eq!(error(x), "graph text: the text ends without `return`: line 1");
    assert_eq!(error(&format!("{x}\ny = exp z")), "graph text: `z` is not defined yet: line 3");
    assert_eq!(error(&format!("{x}y = exq x")), "graph text: unknown op: exq x: line 2");
    assert_eq!(error("x = input(0)\nreturn x"), "graph text: a leaf needs a shape and dtype: line 1");
    let said = error(&format!("{x}y = exp x : f32[5]"));
    assert_eq!(said, "graph text: exp has another shape or dtype (f32[4] vs f32[5]): line 2");
    assert_eq!(error("x = input(0) : f99[4]"), "graph text: no kind: f99[4]: line 1");
    assert_eq!(error("hello"), "graph text: expected `name = op operands`: line 1");
}
