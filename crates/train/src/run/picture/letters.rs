//! Small letters for captions: three dots by five.

/// Dots across a letter.
pub const WIDTH: usize = 3;
/// Dots down a letter.
pub const HEIGHT: usize = 5;

/// Every letter as five octal digits, one per row from the top; the highest bit is the left dot.
const LETTERS: [(char, u16); 52] = [
    ('0', 0o75557),
    ('1', 0o26227),
    ('2', 0o71747),
    ('3', 0o71717),
    ('4', 0o55711),
    ('5', 0o74717),
    ('6', 0o74757),
    ('7', 0o71122),
    ('8', 0o75757),
    ('9', 0o75717),
    ('A', 0o25755),
    ('B', 0o65656),
    ('C', 0o34443),
    ('D', 0o65556),
    ('E', 0o74647),
    ('F', 0o74644),
    ('G', 0o34553),
    ('H', 0o55755),
    ('I', 0o72227),
    ('J', 0o11152),
    ('K', 0o55655),
    ('L', 0o44447),
    ('M', 0o57755),
    ('N', 0o65555),
    ('O', 0o25552),
    ('P', 0o65644),
    ('Q', 0o25563),
    ('R', 0o65655),
    ('S', 0o34216),
    ('T', 0o72222),
    ('U', 0o55557),
    ('V', 0o55522),
    ('W', 0o55775),
    ('X', 0o55255),
    ('Y', 0o55222),
    ('Z', 0o71247),
    (' ', 0o00000),
    ('.', 0o00002),
    (',', 0o00024),
    (':', 0o02020),
    ('-', 0o00700),
    ('+', 0o02720),
    ('/', 0o11244),
    ('%', 0o51245),
    ('=', 0o07070),
    ('(', 0o24442),
    (')', 0o21112),
    ('×', 0o00525),
    ('_', 0o00007),
    ('#', 0o57575),
    ('<', 0o12421),
    ('>', 0o42124),
];

/// What stands for a letter that is not in the table.
const UNKNOWN: u16 = 0o71202;

/// The dots of a letter, as positions from its top left corner.
pub fn dots(letter: char) -> impl Iterator<Item = (usize, usize)> {
    let letter = letter.to_ascii_uppercase();
    let rows = LETTERS.iter().find(|(l, _)| *l == letter).map_or(UNKNOWN, |(_, rows)| *rows);
    let dot = move |x: usize, y: usize| rows >> ((HEIGHT - 1 - y) * WIDTH + (WIDTH - 1 - x)) & 1 == 1;
    (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y))).filter(move |&(x, y)| dot(x, y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_differ() {
        for (index, (a, rows)) in LETTERS.iter().enumerate() {
            for (b, others) in &LETTERS[..index] {
                assert!(a != b && rows != others, "{a} and {b}");
            }
        }
        assert_eq!(dots('l').collect::<Vec<_>>(), [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 4), (2, 4)]);
        assert_eq!(dots('~').collect::<Vec<_>>(), dots('?').collect::<Vec<_>>());
    }
}
