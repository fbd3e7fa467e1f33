//! One graph per rung: each test says what drafting its first output gives up.

use super::*;

/// The rungs that drafting the first output takes, and the nodes that are materialized afterwards. The other
/// outputs are materialized from the start.
fn climbed(text: &str, target: &Target) -> (Vec<&'static str>, Vec<u32>) {
    let (graph, outputs) = Graph::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let count = graph.nodes.len();
    let mut materialized = vec![false; count];
    outputs.iter().for_each(|id| materialized[id.index()] = true);
    let root = outputs[0];
    let mut owned = vec![false; count];
    owned[root.index()] = true;
    let (ends, apart) = (HashMap::new(), vec![false; count]);
    let around = Surroundings { graph: &graph, owned: &owned, ends: &ends, apart: &apart, target };
    let mut attempt = Attempt::new(&around, root, &mut materialized);
    let (mut rungs, mut ancestors) = (Vec::new(), Ancestors::of(&graph));
    while let Err(trouble) = attempt.run(&mut ancestors) {
        rungs.push(attempt.climb(&trouble));
    }
    (rungs, (0..count as u32).filter(|&n| materialized[n as usize]).collect())
}

#[test]
fn what_can_be_pulled_gives_nothing_up() {
    let text = "
        n0 = input(0) : f32[4, 8]
        n1 = exp n0
        n2 = sum(1) n1
        n3 = neg n2
        return n3";
    let (rungs, kept) = climbed(text, &Target::cpu());
    // A sum at outer level appends its axis.
    assert_eq!((rungs, kept), (vec!["mend the start"], vec![3]));
}

#[test]
fn be_no_product_that_is_loaded() {
    // The sum depends on the product, so no kernel both computes the product and loads the sum.
    let text = "
        n0 = input(0) : f32[4, 8]
        n1 = input(1) : f32[8, 6]
        n2 = contract(a=4 b=6 c=8; a c; c b -> a b) n0 n1
        n3 = sum(1) n2
        n4 = reshape n3 : f32[4, 1]
        n5 = expand n4 : f32[4, 6]
        n6 = sub n2 n5
        return n6, n3, n2";
    let (rungs, kept) = climbed(text, &Target::cpu());
    assert_eq!((rungs, kept), (vec!["mend the start", "be no product"], vec![2, 3, 6]));
}

#[test]
fn mend_the_start_where_a_reshape_splits_an_axis() {
    let text = "
        n0 = input(0) : f32[6, 4]
        n1 = exp n0
        n2 = reshape n1 : f32[2, 3, 4]
        n3 = permute(1, 0, 2) n2
        n4 = reshape n3 : f32[6, 4]
        n5 = neg n4
        return n5";
    let (rungs, kept) = climbed(text, &Target::cpu());
    assert_eq!((rungs, kept), (vec!["mend the start"], vec![5]));
}

#[test]
fn write_the_whole_at_once_where_a_part_cannot_be_pulled() {
    let text = "
        n0 = input(0) : f32[3]
        n1 = order(ascending) n0
        n2 = order(descending) n0
        n3 = pad(0:3) n1
        n4 = pad(3:0) n2
        n5 = add n3 n4
        return n5";
    let (rungs, kept) = climbed(text, &Target::cpu());
    let wanted = vec!["write the whole at once", "keep what is in the way", "keep what is in the way"];
    assert_eq!((rungs, kept), (wanted, vec![1, 2, 5]));
}

#[test]
fn load_what_is_in_memory_before_the_heaviest_is_cut_off() {
    let text = "
        n0 = input(0) : f32[4]
        n1 = input(1) : f32[4]
        n2 = input(2) : f32[4]
        n3 = mul n0 n1
        n4 = add n3 n2
        n5 = exp n4
        return n5";
    let target = |bindings| Target { bindings, ..Target::cpu() };
    assert_eq!(climbed(text, &target(4)), (vec![], vec![5]));
    let (rungs, kept) = climbed(text, &target(3));
    assert_eq!((rungs, kept), (vec!["load what is in memory", "cut off the heaviest"], vec![4, 5]));
}

#[test]
fn load_into_the_epilogue_before_the_product_ends() {
    let text = "
        n0 = input(0) : f32[4, 8]
        n1 = input(1) : f32[8, 6]
        n2 = contract(a=4 b=6 c=8; a c; c b -> a b) n0 n1
        n3 = input(2) : f32[4, 6]
        n4 = order(ascending) n3
        n5 = cast n4 : f32[4, 6]
        n6 = add n2 n5
        return n6";
    let (rungs, kept) = climbed(text, &Target::cpu());
    let wanted = vec!["load into the epilogue", "end the product", "keep what is in the way"];
    assert_eq!((rungs, kept), (wanted, vec![2, 4, 6]));
}

#[test]
fn an_epilogue_that_loads_stays_one() {
    // The sum cannot be computed in an epilogue. It is materialized, so it is loaded.
    let text = "
        n0 = input(0) : f32[4, 8]
        n1 = input(1) : f32[8, 6]
        n2 = contract(a=4 b=6 c=8; a c; c b -> a b) n0 n1
        n3 = sum(1) n0
        n4 = reshape n3 : f32[4, 1]
        n5 = expand n4 : f32[4, 6]
        n6 = add n2 n5
        return n6, n3";
    let (rungs, kept) = climbed(text, &Target::cpu());
    assert_eq!((rungs, kept), (vec![], vec![3, 6]));
}

#[test]
fn every_rung_has_a_name_of_its_own() {
    let names: HashSet<&str> = LADDER.iter().map(|rung| rung.name).collect();
    assert_eq!(names.len(), LADDER.len());
}
