// Gradients of the leaves of the largest squares, and of the coefficients, summed over a part of the cells and
// samples: part `group.y` of a kernel takes every `parts`-th block of 256 items. parameters: kernels, samples,
// parts.

// The sizes of the stage.
const CHANNELS = 1u;
const BESIDE = 1u;
const HEIGHT = 8u;
const WIDTH = 8u;
const OFFSET = 0u;
const POOL = 1u;
const ROWS = 8u;
const COLUMNS = 8u;
const CELLS = 64u;
const LEAVES = 2u;
const GATES = 1u;

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> coefficients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> slopes: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> leaves: array<u32>;
@group(0) @binding(4) var<storage, read> x: array<f32>;
@group(0) @binding(5) var<storage, read> largest: array<u32>;
@group(0) @binding(6) var<storage, read> g: array<f32>;
@group(0) @binding(7) var<storage, read_write> at_leaves: array<f32>;
@group(0) @binding(8) var<storage, read_write> sums: array<vec4<f32>>;

var<workgroup> shared_sums: array<vec4<f32>, 256>;

fn gate(c: vec4<f32>, a: f32, b: f32) -> f32 {
    return c.x + c.z * b + a * (c.y + c.w * b);
}

fn value_at(leaf: u32, down: u32, right: u32, columns: u32, column: u32) -> f32 {
    let row = down + leaves[3u * leaf + 1u] - OFFSET;
    let place = right + leaves[3u * leaf + 2u] - OFFSET;
    if row >= HEIGHT || place >= WIDTH {
        return 0.0;
    }
    return x[(leaves[3u * leaf] + (row * WIDTH + place) * BESIDE) * columns + column];
}

// The sum over the workgroup, for its first invocation.
fn total(local: u32, own: vec4<f32>) -> vec4<f32> {
    shared_sums[local] = own;
    for (var half = 128u; half > 0u; half >>= 1u) {
        workgroupBarrier();
        if local < half {
            shared_sums[local] += shared_sums[local + half];
        }
    }
    workgroupBarrier();
    return shared_sums[0];
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let kernel = group.x + group.z * groups.x;
    let samples = parameters[0].y;
    let parts = parameters[0].z;
    if kernel >= parameters[0].x {
        return;
    }
    let first = kernel * LEAVES;
    let c = kernel * GATES;
    //{ sums
    var s0 = vec4<f32>();
    //}
    for (var item = group.y * 256u + local; item < CELLS * samples; item += parts * 256u) {
        let cell = item / samples;
        let sample = item % samples;
        let row = kernel * CELLS + cell;
        //{ square
        let square = largest[row * samples + sample];
        //}
        let down = cell / COLUMNS * POOL + square / POOL;
        let right = cell % COLUMNS * POOL + square % POOL;
        let columns = samples;
        let column = sample;
        //{ nodes
        let n0 = value_at(first + 0u, down, right, columns, column);
        let n1 = value_at(first + 1u, down, right, columns, column);
        let n2 = gate(coefficients[c + 0u], n0, n1);
        let root = n2;
        //}
        let upstream = g[row * samples + sample];
        //{ slopes
        let g2 = upstream;
        s0 += g2 * vec4(1.0, n0, n1, n0 * n1);
        let c0 = slopes[c + 0u];
        let g0 = g2 * (c0.y + c0.w * n1);
        let g1 = g2 * (c0.z + c0.w * n0);
        at_leaves[((first + 0u) * CELLS + cell) * samples + sample] = g0;
        at_leaves[((first + 1u) * CELLS + cell) * samples + sample] = g1;
        //}
    }
    //{ totals
    let t0 = total(local, s0);
    if local == 0u { sums[(group.y * parameters[0].x + kernel) * GATES + 0u] = t0; }
    workgroupBarrier();
    //}
}
