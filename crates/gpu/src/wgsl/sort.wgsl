// The stable argsort of rows, in core WGSL and within default limits.
//
// An element becomes a key: an integer with the element's order. Short rows are sorted in workgroup memory,
// several at once, by a bitonic network on keys with appended positions (`rows`). A long row is radix-sorted by
// one digit of eight bits per pass, lowest digit first: `count` counts the digits of every tile, `add` turns
// counts into the number of elements in earlier tiles, and `move_tile` moves the elements of a tile to their
// positions, keeping the order of equal digits. `invert` inverts permutations.

struct Sizes {
    // The grid's width and number of workgroups.
    width: u32,
    groups: u32,
    // What is sorted.
    rows: u32,
    length: u32,
    // The offsets of the source, the earlier positions and the result.
    source_start: u32,
    places_start: u32,
    result_start: u32,
    // What the source holds: see `key`.
    kind: u32,
    // XORed with keys to reverse the order.
    flip: u32,
    // The largest key.
    most: u32,
    // The digit's lowest bit.
    shift: u32,
    // Strips of 256 elements per tile, tiles per row; in `rows` the padded length of a row, and rows per
    // workgroup.
    strips: u32,
    tiles: u32,
    // Whether the pass is the first, whether the last, and whether `add` ran.
    first: u32,
    last: u32,
    added: u32,
    // How many entries of a row's order are needed, and in a selection how many passes have counted digits.
    taken: u32,
    passes: u32,
}

const WORDS = 0u;
const SIGNED = 1u;
const FLOATS = 2u;
const F16 = 3u;

@group(0) @binding(0) var<uniform> sizes: Sizes;

@group(0) @binding(1) var<storage, read> source: array<u32>;
// `rows`, `count` and `invert` write here.
@group(0) @binding(2) var<storage, read_write> result: array<u32>;

@group(0) @binding(1) var<storage, read_write> added_counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> added_totals: array<u32>;

@group(0) @binding(2) var<storage, read> places: array<u32>;
@group(0) @binding(3) var<storage, read> counts: array<u32>;
@group(0) @binding(4) var<storage, read> totals: array<u32>;
@group(0) @binding(5) var<storage, read_write> moved_keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> moved_places: array<u32>;

// The key of an element. NaN is larger than all numbers; zeros are equal.
fn key(element: u32) -> u32 {
    let i = sizes.source_start + element;
    var word: u32;
    var sign = 0x80000000u;
    var infinity = 0x7f800000u;
    if (sizes.kind == F16) {
        word = (source[i / 2u] >> (i % 2u * 16u)) & 0xffffu;
        sign = 0x8000u;
        infinity = 0x7c00u;
    } else {
        word = source[i];
    }
    if (sizes.kind == SIGNED) {
        word ^= sign;
    } else if (sizes.kind >= FLOATS) {
        let size = word & (sign - 1u);
        if (size > infinity) {
            word = sign | (sign - 1u);
        } else if (size != word && size != 0u) {
            word = sign - 1u - size;
        } else {
            word = sign | size;
        }
    }
    return min(word ^ sizes.flip, sizes.most);
}

fn digit(key: u32) -> u32 {
    return (key >> sizes.shift) & 255u;
}

fn group_number(group: vec3<u32>) -> u32 {
    return group.y * sizes.width + group.x;
}

var<workgroup> row_keys: array<u32, 2048>;
var<workgroup> row_places: array<u32, 2048>;

// Sorts the rows of workgroup `w`, padded, in workgroup memory.
fn sort_rows(w: u32, t: u32) {
    let padded = sizes.strips;
    let count = padded * sizes.tiles;
    let first = w * sizes.tiles;
    for (var i = t; i < count; i += 256u) {
        let row = first + i / padded;
        let column = i % padded;
        var own = 0xffffffffu;
        if (row < sizes.rows && column < sizes.length) {
            own = key(row * sizes.length + column);
        }
        row_keys[i] = own;
        // Padding sorts after every element, even after one with the same key.
        row_places[i] = column;
    }
    for (var size = 2u; size <= padded; size *= 2u) {
        for (var distance = size / 2u; distance > 0u; distance /= 2u) {
            workgroupBarrier();
            for (var pair = t; pair < count / 2u; pair += 256u) {
                let low = pair * 2u - (pair & (distance - 1u));
                let high = low + distance;
                let ascends = (low & (padded - 1u) & size) == 0u;
                let a = vec2(row_keys[low], row_places[low]);
                let b = vec2(row_keys[high], row_places[high]);
                let greater = a.x > b.x || (a.x == b.x && a.y > b.y);
                if (greater == ascends) {
                    row_keys[low] = b.x;
                    row_places[low] = b.y;
                    row_keys[high] = a.x;
                    row_places[high] = a.y;
                }
            }
        }
    }
    workgroupBarrier();
}

@compute @workgroup_size(256)
fn rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let w = group_number(group);
    if (w >= sizes.groups) {
        return;
    }
    sort_rows(w, t);
    for (var i = t; i < sizes.strips * sizes.tiles; i += 256u) {
        let row = w * sizes.tiles + i / sizes.strips;
        let column = i % sizes.strips;
        if (row < sizes.rows && column < sizes.taken) {
            result[sizes.result_start + row * sizes.taken + column] = row_places[i];
        }
    }
}

var<workgroup> bins: array<atomic<u32>, 256>;

@compute @workgroup_size(256)
fn count(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let w = group_number(group);
    if (w >= sizes.groups) {
        return;
    }
    let row = w / sizes.tiles;
    let tile = w % sizes.tiles;
    atomicStore(&bins[t], 0u);
    workgroupBarrier();
    for (var strip = 0u; strip < sizes.strips; strip++) {
        let column = (tile * sizes.strips + strip) * 256u + t;
        if (column < sizes.length) {
            atomicAdd(&bins[digit(key(row * sizes.length + column))], 1u);
        }
    }
    workgroupBarrier();
    result[w * 256u + t] = atomicLoad(&bins[t]);
}

var<workgroup> sums: array<u32, 256>;

// The inclusive prefix sum over the invocations.
fn running_sum(number: u32, t: u32) -> u32 {
    var sum = number;
    sums[t] = sum;
    workgroupBarrier();
    for (var distance = 1u; distance < 256u; distance *= 2u) {
        var before = 0u;
        if (t >= distance) {
            before = sums[t - distance];
        }
        workgroupBarrier();
        sum += before;
        sums[t] = sum;
        workgroupBarrier();
    }
    return sum;
}

@compute @workgroup_size(256)
fn add(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let w = group_number(group);
    if (w >= sizes.groups) {
        return;
    }
    let first = w / 256u * sizes.tiles;
    var carried = 0u;
    for (var start = 0u; start < sizes.tiles; start += 256u) {
        let tile = start + t;
        let place = (first + tile) * 256u + w % 256u;
        var own = 0u;
        if (tile < sizes.tiles) {
            own = added_counts[place];
        }
        let sum = running_sum(own, t);
        if (tile < sizes.tiles) {
            added_counts[place] = carried + sum - own;
        }
        carried += sums[255];
        workgroupBarrier();
    }
    if (t == 0u) {
        added_totals[w] = carried;
    }
}

// Which elements of the strip have a digit: eight words of bits per digit.
var<workgroup> marks: array<atomic<u32>, 2048>;
// Where the next element of a digit goes.
var<workgroup> next: array<u32, 256>;

// How many elements of the row come before the tile's first element with digit `t`.
fn start_of_digit(row: u32, tile: u32, t: u32) -> u32 {
    var before = 0u;
    var total = 0u;
    if (sizes.added == 1u) {
        before = counts[(row * sizes.tiles + tile) * 256u + t];
        total = totals[row * 256u + t];
    } else {
        for (var other = 0u; other < sizes.tiles; other++) {
            let count = counts[(row * sizes.tiles + other) * 256u + t];
            total += count;
            before += select(0u, count, other < tile);
        }
    }
    return running_sum(total, t) - total + before;
}

@compute @workgroup_size(256)
fn move_tile(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let w = group_number(group);
    if (w >= sizes.groups) {
        return;
    }
    let row = w / sizes.tiles;
    let tile = w % sizes.tiles;
    next[t] = start_of_digit(row, tile, t);
    for (var word = 0u; word < 8u; word++) {
        atomicStore(&marks[word * 256u + t], 0u);
    }
    for (var strip = 0u; strip < sizes.strips; strip++) {
        // Invocation `t` handles digit `t`: skips the previous strip, and clears the marks.
        var passed = 0u;
        for (var word = 0u; word < 8u; word++) {
            passed += countOneBits(atomicExchange(&marks[word * 256u + t], 0u));
        }
        next[t] += passed;
        workgroupBarrier();
        let column = (tile * sizes.strips + strip) * 256u + t;
        let inside = column < sizes.length;
        let element = row * sizes.length + column;
        var own = 0u;
        if (inside) {
            own = key(element);
            atomicOr(&marks[t / 32u * 256u + digit(own)], 1u << (t % 32u));
        }
        workgroupBarrier();
        if (inside) {
            let own_digit = digit(own);
            let own_word = atomicLoad(&marks[t / 32u * 256u + own_digit]);
            var rank = countOneBits(own_word & ((1u << (t % 32u)) - 1u));
            for (var word = 0u; word < t / 32u; word++) {
                rank += countOneBits(atomicLoad(&marks[word * 256u + own_digit]));
            }
            let to = row * sizes.length + next[own_digit] + rank;
            var place = column;
            if (sizes.first == 0u) {
                place = places[sizes.places_start + element];
            }
            moved_places[sizes.result_start + to] = place;
            if (sizes.last == 0u) {
                moved_keys[to] = own;
            }
        }
        workgroupBarrier();
    }
}

@compute @workgroup_size(256)
fn invert(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let element = group_number(group) * 256u + t;
    if (element < sizes.rows * sizes.length) {
        let row = element / sizes.length;
        let to = min(source[sizes.source_start + element], sizes.length - 1u);
        result[sizes.result_start + row * sizes.length + to] = element - row * sizes.length;
    }
}

//{ select
//}
