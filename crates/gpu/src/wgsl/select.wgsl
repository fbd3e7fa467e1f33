
// The first entries of a row's order, without sorting the whole row. Part of sort.wgsl.
//
// The last selected key is found by one digit of eight bits per pass, highest digit first: `count_within`
// counts, over all tiles of a row, the digits of the keys whose leading digits equal those of the last selected
// key. `tally` counts how many keys of every tile are smaller than the last one and how many are equal.
// `gather` writes the smaller ones, then the first of the equal ones, each in order. `selected_rows` then sorts
// them.

//{ sort
struct Sizes {
    width: u32,
    groups: u32,
    rows: u32,
    length: u32,
    source_start: u32,
    places_start: u32,
    result_start: u32,
    kind: u32,
    flip: u32,
    most: u32,
    shift: u32,
    strips: u32,
    tiles: u32,
    first: u32,
    last: u32,
    added: u32,
    taken: u32,
    passes: u32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read> places: array<u32>;
var<workgroup> row_places: array<u32, 2048>;
var<workgroup> bins: array<atomic<u32>, 256>;
var<workgroup> sums: array<u32, 256>;

fn key(element: u32) -> u32 { return source[element]; }
fn digit(key: u32) -> u32 { return key; }
fn group_number(group: vec3<u32>) -> u32 { return group.x; }
fn sort_rows(w: u32, t: u32) {}
fn running_sum(number: u32, t: u32) -> u32 { return number; }
//}

@group(0) @binding(1) var<storage, read_write> cleared: array<u32>;

// Digit counts: 256 per row and pass.
@group(0) @binding(2) var<storage, read_write> histograms: array<atomic<u32>>;
// The number of smaller and of equal keys in every tile.
@group(0) @binding(3) var<storage, read_write> tallies: array<u32>;
@group(0) @binding(4) var<storage, read_write> gathered_keys: array<u32>;
@group(0) @binding(5) var<storage, read_write> gathered_places: array<u32>;

@group(0) @binding(3) var<storage, read_write> selected: array<u32>;

@compute @workgroup_size(256)
fn clear(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let w = group_number(group);
    if (w < sizes.groups) {
        cleared[w * 256u + t] = 0u;
    }
}

var<workgroup> found: vec2<u32>;

// What the passes so far tell about the row's last selected key: its leading digits, and how many of the keys
// with these leading digits are selected.
fn last_taken(row: u32, t: u32) -> vec2<u32> {
    var begins = 0u;
    var left = sizes.taken;
    for (var at = 0u; at < sizes.passes; at++) {
        let own = atomicLoad(&histograms[(at * sizes.rows + row) * 256u + t]);
        let sum = running_sum(own, t);
        if (sum >= left && sum - own < left) {
            found = vec2(begins * 256u + t, left + own - sum);
        }
        workgroupBarrier();
        begins = found.x;
        left = found.y;
        workgroupBarrier();
    }
    return vec2(begins, left);
}

@compute @workgroup_size(256)
fn count_within(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let w = group_number(group);
    if (w >= sizes.groups) {
        return;
    }
    let row = w / sizes.tiles;
    let tile = w % sizes.tiles;
    let begins = last_taken(row, t).x;
    atomicStore(&bins[t], 0u);
    workgroupBarrier();
    for (var strip = 0u; strip < sizes.strips; strip++) {
        let column = (tile * sizes.strips + strip) * 256u + t;
        if (column < sizes.length) {
            let own = key(row * sizes.length + column);
            if (sizes.passes == 0u || own >> (sizes.shift + 8u) == begins) {
                atomicAdd(&bins[digit(own)], 1u);
            }
        }
    }
    workgroupBarrier();
    let count = atomicLoad(&bins[t]);
    if (count > 0u) {
        atomicAdd(&histograms[(sizes.passes * sizes.rows + row) * 256u + t], count);
    }
}

// Smaller and equal keys.
var<workgroup> both: array<atomic<u32>, 2>;

@compute @workgroup_size(256)
fn tally(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let w = group_number(group);
    if (w >= sizes.groups) {
        return;
    }
    let row = w / sizes.tiles;
    let tile = w % sizes.tiles;
    let last = last_taken(row, t).x;
    if (t < 2u) {
        atomicStore(&both[t], 0u);
    }
    var own_tally = vec2(0u);
    for (var strip = 0u; strip < sizes.strips; strip++) {
        let column = (tile * sizes.strips + strip) * 256u + t;
        if (column < sizes.length) {
            let own = key(row * sizes.length + column);
            own_tally += vec2(u32(own < last), u32(own == last));
        }
    }
    workgroupBarrier();
    atomicAdd(&both[0], own_tally.x);
    atomicAdd(&both[1], own_tally.y);
    workgroupBarrier();
    if (t < 2u) {
        tallies[w * 2u + t] = atomicLoad(&both[t]);
    }
}

@compute @workgroup_size(256)
fn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let w = group_number(group);
    if (w >= sizes.groups) {
        return;
    }
    let row = w / sizes.tiles;
    let tile = w % sizes.tiles;
    let last = last_taken(row, t);
    // A tile has at most 4096 elements: 128 words mark the smaller ones, 128 the equal ones.
    atomicStore(&bins[t], 0u);
    if (t < 2u) {
        atomicStore(&both[t], 0u);
    }
    workgroupBarrier();
    for (var other = t; other < tile; other += 256u) {
        let place = (row * sizes.tiles + other) * 2u;
        atomicAdd(&both[0], tallies[place]);
        atomicAdd(&both[1], tallies[place + 1u]);
    }
    for (var strip = 0u; strip < sizes.strips; strip++) {
        let column = (tile * sizes.strips + strip) * 256u + t;
        if (column < sizes.length) {
            let own = key(row * sizes.length + column);
            if (own <= last.x) {
                let side = select(0u, 128u, own == last.x);
                atomicOr(&bins[side + strip * 8u + t / 32u], 1u << (t % 32u));
            }
        }
    }
    workgroupBarrier();
    running_sum(countOneBits(atomicLoad(&bins[t])), t);
    // Where the smaller and the equal keys of this tile start; the output of `running_sum` counts both.
    let smaller = sizes.taken - last.y;
    let start = vec2(atomicLoad(&both[0]), smaller + atomicLoad(&both[1]) - sums[127]);
    for (var strip = 0u; strip < sizes.strips; strip++) {
        let bit = 1u << (t % 32u);
        for (var side = 0u; side < 2u; side++) {
            let at = side * 128u + strip * 8u + t / 32u;
            let word = atomicLoad(&bins[at]);
            if ((word & bit) != 0u) {
                let to = select(start.x, start.y, side == 1u) + sums[at] - countOneBits(word & ~(bit - 1u));
                if (to < select(smaller, sizes.taken, side == 1u)) {
                    let column = (tile * sizes.strips + strip) * 256u + t;
                    let place = row * sizes.taken + to;
                    gathered_keys[place] = key(row * sizes.length + column);
                    gathered_places[sizes.result_start + place] = column;
                }
            }
        }
    }
}

@compute @workgroup_size(256)
fn selected_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let w = group_number(group);
    if (w >= sizes.groups) {
        return;
    }
    sort_rows(w, t);
    for (var i = t; i < sizes.strips * sizes.tiles; i += 256u) {
        let row = w * sizes.tiles + i / sizes.strips;
        let column = i % sizes.strips;
        if (row < sizes.rows && column < sizes.length) {
            let place = row * sizes.length;
            selected[sizes.result_start + place + column] = places[place + row_places[i]];
        }
    }
}
