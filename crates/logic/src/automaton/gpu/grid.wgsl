// Indices of neighbors. Part of every shader that needs it.

const NOWHERE = 0xffffffffu;

const WRAP = true;

// The cell that is neighbor n (row by row, 4 is the cell itself) of a cell of its seed, or NOWHERE.
fn neighbor(cell: u32, n: u32, height: u32, width: u32) -> u32 {
    let area = height * width;
    let place = cell % area;
    // One more than the coordinates, so that nothing is negative.
    let y = place / width + n / 3u;
    let x = place % width + n % 3u;
    if WRAP {
        let row = select(select(y - 1u, 0u, y > height), height - 1u, y == 0u);
        let column = select(select(x - 1u, 0u, x > width), width - 1u, x == 0u);
        return cell - place + row * width + column;
    }
    let inside = y > 0u && y <= height && x > 0u && x <= width;
    return select(NOWHERE, cell - place + (y - 1u) * width + x - 1u, inside);
}
