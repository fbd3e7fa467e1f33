//! All collectives, for odd lengths, several dtypes and one to four ranks: between threads, and over MPI where this is
//! built with it.

use bytemuck::{Zeroable, cast_slice, pod_collect_to_vec};
use farad_group::{Combine, Group, GroupError, MeanPart, Summable, WireFormat, share};
use half::f16;

/// Lengths that divide evenly, unevenly and not at all, below and above what is reduced in one move, and in several pieces.
const LENGTHS: [usize; 7] = [0, 1, 2, 3, 7, 1_021, 140_003];

/// What every rank checks, by the table of dtypes.
fn check_all(group: &Group) {
    numbers::<f32>(group, |n| n as f32 / 8.0);
    numbers::<f64>(group, |n| n as f64 / 8.0);
    numbers::<f16>(group, |n| f16::from_f32(n as f32 / 8.0));
    numbers::<i32>(group, |n| n as i32 - 50);
    numbers::<i64>(group, |n| n as i64 - 50);
    numbers::<u32>(group, |n| n as u32);
    numbers::<u64>(group, |n| n as u64);
    nothing(group);
    orders(group);
    texts(group);
    overlaps(group);
    means(group);
}

/// Rank `rank` gives the numbers `of(element(rank, n))`, which are small enough for sums to be exact.
fn element(rank: usize, n: usize) -> usize {
    (n * 7 + rank * 13) % 97
}

fn numbers<T: Summable + std::fmt::Debug + Zeroable>(group: &Group, of: fn(usize) -> T) {
    let (rank, size) = (group.rank(), group.size());
    for len in LENGTHS {
        let given = |rank: usize| (0..len).map(|n| of(element(rank, n))).collect::<Vec<T>>();
        for by in [Combine::Sum, Combine::Mean, Combine::Min, Combine::Max] {
            let wanted: Vec<T> = (0..len).map(|n| combined(size, n, of, by)).collect();
            let mut all = given(rank);
            group.all_reduce(&mut all, by).expect("all-reduce");
            assert_eq!(all, wanted, "all-reduce of {len} by {by:?}");
            let part = group.reduce_scatter(&given(rank), by).expect("reduce-scatter");
            assert_eq!(part, wanted[share(len, size, rank)], "reduce-scatter of {len} by {by:?}");
        }
        let ragged = &given(rank)[..len / (rank + 1)];
        let wanted: Vec<Vec<T>> = (0..size).map(|other| given(other)[..len / (other + 1)].to_vec()).collect();
        assert_eq!(group.all_gather(ragged).expect("all-gather"), wanted);
        for root in 0..size {
            let gathered = group.gather(ragged, root).expect("gather");
            assert_eq!(gathered, if rank == root { wanted.clone() } else { vec![] });
            let mut sent = given(rank);
            group.broadcast(&mut sent, root).expect("broadcast");
            assert_eq!(sent, given(root));
        }
        group.barrier().expect("barrier");
    }
    assert!(group.broadcast(&mut [of(1)], size).is_err(), "there is no such rank");
}

/// What all ranks together give at a place, added up in order by hand.
fn combined<T: Summable>(size: usize, n: usize, of: fn(usize) -> T, by: Combine) -> T {
    let all = (0..size).map(|rank| of(element(rank, n)).widen());
    let larger = |a: T::Wide, b: T::Wide| if b > a { b } else { a };
    let smaller = |a: T::Wide, b: T::Wide| if b < a { b } else { a };
    let found = match by {
        Combine::Sum | Combine::Mean => all.reduce(|a, b| a + b),
        Combine::Min => all.reduce(smaller),
        Combine::Max => all.reduce(larger),
    };
    let found = found.expect("a rank");
    T::narrow(if by == Combine::Mean { T::divide(found, size) } else { found })
}

/// Bytes that some or all ranks do not have.
fn nothing(group: &Group) {
    for mine in ["", if group.rank() == 0 { "" } else { "x" }, if group.rank() == 0 { "x" } else { "" }] {
        assert_eq!(group.all_texts(mine).expect("texts")[group.rank()], mine);
        let gathered = group.gather(mine.as_bytes(), 0).expect("gather");
        assert_eq!(gathered.len(), if group.rank() == 0 { group.size() } else { 0 });
    }
    group.broadcast(&mut [0u8; 0], 0).expect("broadcast");
    let part = group.reduce_scatter(&[3u8][..], Combine::Max).expect("reduce-scatter");
    assert_eq!(part, if group.rank() == 0 { vec![3] } else { vec![] });
}

/// Sums that depend on their order are made in the order of ranks, in both ways to reduce.
fn orders(group: &Group) {
    let term = |rank: usize| [1e8f32, 1.0, -1e8, 0.5][rank % 4];
    let wanted = (0..group.size()).map(term).reduce(|a, b| a + b).expect("a rank");
    for len in [3, 5_003] {
        let mut all = vec![term(group.rank()); len];
        group.all_reduce(&mut all, Combine::Sum).expect("all-reduce");
        assert!(all.iter().all(|sum| sum.to_bits() == wanted.to_bits()), "{:?} vs {wanted}", &all[..3]);
    }
}

fn texts(group: &Group) {
    let all = group.all_texts(&"rank ".repeat(group.rank())).expect("texts");
    assert_eq!(all, (0..group.size()).map(|rank| "rank ".repeat(rank)).collect::<Vec<_>>());
    group.agree(&[("version", "1".into()), ("batch", "64".into())]).expect("all are alike");
    let mine = if group.rank() + 1 == group.size() { "32" } else { "64" };
    let answer = group.agree(&[("version", "1".into()), ("batch", mine.into())]);
    if group.is_alone() {
        return answer.expect("alone");
    }
    let text = answer.expect_err("one differs").to_string();
    assert!(text.starts_with("group: ranks differ: batch (rank 0 on "), "{text}");
    assert!(
        text.contains(&format!(": 64 vs rank {} on ", group.size() - 1)) && text.contains(": 32)"),
        "{text}"
    );
}

/// Several reductions under way at once end with their own numbers.
fn overlaps(group: &Group) {
    let started: Vec<_> = (1..=5)
        .map(|n| group.start_all_reduce(vec![n as f32 * (group.rank() + 1) as f32; n * 400], Combine::Sum))
        .collect();
    let ranks: usize = (1..=group.size()).sum();
    for (n, underway) in (1..=5).zip(started) {
        let sums = underway.wait().expect("all-reduce");
        assert!(sums.len() == n * 400 && sums.iter().all(|&sum| sum == (n * ranks) as f32));
    }
}

/// Means of f16 on the wire are as near as it is said, the same bits on all ranks, and shares of them are the whole's.
fn means(group: &Group) {
    let (rank, size) = (group.rank(), group.size());
    let number = |rank: usize, n: usize| (element(rank, n) as f32 - 40.0) * 1.7e-6 / (1.0 + n as f32);
    for len in [0, 5, 1_500, 70_001] {
        let give = move || {
            let numbers: Vec<f32> = (0..len).map(|n| number(rank, n)).collect();
            Ok(cast_slice(&numbers).to_vec())
        };
        let mean = |part, wire| -> Vec<f32> {
            pod_collect_to_vec(&group.start_mean::<f32>(give, part, wire).wait().expect("a mean"))
        };
        let whole = |wire| mean(MeanPart::Whole, wire);
        let (full, half) = (whole(WireFormat::Full), whole(WireFormat::Half));
        let largest = full.iter().fold(0f32, |most, number| most.max(number.abs())).max(1.7e-6 * 97.0);
        for (n, (full, half)) in full.iter().zip(&half).enumerate() {
            // Every rank's number is rounded, then the mean.
            let given: f32 = (0..size).map(|rank| number(rank, n).abs()).sum::<f32>() / size as f32;
            let allowed = 2.1 * (given * 2f32.powi(-11)).max(largest * 2f32.powi(-39));
            assert!((full - half).abs() <= allowed, "mean {n} of {len}: {full:e} vs {half:e}");
        }
        let bits = half.iter().map(|number| u64::from(number.to_bits())).collect::<Vec<_>>();
        assert!(group.all_gather(&bits).expect("bits").iter().all(|other| *other == bits));
        let part = mean(MeanPart::Share, WireFormat::Full);
        assert_eq!(part, full[share(len, size, rank)]);
        // A share is not sent again, so it is rounded once less.
        let part = mean(MeanPart::Share, WireFormat::Half);
        assert_eq!(part.len(), share(len, size, rank).len());
    }
    let failed = group.start_mean::<f32>(|| Err(GroupError::Empty.into()), MeanPart::Whole, WireFormat::Full);
    assert!(failed.wait().is_err(), "what cannot be given is an error");
}

#[test]
fn threads_reduce_gather_and_broadcast() {
    for size in 1..=4 {
        std::thread::scope(|scope| {
            for group in Group::threads(size).expect("ranks") {
                scope.spawn(move || check_all(&group));
            }
        });
    }
}

#[test]
fn a_group_has_a_rank() {
    assert!(Group::threads(0).is_err());
}

#[test]
fn nobody_waits_for_a_rank_that_panicked() {
    let mut ranks = Group::threads(3).expect("ranks").into_iter();
    let (first, second, third) = (ranks.next().unwrap(), ranks.next().unwrap(), ranks.next().unwrap());
    let waiting = [first, second].map(|group| {
        std::thread::spawn(move || group.all_reduce(&mut [1.0f32], Combine::Sum).expect_err("a rank is gone"))
    });
    let panicking = std::thread::spawn(move || {
        let _group = third;
        std::panic::resume_unwind(Box::new("a fault"));
    });
    assert!(panicking.join().is_err());
    for thread in waiting {
        let text = thread.join().expect("no panic").to_string();
        assert_eq!(text, "group: rank 2 is gone: it panicked");
    }
}

/// A rank that gave up makes further calls; they must not stand for the one that another rank has yet to make.
#[test]
fn calls_after_an_error_are_errors_for_the_same_reason() {
    let mut ranks = Group::threads(3).expect("ranks");
    drop(ranks.remove(1));
    for group in ranks {
        for len in [1, 3] {
            let error = group.all_reduce(&mut vec![1.0f32; len], Combine::Sum).expect_err("a rank is gone");
            assert_eq!(error.to_string(), "group: rank 1 is gone: it has ended");
        }
    }
}

#[test]
fn different_lengths_are_refused() {
    let errors = Group::threads(2).expect("ranks").into_iter().map(|group| {
        std::thread::spawn(move || {
            let mut mine = vec![1.0f32; 2 + group.rank()];
            group.all_reduce(&mut mine, Combine::Sum).expect_err("lengths differ").to_string()
        })
    });
    for error in errors.collect::<Vec<_>>() {
        let text = error.join().expect("no panic");
        assert!(text.contains("ranks give different lengths: ("), "{text}");
    }
}

/// Starts this test again under `mpirun` with one to four ranks; each of them checks everything.
#[cfg(feature = "mpi")]
#[test]
fn processes_reduce_gather_and_broadcast() {
    if farad_tensor::ENVIRONMENT.ranks.is_some() {
        let group = Group::world().expect("MPI starts");
        assert_eq!(Some(group.size()), farad_tensor::ENVIRONMENT.ranks);
        return check_all(&group);
    }
    let program = std::env::current_exe().expect("this test");
    for size in 1..=4 {
        let done = std::process::Command::new("mpirun")
            .args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", &size.to_string()])
            .arg(&program)
            .args(["--exact", "processes_reduce_gather_and_broadcast"])
            .output()
            .expect("mpirun starts");
        let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{size} ranks:\n{said}");
        assert_eq!(said.matches("1 passed").count(), size, "{said}");
    }
}
