// Adds partial sums, in order. parameters: sums, parts.

// One sum.
//{ value
alias Value = f32;
//}

@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 1>;
@group(0) @binding(1) var<storage, read> parts: array<Value>;
@group(0) @binding(2) var<storage, read_write> result: array<Value>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let place = id.x + id.y * groups.x * 64u;
    let places = parameters[0].x;
    if place >= places {
        return;
    }
    var sum = Value();
    for (var part = 0u; part < parameters[0].y; part++) {
        sum += parts[part * places + place];
    }
    result[place] = sum;
}
