//! What is sent, as samples: JSON, pictures as they are, and forms with files.
//!
//! Invariant: a sample has the shape that the model takes, and only finite numbers.

use farad::data::{ColumnRule, FieldFault};
use farad::fit::picture_sample;
use farad::train::Inputs;
use serde_json::Value;

use crate::answers::RequestRefusal;
use crate::limits::ServeLimits;

/// Samples of `{"samples": [..]}`.
pub fn of_json(body: &[u8], inputs: &Inputs, limits: ServeLimits) -> Result<Vec<Vec<f32>>, RequestRefusal> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| RequestRefusal::wrong(format!("serve: the body is not JSON: {error}")))?;
    let Some(samples) = value.get("samples").and_then(Value::as_array) else {
        return Err(RequestRefusal::wrong(format!(
            "serve: the body has no list `samples`\nhelp: send {{\"samples\": [..]}}, each of them {}",
            form(inputs)
        )));
    };
    check_count(samples.len(), limits)?;
    let each = |(number, sample): (usize, &Value)| {
        of_value(sample, inputs)
            .map_err(|why| RequestRefusal::wrong(format!("serve: samples[{number}]: {why}")))
    };
    samples.iter().enumerate().map(each).collect()
}

/// A picture as a sample.
pub fn of_picture(name: &str, bytes: &[u8], inputs: &Inputs) -> Result<Vec<f32>, RequestRefusal> {
    let Inputs::Pictures { .. } = inputs else {
        let takes = inputs.words();
        return Err(RequestRefusal::wrong(format!(
            "serve: {name}: the model takes no files, but {takes}\nhelp: send JSON"
        )));
    };
    match picture_sample(name, bytes, inputs) {
        Ok(picture) => Ok(picture.to_f32()),
        Err(error) => Err(RequestRefusal::wrong(error.to_string())),
    }
}

/// Refuses too many samples, or none.
pub fn check_count(count: usize, limits: ServeLimits) -> Result<(), RequestRefusal> {
    match count {
        0 => Err(RequestRefusal::wrong("serve: there is no sample")),
        many if many > limits.samples => Err(RequestRefusal::large(format!(
            "serve: too many samples: {many} vs {} at most",
            limits.samples
        ))),
        _ => Ok(()),
    }
}

/// How a sample looks in JSON.
fn form(inputs: &Inputs) -> String {
    match inputs {
        Inputs::Table { columns, .. } => {
            format!("an object with {}, or a list of them in this order", columns.join(", "))
        }
        Inputs::Pictures { channels: 1, height, width } => {
            format!("{height} lists of {width} numbers from 0 to 1; or send a PNG or JPEG file")
        }
        other => format!("lists of numbers of shape {}", other.shape()),
    }
}

fn of_value(sample: &Value, inputs: &Inputs) -> Result<Vec<f32>, String> {
    if let Inputs::Table { columns, rules, .. } = inputs
        && !rules.is_empty()
    {
        return by_rules(sample, columns, rules, inputs);
    }
    if let (Inputs::Table { columns, bits, .. }, Value::Object(row)) = (inputs, sample) {
        let column = |name: &String| {
            let value = row
                .get(name)
                .ok_or_else(|| format!("there is no `{name}`\nhelp: it takes {}", form(inputs)))?;
            number(value, *bits).map_err(|why| format!("{name}: {why}"))
        };
        return columns.iter().map(column).collect();
    }
    let mut values = vec![];
    let shape = nested(sample, &mut values)?;
    let wanted = inputs.shape();
    // A gray picture may lack the axis of channels; one number may stand without its list.
    let short = if wanted.first() == Some(&1) { &wanted[1..] } else { &wanted[..] };
    match shape[..] == wanted[..] || shape[..] == *short {
        true => Ok(values),
        false => {
            Err(format!("it has shape {shape:?} vs {:?}\nhelp: a sample is {}", &wanted[..], form(inputs)))
        }
    }
}

/// A row whose columns become numbers by rules: words, dates and empty fields as in a table.
fn by_rules(
    sample: &Value,
    columns: &[String],
    rules: &[ColumnRule],
    inputs: &Inputs,
) -> Result<Vec<f32>, String> {
    let mut numbers = vec![];
    for (at, (name, rule)) in columns.iter().zip(rules).enumerate() {
        let value = match sample {
            Value::Object(row) => row.get(name),
            Value::Array(row) if row.len() == columns.len() => row.get(at),
            _ => return Err(format!("it is no row\nhelp: a sample is {}", form(inputs))),
        };
        let text = match value {
            None => return Err(format!("there is no `{name}`\nhelp: it takes {}", form(inputs))),
            Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        rule.read(&text, &mut numbers).map_err(|fault| match fault {
            FieldFault::Empty => format!("{name}: it is empty"),
            FieldFault::NotNumber => format!("{name}: {text:?} is no finite number"),
            FieldFault::NotDate(order) => format!("{name}: {text:?} is no date like {}", order.example()),
        })?;
    }
    Ok(numbers)
}

/// The shape of nested lists; their numbers are appended.
fn nested(value: &Value, values: &mut Vec<f32>) -> Result<Vec<usize>, String> {
    let Value::Array(all) = value else {
        values.push(number(value, true)?);
        return Ok(vec![]);
    };
    let mut inner: Option<Vec<usize>> = None;
    for each in all {
        let shape = nested(each, values)?;
        if inner.get_or_insert_with(|| shape.clone()) != &shape {
            return Err("its lists are of different lengths".into());
        }
    }
    Ok(std::iter::once(all.len()).chain(inner.unwrap_or_default()).collect())
}

/// A finite number; truths count as 0 and 1 where they may.
fn number(value: &Value, truths: bool) -> Result<f32, String> {
    let found = match value {
        Value::Bool(truth) if truths => Some(f32::from(*truth)),
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64().map(|number| number as f32),
    };
    found.filter(|number| number.is_finite()).ok_or_else(|| {
        let mut text = value.to_string();
        if text.len() > 40 {
            text = text.chars().take(40).collect::<String>() + "…";
        }
        format!("{text} is no finite number")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Inputs {
        let columns = vec!["length".into(), "width".into()];
        Inputs::Table { columns, targets: vec![], header: true, bits: false, rules: vec![] }
    }

    fn said(body: &str, inputs: &Inputs) -> Result<Vec<Vec<f32>>, String> {
        of_json(body.as_bytes(), inputs, ServeLimits { samples: 3, ..ServeLimits::default() })
            .map_err(|refusal| refusal.object()["error"]["message"].as_str().unwrap().to_string())
    }

    #[test]
    fn rows_come_by_name_or_in_order() {
        let rows = said(r#"{"samples": [{"width": 2, "length": 1, "other": "x"}, [3, "4.5"]]}"#, &table());
        assert_eq!(rows.unwrap(), [[1.0, 2.0], [3.0, 4.5]]);
    }

    #[test]
    fn words_and_empty_fields_follow_the_rules_of_the_run() {
        let text = r#"{"table": {"columns": ["color", "size"], "targets": [], "header": true, "bits": false, "rules": [
            {"column": "color", "as": "words", "words": ["blue", "red"], "empty": 0, "marked": false},
            {"column": "size", "as": "number", "empty": 2.5, "marked": true}]}}"#;
        let inputs: Inputs = serde_json::from_str(text).unwrap();
        let rows = said(r#"{"samples": [{"size": null, "color": "red"}, ["teal", 4]]}"#, &inputs);
        assert_eq!(rows.unwrap(), [[0.0, 1.0, 2.5, 1.0], [0.0, 0.0, 4.0, 0.0]]);
        let text = said(r#"{"samples": [["red", "big"]]}"#, &inputs).unwrap_err();
        assert!(text.contains("size: \"big\" is no finite number"), "{text}");
    }

    #[test]
    fn pictures_come_with_channels_or_without() {
        let gray = Inputs::Pictures { channels: 1, height: 1, width: 2 };
        assert_eq!(
            said(r#"{"samples": [[[0, 1]], [[[0.5, 1]]]]}"#, &gray).unwrap(),
            [[0.0, 1.0], [0.5, 1.0]]
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (body, wanted) in [
            ("{", "not JSON"),
            ("[1, 2]", "no list `samples`"),
            (r#"{"samples": []}"#, "no sample"),
            (r#"{"samples": [[1,2],[1,2],[1,2],[1,2]]}"#, "too many samples: 4 vs 3"),
            (r#"{"samples": [[1, 2], {"length": 1}]}"#, "samples[1]: there is no `width`"),
            (r#"{"samples": [{"length": "long", "width": 1}]}"#, "length: \"long\" is no finite number"),
            (r#"{"samples": [[1, null]]}"#, "null is no finite number"),
            (r#"{"samples": [[1, 1e300]]}"#, "1e+300 is no finite number"),
            (r#"{"samples": [[1, 2, 3]]}"#, "it has shape [3] vs [2]"),
            (r#"{"samples": [[1, [2]]]}"#, "different lengths"),
        ] {
            let text = said(body, &table()).unwrap_err();
            assert!(text.contains(wanted), "{body}: {text}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_and_not_followed() {
        let body = format!(r#"{{"samples": [{}1{}]}}"#, "[".repeat(5000), "]".repeat(5000));
        assert!(said(&body, &table()).unwrap_err().contains("not JSON"));
    }
}
