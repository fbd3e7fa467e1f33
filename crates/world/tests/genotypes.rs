//! Genotypes: files, growth, limits, mutation and crossover; and herds: bodies are data.

use farad_tensor::{Device, Tensor};
use farad_world::{
    Draws, GeneEdge, Genotype, Grown, Herd, HerdTrial, MOST_PARTS, RolloutOptions, TrialResult, Variation,
    VariedGenes, World,
};

/// A trunk with a pair of legs of two links.
fn walker() -> Genotype {
    let mut genotype = Genotype::random(1);
    let network = genotype.nodes[0].network.clone();
    let node = |name: &str, length: f64, repeats: usize| farad_world::GeneNode {
        name: name.into(),
        length,
        radius: 0.08,
        density: 500.0,
        repeats,
        joint: farad_world::GeneJoint { axes: 2, swing: 0.8, strength: 1.0 },
        network: network.clone(),
    };
    let edge = |from: &str, to: &str, mirror: bool| GeneEdge {
        from: from.into(),
        to: to.into(),
        along: 0.5,
        around: 0.3,
        lean: 0.2,
        twist: 0.1,
        scale: 0.9,
        mirror,
        last: false,
        phase: 0.25,
        opposite: 0.5,
    };
    genotype.root = "trunk".into();
    genotype.nodes = vec![node("trunk", 0.5, 0), node("leg", 0.3, 1)];
    genotype.edges = vec![edge("trunk", "leg", true), edge("leg", "leg", false)];
    genotype
}

#[test]
fn nodes_repeat_and_edges_are_mirrored() {
    let grown = walker().grown().expect("it grows");
    let carriers: Vec<Option<usize>> = grown.parts.iter().map(|part| part.carrier).collect();
    // Both legs first, then what they carry.
    assert_eq!(carriers, [None, Some(0), Some(0), Some(1), Some(2)]);
    for (left, right) in [(1, 2), (3, 4)] {
        let [a, b] = [left, right].map(|n| &grown.parts[n]);
        for ((p, q), sign) in a.center.iter().zip(b.center).zip([1.0, -1.0, 1.0]) {
            assert!((p - sign * q).abs() < 1e-12, "{:?} {:?}", a.center, b.center);
        }
        assert!((b.phase - a.phase - 0.5).abs() < 1e-12 && a.hand == -b.hand);
    }
    let lowest = grown.parts.iter().map(|p| p.center[2] - (p.axes[0][2] * p.half_length).abs() - p.radius);
    assert!((lowest.fold(f64::INFINITY, f64::min) - 0.02).abs() < 1e-12);
}

/// Mirrored motors turn mirrored limbs by mirrored angles.
#[test]
fn the_same_action_moves_both_sides_alike() -> farad_tensor::Result<()> {
    let device = Device::cpu();
    let mut description = walker().grown()?.description();
    (description.gravity, description.planes) = (Some(vec![0.0; 3]), vec![]);
    let world = World::new(&description, &device)?;
    assert_eq!(world.motors(), 8);
    // Both axes of the two legs, then of their lower links: the same on both sides.
    let row: Vec<f32> = vec![0.5, -0.3, 0.5, -0.3, 0.2, 0.6, 0.2, 0.6];
    let actions = Tensor::from_vec(row.repeat(20), [20, 1, 8], &device);
    let end = world.rollout(&world.reset(1, 0), &actions, &RolloutOptions::default()).last;
    let at = end.position.to_vec::<f32>()?;
    for (left, right) in [(1, 2), (3, 4)] {
        let [a, b] = [left, right].map(|n| &at[3 * n..3 * n + 3]);
        let apart = (a[0] - b[0]).abs() + (a[1] + b[1]).abs() + (a[2] - b[2]).abs();
        assert!(apart < 2e-3, "{a:?} {b:?}");
    }
    let start = world.reset(1, 0).position.to_vec::<f32>()?;
    assert!((at[3] - start[3]).abs() + (at[5] - start[5]).abs() > 0.02, "the legs moved");
    Ok(())
}

#[test]
fn bad_genotypes_name_the_place() {
    let text = walker().to_json();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Genotype::from_json(&text.replacen(from, to, 1)).expect_err(to).to_string()
    };
    let rows = [
        ("\"version\": 1", "\"version\": 3", "version: not supported by this program (3 vs 1)"),
        ("\"root\": \"trunk\"", "\"root\": \"head\"", "root: no node \"head\""),
        ("\"length\": 0.5", "\"length\": -1", "nodes[0].length: out of range (-1 vs 0.05 to 1)"),
        ("\"length\": 0.5", "\"length\": \"x\"", "nodes[0].length: it is a number, not \"x\""),
        ("\"axes\": 2", "\"axes\": 3", "nodes[0].joint.axes: neither one nor two (3 vs 1 or 2)"),
        ("\"name\": \"leg\"", "\"name\": \"trunk\"", "nodes[1].name: a second node \"trunk\""),
        ("\"to\": \"leg\"", "\"to\": \"arm\"", "edges[0].to: no node \"arm\""),
        ("\"along\": 0.5", "\"along\": 1.5", "edges[0].along: out of range (1.5 vs -1 to 1)"),
        (
            "\"mirror\": true",
            "\"mirrored\": true",
            "edges[0].mirrored: there is no such key; did you mean `mirror`?",
        ),
        ("\"clock\"", "\"watch\"", "watch: there is no such key"),
    ];
    for (from, to, wanted) in rows {
        let found = with(from, to);
        assert!(found.starts_with("genotype: ") && found.contains(wanted), "{found} / {wanted}");
    }
    assert!(Genotype::from_json("[1").expect_err("no object").to_string().contains("not a genotype"));
    let mut short = walker();
    short.nodes[0].network.outputs[1].pop();
    let found = short.check().expect_err("a short row").to_string();
    assert!(found.contains("nodes[0].network.outputs[1]: a list of another length (3 vs 4)"), "{found}");
}

#[test]
fn bodies_that_break_limits_are_refused_with_reasons() {
    let refused = |change: &dyn Fn(&mut Genotype)| {
        let mut genotype = walker();
        change(&mut genotype);
        let error = genotype.grown().expect_err("it is refused");
        assert!(error.reason().is_some(), "{error}");
        error.to_string()
    };
    let many = refused(&|g| {
        (g.nodes[1].repeats, g.edges[1].mirror) = (4, true);
    });
    assert!(many.contains("too many parts") && many.contains("vs at most 9"), "{many}");
    assert!(refused(&|g| g.edges.clear()).contains("it has no joint (1 part vs at least 2)"));
    let carried = refused(&|g| {
        g.nodes[1].repeats = 0;
        let edge = g.edges[0].clone();
        g.edges = vec![edge.clone(), edge.clone(), edge];
    });
    assert!(carried.contains("part 0 carries too many parts (6 vs at most 4)"), "{carried}");
    let heavy = refused(&|g| {
        (g.nodes[0].radius, g.nodes[0].length, g.nodes[0].density) = (0.25, 1.0, 2000.0);
    });
    assert!(heavy.contains("its mass (") && heavy.contains("vs 0.5 to 120 kg"), "{heavy}");
    // A million copies are found out before they grow.
    let vast = refused(&|g| {
        (g.nodes[0].repeats, g.nodes[1].repeats) = (8, 8);
        g.edges.push(GeneEdge { from: "leg".into(), to: "trunk".into(), ..g.edges[0].clone() });
    });
    assert!(vast.contains("too many parts"), "{vast}");
}

#[test]
fn children_grow_differ_and_repeat() {
    let variation = Variation::default();
    let mut parent = walker();
    let mut differ = 0;
    for n in 0..200u64 {
        let other = Genotype::random(n);
        let (child, _) = parent.child(&other, &variation, &mut Draws::new(5, n));
        let (again, _) = parent.child(&other, &variation, &mut Draws::new(5, n));
        assert_eq!(child, again);
        child.check().expect("it is whole");
        let grown = child.grown().expect("it grows");
        assert!((2..=MOST_PARTS).contains(&grown.parts.len()));
        assert_eq!(Genotype::from_json(&child.to_json()).expect("it is read"), child);
        differ += usize::from(child != parent);
        if n % 10 == 9 {
            parent = child;
        }
    }
    assert!(differ > 180, "{differ}");
}

#[test]
fn only_what_may_vary_varies() {
    let parent = walker();
    let of = |genes| {
        let variation =
            Variation { genes, rate: 1.0, weight_rate: 1.0, structure: 0.0, ..Variation::default() };
        parent.mutated(&variation, &mut Draws::new(1, 1))
    };
    let (body, network) = (of(VariedGenes::Body), of(VariedGenes::Network));
    assert!(body.nodes[0].length != parent.nodes[0].length && body.clock == parent.clock);
    assert!(body.nodes.iter().all(|node| node.network == parent.nodes[0].network));
    assert!(network.nodes[0].network != parent.nodes[0].network && network.clock != parent.clock);
    let parts = |genotype: &Genotype| -> Vec<[f64; 3]> {
        genotype.grown().expect("it grows").parts.iter().map(|part| part.center).collect()
    };
    assert_eq!(parts(&network), parts(&parent));
}

/// In a herd every creature moves as it does alone: motors by its networks, contacts, joints and all.
#[test]
fn a_herd_moves_as_its_creatures_do_alone() -> farad_tensor::Result<()> {
    let device = Device::cpu();
    let mut grown: Vec<Grown> = (0..5).map(|n| Genotype::random(n).grown().expect("it grows")).collect();
    grown.push(walker().grown()?);
    assert!(grown.iter().any(|g| g.parts.len() != grown[0].parts.len()));
    let trial = HerdTrial { settle: 0.0, seconds: 0.12 };
    let together = Herd::new(&grown, &device)?.motion(&trial, 4);
    for (n, own) in grown.iter().enumerate() {
        let alone = Herd::new(std::slice::from_ref(own), &device)?.motion(&trial, 4);
        let parts = own.parts.len();
        let of = |t: &Tensor, n: usize| t.narrow(1, n, 1).narrow(2, 0, parts).to_vec::<f32>();
        for (a, b) in of(&together.position, n)?.iter().zip(of(&alone.position, 0)?) {
            assert!((a - b).abs() < 1e-4, "creature {n}: {a} {b}");
        }
        // And as the world of its body under the same actions.
        let world = World::new(&own.description(), &device)?;
        let start = world.reset(1, 0);
        let still = Tensor::zeros([1, 1, world.motors()], &device);
        let one = world.rollout(&start, &still, &RolloutOptions::default()).last;
        let first = Herd::new(&grown, &device)?.motion(&HerdTrial { settle: 1.0, seconds: 0.02 }, 4);
        let first = first.position.narrow(0, 1, 1).narrow(1, n, 1).narrow(2, 0, parts).to_vec::<f32>()?;
        for (a, b) in first.iter().zip(one.position.to_vec::<f32>()?) {
            assert!((a - b).abs() < 1e-4, "creature {n} in its world: {a} {b}");
        }
    }
    Ok(())
}

/// What grows is data: other bodies in a herd of the same size compile nothing.
#[test]
fn other_bodies_run_the_same_plan() -> farad_tensor::Result<()> {
    let device = Device::cpu_with(Default::default());
    let trial = HerdTrial { settle: 0.02, seconds: 0.04 };
    let herd = |first: u64| -> farad_tensor::Result<Vec<TrialResult>> {
        let grown: Vec<Grown> =
            (first..first + 3).map(|n| Genotype::random(n).grown().expect("it grows")).collect();
        Herd::new(&grown, &device)?.tried(&trial)
    };
    herd(0)?;
    let before = device.counters();
    let mut results = vec![];
    for first in 1..6 {
        results.push(herd(10 * first)?);
    }
    // A herd of one kind of body, three times.
    let one = walker().grown()?;
    Herd::new(&[one.clone(), one.clone(), one], &device)?.tried(&trial)?;
    let done = device.counters().since(&before);
    assert_eq!((done.runs, done.plans_compiled), (6, 0));
    assert!(results.iter().flatten().all(|result| result.whole && result.height > 0.0), "{results:?}");
    Ok(())
}

/// A creature that comes apart counts as one that did not move; the others do not notice.
#[test]
fn what_explodes_got_nowhere() -> farad_tensor::Result<()> {
    // As strong and as fast as genes may be.
    let wild = |seed: u64| {
        let mut genotype = Genotype::random(seed);
        genotype.clock = 5.0;
        for node in &mut genotype.nodes {
            (node.joint.strength, node.joint.swing) = (2.0, 1.5);
            let network = &mut node.network;
            let weights = network.neurons.iter_mut().chain(&mut network.outputs).flatten();
            weights.for_each(|weight| *weight = 8.0 * weight.signum());
        }
        genotype.grown().expect("it grows")
    };
    let herd = [18, 31, 43, 45].map(wild).into_iter().chain([walker().grown()?]).collect::<Vec<_>>();
    let trial = HerdTrial { settle: 0.0, seconds: 1.0 };
    let results = Herd::new(&herd, &Device::cpu())?.tried(&trial)?;
    let (calm, wild) = results.split_last().expect("there are five");
    assert!(calm.whole && calm.height > 0.05, "{calm:?}");
    assert!(wild.iter().any(|result| !result.whole), "{wild:?}");
    for result in wild.iter().filter(|result| !result.whole) {
        assert_eq!(*result, TrialResult::default());
    }
    Ok(())
}
