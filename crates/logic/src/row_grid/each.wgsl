// A value for every row and column. The kernel in this frame declares `result` and defines `at`. parameters:
// rows, columns, columns of neighboring invocations as a power of two, and one parameter of the kernel.

// The samples that one invocation computes at once.
//{ value
alias Value = f32;
//}

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let columns = parameters[0].y;
    let shift = parameters[0].z;
    let row = (group.x + group.z * groups.x) * (256u >> shift) + (local >> shift);
    if row >= parameters[0].x {
        return;
    }
    let lane = local & ((1u << shift) - 1u);
    for (var column = (group.y << shift) + lane; column < columns; column += groups.y << shift) {
        result[row * columns + column] = at(row, column);
    }
}

//{ kernel
@group(0) @binding(1) var<storage, read_write> result: array<Value>;

fn at(row: u32, column: u32) -> Value {
    return Value();
}
//}
