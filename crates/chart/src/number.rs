//! Numbers as people read them.

/// A number in few digits, with commas between thousands and a power of ten only where it helps; a dash if it is not finite.
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
