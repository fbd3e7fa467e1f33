// Sums over columns. The kernel in this frame sums some of the samples of its rows. parameters: rows, columns,
// columns of neighboring invocations as a power of two, and one parameter of the kernel.

// The samples that one invocation computes at once, and their sum.
//{ value
alias Value = f32;
//}
//{ total
fn total(value: Value) -> f32 {
    return value;
}
//}

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;

var<workgroup> shared_sums: array<vec4<f32>, 256>;

// The sum over the invocations of a row, valid in the first of them. All invocations of a workgroup must call
// it.
fn together(local: u32, own: vec4<f32>) -> vec4<f32> {
    let lanes = 1u << parameters[0].z;
    let lane = local & (lanes - 1u);
    shared_sums[local] = own;
    for (var half = lanes >> 1u; half > 0u; half >>= 1u) {
        workgroupBarrier();
        if lane < half {
            shared_sums[local] += shared_sums[local + half];
        }
    }
    workgroupBarrier();
    return shared_sums[local - lane];
}

//{ kernel
//}
