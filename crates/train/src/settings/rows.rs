//! The table of settings: one line is the field, its row and its default.

/// Makes a structure of settings. A line is a setting: its key (and former ones), type, default, what it takes, and one
/// sentence of help, which is also the field's documentation. Runs that were made before there was a key do not have it: then it is
/// marked `#[later]`. What is only there to be tried again is marked `#[lab]`: its key begins with `lab.`, and runs need not have it. Parts at
/// the end have their keys beside the others.
///
/// ```
/// use farad_train::settings::{NumberRange, SettingsTable, Takes};
/// farad_train::settings! {
///     /// What a walk is made of.
///     pub struct Walk {
///         steps: u64 = 10, Takes::from(1), "Steps of the walk.";
///         #[later] stride ["pace"]: f64 = 0.5, Takes::Number(NumberRange::above(0.0)), "Meters of a step.";
///         #[lab] sway: f64 = 0.0, Takes::Number(NumberRange::from(0.0)), "Meters to the side.";
///     }
/// }
/// let mut walk = Walk::default();
/// walk.set("pace=0.75")?;
/// assert_eq!((walk.steps, walk.stride), (10, 0.75));
/// let refused = walk.set("steps=0").unwrap_err().to_string();
/// assert_eq!(refused, "settings: steps takes a whole number from 1 on, not `0`");
/// assert_eq!(Walk::rows()[1].help, "Meters of a step.");
/// walk.set("lab.sway=0.1")?;
/// let refused = walk.set("sway=0.1").unwrap_err().to_string();
/// assert!(refused.starts_with("settings: there is no key `sway`; did you mean `lab.sway`?"));
/// # Ok::<(), farad_train::Error>(())
/// ```
#[macro_export]
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$mark:ident])? $key:ident $([$($former:literal),+])? : $type:ty = $default:expr, $takes:expr, $help:literal;)*
            $(..$part:ident : $part_type:ty, $part_help:literal;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(#[doc = $help] pub $key: $type,)*
            $(#[doc = $part_help] pub $part: $part_type,)*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($key: $default,)* $($part: Default::default(),)* }
            }
        }

        impl $crate::settings::SettingsTable for $name {
            fn rows() -> Vec<$crate::settings::Setting> {
                let own = vec![$({
                    let default: $type = $default;
                    let mark = $crate::settings::Mark::of(&[$(stringify!($mark))?]);
                    $crate::settings::Setting {
                        key: mark.key(stringify!($key), concat!("lab.", stringify!($key))),
                        former: mark.former(&[$($($former),+)?], &[stringify!($key)]),
                        takes: $takes,
                        default: $crate::settings::SettingValue::to_toml(&default),
                        help: $help,
                        later: mark.is_later(),
                    }
                }),*];
                let parts = [own, $(<$part_type as $crate::settings::SettingsTable>::rows()),*];
                parts.into_iter().flatten().collect()
            }

            fn table(&self) -> $crate::run::Table {
                let mut table = $crate::run::Table::new();
                $(table.insert(
                    $crate::settings::Mark::of(&[$(stringify!($mark))?])
                        .key(stringify!($key), concat!("lab.", stringify!($key)))
                        .into(),
                    $crate::settings::SettingValue::to_toml(&self.$key),
                );)*
                $(table.extend($crate::settings::SettingsTable::table(&self.$part));)*
                table
            }

            fn put(&mut self, key: &str, value: &$crate::settings::TomlValue) -> bool {
                $(if $crate::settings::Mark::of(&[$(stringify!($mark))?])
                    .key(stringify!($key), concat!("lab.", stringify!($key)))
                    == key
                {
                    return match $crate::settings::SettingValue::from_toml(value) {
                        Some(value) => { self.$key = value; true }
                        None => false,
                    };
                })*
                $(if $crate::settings::SettingsTable::put(&mut self.$part, key, value) {
                    return true;
                })*
                false
            }
        }
    };
}
