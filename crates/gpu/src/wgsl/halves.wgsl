// Packs every number and its negative into a word of two f16, rounded by the adapter.
@group(0) @binding(0) var<storage, read> numbers: array<f32>;
@group(0) @binding(1) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&words)) {
        let x = numbers[id.x];
        words[id.x] = pack2x16float(vec2<f32>(x, -x));
    }
}
