//! Values of settings in Rust and in TOML.

use toml::Value;

/// A type that a setting may have.
pub trait SettingValue: Sized {
    /// As TOML has it.
    fn to_toml(&self) -> Value;

    /// From TOML; none if it is of another type or out of bounds.
    fn from_toml(value: &Value) -> Option<Self>;
}

macro_rules! whole {
    ($($type:ty)*) => { $(
        impl SettingValue for $type {
            fn to_toml(&self) -> Value {
                // A file has whole numbers with a sign; rows have bounds that fit it.
                Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }

            fn from_toml(value: &Value) -> Option<$type> {
                value.as_integer().and_then(|whole| whole.try_into().ok())
            }
        }
    )* };
}

whole!(i64 u64 usize u32);

impl SettingValue for f64 {
    fn to_toml(&self) -> Value {
        Value::Float(*self)
    }

    fn from_toml(value: &Value) -> Option<f64> {
        value.as_float().or(value.as_integer().map(|whole| whole as f64))
    }
}

impl SettingValue for f32 {
    /// With the digits of single precision: 0.05, not what is nearest to it.
    fn to_toml(&self) -> Value {
        Value::Float(self.to_string().parse().unwrap_or(f64::from(*self)))
    }

    fn from_toml(value: &Value) -> Option<f32> {
        f64::from_toml(value).map(|number| number as f32)
    }
}

impl SettingValue for bool {
    fn to_toml(&self) -> Value {
        Value::Boolean(*self)
    }

    fn from_toml(value: &Value) -> Option<bool> {
        value.as_bool()
    }
}

impl SettingValue for String {
    fn to_toml(&self) -> Value {
        Value::String(self.clone())
    }

    fn from_toml(value: &Value) -> Option<String> {
        value.as_str().map(str::to_string)
    }
}

impl<T: SettingValue> SettingValue for Vec<T> {
    fn to_toml(&self) -> Value {
        Value::Array(self.iter().map(SettingValue::to_toml).collect())
    }

    fn from_toml(value: &Value) -> Option<Vec<T>> {
        value.as_array()?.iter().map(T::from_toml).collect()
    }
}
