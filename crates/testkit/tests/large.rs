//! More elements than one dimension of a dispatch has invocations (65,535 groups of 256): every kind of kernel
//! that iterates over elements must reach the last one, and each element only once.

use std::time::Instant;

use farad::{Device, DeviceOptions, Result, Tensor};
use farad_testkit::{SuiteReport, announce, gpu, open_cpu};

/// Rows of four: 16,777,260 elements in all, more than 65,535 × 256.
const ROWS: usize = 4_194_315;
const COUNT: usize = 4 * ROWS;

/// Element `i` of the test data, with wrapping arithmetic as on devices.
fn value(i: usize) -> i32 {
    (i as i32).wrapping_mul(40_503) ^ (i as i32)
}

fn values(device: &Device) -> Tensor {
    let i = Tensor::arange(COUNT, device);
    (&i * 40_503).xor(&i)
}

fn same(
    report: &mut SuiteReport,
    what: &str,
    found: Vec<i32>,
    expected: impl Fn(usize) -> i32,
    count: usize,
) {
    report.ran += 1;
    assert_eq!(found.len(), count, "{what}");
    if let Some(at) = (0..count).find(|&n| found[n] != expected(n)) {
        report.failures.push(format!("{what}: element {at} is wrong ({} vs {})", found[at], expected(at)));
    }
}

fn check(report: &mut SuiteReport, device: &Device) -> Result<()> {
    let x = values(device).detach()?;
    let sum = |terms: [usize; 4]| terms.map(value).into_iter().fold(0i32, i32::wrapping_add);
    same(report, "pointwise", x.to_vec::<i32>()?, value, COUNT);
    let rows = x.reshape([ROWS, 4]);
    let turned = rows.transpose(0, 1).to_vec::<i32>()?;
    same(report, "transpose", turned, |n| value(n % ROWS * 4 + n / ROWS), COUNT);
    let sums = rows.sum_axes([1]).to_vec::<i32>()?;
    same(report, "many short rows", sums, |n| sum([0, 1, 2, 3].map(|c| 4 * n + c)), ROWS);
    let columns = x.reshape([4, ROWS]).sum_axes([0]).to_vec::<i32>()?;
    same(report, "many short columns", columns, |n| sum([0, 1, 2, 3].map(|r| r * ROWS + n)), ROWS);
    let total = (0..COUNT).map(value).fold(0i32, i32::wrapping_add);
    same(report, "one long row", x.sum().to_vec::<i32>()?, |_| total, 1);
    let shifted = x.slice(1..).to_vec::<i32>()?;
    same(report, "an odd start", shifted, |n| value(n + 1), COUNT - 1);
    let table = Tensor::from_vec((0..7).map(value).collect::<Vec<i32>>(), [7], device);
    let picked = table.gather(0, &(Tensor::arange(COUNT, device) % 7)).to_vec::<i32>()?;
    same(report, "gather", picked, |n| value(n % 7), COUNT);
    Ok(())
}

fn suite(name: &str, device: &Device) {
    let (start, mut report) = (Instant::now(), SuiteReport::default());
    check(&mut report, device).unwrap_or_else(|error| panic!("{name}: {error}"));
    report.conclude(name, start);
}

#[test]
fn every_element_is_reached() {
    suite("large, cpu", &open_cpu(true));
    for core in [false, true] {
        let name = if core { "large, core gpu" } else { "large, gpu" };
        match gpu(name, DeviceOptions { core, ..DeviceOptions::default() }) {
            Some(device) => suite(name, &device),
            None => announce("large: the CPU alone was tested"),
        }
    }
}
