//! Views as index expressions.

use farad_compile::program::{Guard, View};

/// The variable of every axis; none where it has one position, which is 0.
pub type Axes = [Option<String>];

/// Variables of axes of these sizes, named by a letter and a number.
pub fn axes(letter: &str, sizes: &[usize]) -> Vec<Option<String>> {
    sizes.iter().enumerate().map(|(n, &size)| (size != 1).then(|| format!("{letter}{n}"))).collect()
}

/// `offset + Σ factors · axes`
fn sum(offset: i64, factors: &[i64], axes: &Axes) -> String {
    let terms = factors.iter().zip(axes).filter_map(|(&factor, axis)| match (factor, axis) {
        (0, _) | (_, None) => None,
        (1, Some(axis)) => Some(axis.clone()),
        (_, Some(axis)) => Some(format!("{factor}*{axis}")),
    });
    let terms: Vec<String> = terms.chain((offset != 0).then(|| offset.to_string())).collect();
    if terms.is_empty() { "0".into() } else { terms.join("+").replace("+-", "-") }
}

/// The index of an element, and the condition under which there is one.
pub fn index(view: &View, axes: &Axes) -> (String, Option<String>) {
    let mut index = sum(view.offset, &view.strides, axes);
    for guard in view.guards.iter().filter(|guard| guard.stride != 0) {
        index += &format!("+({})*(({})/{})", guard.stride, position(guard, axes), guard.divisor);
    }
    let conditions: Vec<String> = view.guards.iter().map(|guard| condition(guard, axes)).collect();
    (index, (!conditions.is_empty()).then(|| conditions.join("&&")))
}

fn position(guard: &Guard, axes: &Axes) -> String {
    sum(guard.offset, &guard.coefficients, axes)
}

fn condition(guard: &Guard, axes: &Axes) -> String {
    let (at, end) = (position(guard, axes), guard.size * guard.divisor);
    let whole = if guard.divisor == 1 { String::new() } else { format!("({at})%{}===0&&", guard.divisor) };
    format!("{whole}{at}>=0&&{at}<{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_leave_out_what_is_nothing() {
        let axes = axes("i", &[4, 1, 3]);
        let view = View { offset: 2, strides: vec![3, 9, -1], guards: vec![] };
        assert_eq!(index(&view, &axes), ("3*i0-1*i2+2".into(), None));
        let guard = Guard { coefficients: vec![1, 0, 0], offset: -1, divisor: 2, size: 2, stride: 10 };
        let view = View { offset: 0, strides: vec![0, 0, 0], guards: vec![guard] };
        let (at, when) = index(&view, &axes);
        assert_eq!(at, "0+(10)*((i0-1)/2)");
        assert_eq!(when.as_deref(), Some("(i0-1)%2===0&&i0-1>=0&&i0-1<4"));
    }
}
