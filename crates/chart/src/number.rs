//! Formats numbers for people.

/// A number in few digits, with commas between thousands and a power of ten only if it helps; a dash if it is
/// not finite.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !size.is_finite() {
        return "–".into();
    }
    if size < f64::MIN_POSITIVE {
        return "0".into();
    }
    if !(1e-4..1e9).contains(&size) {
        let text = format!("{value:.2e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return match without_zeros(digits) {
            "1" => format!("10^{exponent}"),
            digits => format!("{}·10^{exponent}", minus(digits)),
        };
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(0, 7) as usize;
    thousands(without_zeros(&format!("{value:.decimals$}")))
}

/// The digits of a number with commas between thousands and a true minus sign.
///
/// ```
/// assert_eq!(farad_chart::thousands("-1234567.25"), "−1,234,567.25");
/// ```
pub fn thousands(digits: &str) -> String {
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("−", whole));
    let mut text = String::from(sign);
    for (n, digit) in whole.chars().enumerate() {
        if n > 0 && (whole.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// A whole number with commas between thousands; 0 if it is negative.
///
/// ```
/// assert_eq!(farad_chart::count(48_000u64), "48,000");
/// ```
pub fn count(number: impl TryInto<u128>) -> String {
    thousands(&number.try_into().unwrap_or_default().to_string())
}

/// A count with its noun, in the singular if it is one.
///
/// ```
/// use farad_chart::counted;
/// assert_eq!([0, 1, 1200].map(|n: u64| counted(n, "step")), ["0 steps", "1 step", "1,200 steps"]);
/// assert_eq!([counted(1u8, "batch"), counted(2u8, "batch")], ["1 batch", "2 batches"]);
/// assert_eq!([counted(2u8, "class"), counted(3u8, "entry")], ["2 classes", "3 entries"]);
/// ```
pub fn counted(number: impl TryInto<u128>, thing: &str) -> String {
    let number = number.try_into().unwrap_or_default();
    let many = match thing.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        _ if number == 1 => thing.to_string(),
        Some(stem) => format!("{stem}ies"),
        None if ["s", "x", "ch", "sh"].iter().any(|end| thing.ends_with(end)) => format!("{thing}es"),
        None => format!("{thing}s"),
    };
    format!("{} {many}", count(number))
}

/// Bytes in the largest unit that gives a number of at least one.
///
/// ```
/// assert_eq!([48 << 10, 3 << 29, 5 << 60].map(farad_chart::bytes), ["48 KiB", "1.5 GiB", "5,242,880 TiB"]);
/// ```
pub fn bytes(count: u128) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (count.max(1).ilog2() as usize / 10).min(UNITS.len() - 1);
    let scaled = count as f64 / (1u64 << (10 * unit)) as f64;
    let digits = if scaled.fract() == 0.0 || scaled >= 100.0 { 0 } else { 1 };
    format!("{} {}", thousands(&format!("{scaled:.digits$}")), UNITS[unit])
}

/// With a true minus sign.
fn minus(digits: &str) -> String {
    digits.replace('-', "−")
}

/// A fraction without zeros at its end.
pub(crate) fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (1500.0, "1,500"),
            (-2.5, "−2.5"),
            (123.456, "123.5"),
            (0.00001, "10^-5"),
            (2.5e10, "2.5·10^10"),
            (-2.5e10, "−2.5·10^10"),
            (1234567.0, "1,234,567"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }
}
