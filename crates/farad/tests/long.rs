//! Long programs: they run on threads with little stack, and compile in time that grows as they do.

mod devices;

use std::time::{Duration, Instant};

use devices::devices;
use farad::prelude::*;

/// A stack that is small for what programs hold: threads usually have 2 MB.
const STACK: usize = 1 << 20;

/// A program that grows by a number, and what it gives.
struct Program {
    name: &'static str,
    build: fn(usize, &Device) -> farad::Result<Tensor>,
    /// A size for the test of stacks: beyond what ever worked.
    long: usize,
    /// A size for the test of time, and how long its first run may take on two cores.
    timed: (usize, Duration),
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

const PROGRAMS: &[Program] = &[
    Program { name: "pendulum, gradient at the start", build: pendulum, long: 400, timed: (200, ms(300)) },
    Program { name: "chain of tanh, gradient", build: chain, long: 1000, timed: (200, ms(300)) },
    Program { name: "chain of pointwise ops", build: pointwise, long: 8000, timed: (5000, ms(2000)) },
    Program { name: "chain that is held", build: held, long: 8000, timed: (2000, ms(1000)) },
    Program { name: "chain of moves", build: moves, long: 3000, timed: (1000, ms(1000)) },
    Program { name: "waves on a line", build: waves, long: 300, timed: (100, ms(1000)) },
    Program { name: "body of a scan", build: body, long: 8000, timed: (2000, ms(1000)) },
    Program { name: "checkpoint", build: checkpointed, long: 4000, timed: (500, ms(1000)) },
    Program { name: "sum of tensors", build: sum, long: 8000, timed: (5000, ms(2000)) },
    Program { name: "concat", build: concat, long: 8000, timed: (4000, ms(2000)) },
    Program { name: "adaptive average pool", build: adaptive_mean, long: 6788, timed: (6788, ms(300)) },
    Program { name: "adaptive max pool", build: adaptive_max, long: 2000, timed: (2000, ms(300)) },
];

fn line(device: &Device) -> farad::Result<Tensor> {
    (Tensor::arange(16, device).cast(DType::F32) * 0.1).detach()
}

fn pendulum(steps: usize, device: &Device) -> farad::Result<Tensor> {
    let start = line(device)?;
    let (mut t, mut w) = (start.clone(), start.full_like(0.0));
    for _ in 0..steps {
        w = &w - t.sin() * 0.01;
        t = &t + &w * 0.01;
    }
    t.sum().gradient(&start)
}

fn chain(steps: usize, device: &Device) -> farad::Result<Tensor> {
    let x = line(device)?;
    (0..steps).fold(x.clone(), |y, _| (&y * 0.9).tanh()).sum().gradient(&x)
}

fn pointwise(ops: usize, device: &Device) -> farad::Result<Tensor> {
    Ok((0..ops / 2).fold(line(device)?, |y, _| &y * 0.999 + 0.001))
}

/// All values stay in hand, and are read together.
fn held(ops: usize, device: &Device) -> farad::Result<Tensor> {
    let mut all = vec![line(device)?];
    for n in 0..ops {
        all.push(all[n].sin());
    }
    Tensor::compute_all(&all.iter().collect::<Vec<_>>())?;
    Ok(all.swap_remove(ops))
}

fn moves(count: usize, device: &Device) -> farad::Result<Tensor> {
    let x = line(device)?;
    let moved =
        (0..count).fold(x, |x, n| if n % 2 == 0 { x.flip(&[0]) } else { x.pad(&[(0, 1)]).narrow(0, 1, 16) });
    Ok(moved * 2.0)
}

fn waves(steps: usize, device: &Device) -> farad::Result<Tensor> {
    let mut u = line(device)?;
    for _ in 0..steps {
        let left = u.pad(&[(1, 0)]).narrow(0, 0, 16);
        let right = u.pad(&[(0, 1)]).narrow(0, 1, 16);
        u = &u + (left + right - &u * 2.0) * 0.1;
    }
    Ok(u)
}

fn body(ops: usize, device: &Device) -> farad::Result<Tensor> {
    let (last, _) = scan(&[&line(device)?], &[&Tensor::ones([3, 16], device)], |state, slice| {
        let next = (0..ops).fold(state[0].clone(), |y, _| y * 0.999);
        (vec![next + &slice[0]], vec![])
    });
    Ok(last[0].clone())
}

fn checkpointed(ops: usize, device: &Device) -> farad::Result<Tensor> {
    let x = line(device)?;
    let y = checkpoint(&x, |x| (0..ops).fold(x.clone(), |y, _| (y * 0.999).sin()));
    y.sum().gradient(&x)
}

fn leaves(count: usize, size: usize, device: &Device) -> farad::Result<Vec<Tensor>> {
    (0..count).map(|n| Tensor::full(n as f32, [size], device).detach()).collect()
}

fn sum(count: usize, device: &Device) -> farad::Result<Tensor> {
    let leaves = leaves(count, 4, device)?;
    Ok(leaves.iter().skip(1).fold(leaves[0].clone(), |sum, x| sum + x))
}

fn concat(count: usize, device: &Device) -> farad::Result<Tensor> {
    Ok(Tensor::concat(&leaves(count, 3, device)?.iter().collect::<Vec<_>>(), 0))
}

fn adaptive_mean(outputs: usize, device: &Device) -> farad::Result<Tensor> {
    Ok(Tensor::ones([1, 1, 9238], device).detach()?.adaptive_avg_pool1d(outputs))
}

fn adaptive_max(outputs: usize, device: &Device) -> farad::Result<Tensor> {
    Ok(Tensor::ones([1, 1, 9238], device).detach()?.adaptive_max_pool1d(outputs))
}

#[test]
fn long_programs_need_little_stack() {
    for device in devices() {
        for Program { name, build, long, .. } in PROGRAMS {
            // A software GPU compiles hundreds of shaders for the longest, which need no other stack.
            let long = if device.is_gpu() { long.div_ceil(64) } else { *long };
            let there = device.clone();
            let run = move || build(long, &there)?.to_vec::<f32>();
            let thread =
                std::thread::Builder::new().stack_size(STACK).spawn(run).expect("threads can be had");
            let values = thread.join().unwrap_or_else(|_| panic!("{name} on {device} panicked"));
            let values = values.unwrap_or_else(|error| panic!("{name} on {device}: {error}"));
            assert!(values.iter().all(|x| x.is_finite()), "{name} on {device}: {values:?}");
        }
    }
}

/// The first run of a program of this size on a device of its own.
fn time(program: &Program, size: usize) -> farad::Result<Duration> {
    let device = Device::cpu_with(Default::default());
    let start = Instant::now();
    (program.build)(size, &device)?.compute()?;
    Ok(start.elapsed())
}

#[test]
fn compile_time_grows_with_the_program() -> farad::Result<()> {
    let mut slow = Vec::new();
    for program in PROGRAMS {
        let (size, most) = program.timed;
        // Once more where something else had the processor.
        let tries = (0..3).map(|_| time(program, size)).collect::<farad::Result<Vec<_>>>()?;
        let least = tries.into_iter().min().expect("three");
        eprintln!("{} of {size}: {:.0} ms", program.name, least.as_secs_f64() * 1e3);
        if least > most {
            slow.push(format!("{} of {size}: {least:?} (at most {most:?})", program.name));
        }
    }
    assert!(slow.is_empty(), "slow to compile:\n{}", slow.join("\n"));
    Ok(())
}
