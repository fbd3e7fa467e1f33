//! scratch
use farad_testkit::fuzz::*;
#[test]
fn stats() {
    let l = Limits { ops: 25, elements: 3000, smooth: false };
    let mut steps = 0; let mut outs = 0; let mut exact=0; let mut names = std::collections::BTreeMap::new();
    for seed in 0..2000 {
        let r = Recipe::grow(seed, l);
        steps += r.steps.len(); outs += r.outputs.len();
        exact += r.outputs.iter().filter(|&&n| r.steps[n].exact).count();
        for s in &r.steps { if let Source::Op(o) = &s.source { *names.entry(o.name.split(' ').next().unwrap().to_string()).or_insert(0) += 1; } }
        if seed % 500 == 7 { eprintln!("{r}"); }
    }
    eprintln!("{steps} {outs} {exact} {names:?}");
}
