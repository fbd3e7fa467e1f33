//! A sheet of samples with what a model saw in them: the mistakes first, then some that were seen right.

use farad_train::run::{Picture, Sheet, Thumbnail, thousands};

/// Mistakes on a sheet, and as many that were seen right.
const SHOWN: usize = 18;
/// The side of a picture on the sheet.
const SIDE: f64 = 72.0;

/// What is known of one sample of a set: its place, its class, the class seen, and how sure the model was, if it says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedSample {
    /// Its place in the set.
    pub place: usize,
    /// Its class.
    pub class: usize,
    /// The class seen.
    pub seen: usize,
    /// How sure the model was, from 0 to 1.
    pub sure: Option<f32>,
}

impl JudgedSample {
    fn is_right(&self) -> bool {
        self.class == self.seen
    }
}

/// Draws a sheet of the mistakes that the model was most sure of, and of the first samples that were seen right.
/// `picture` says what the sample at a place looks like; none if samples are no pictures.
pub fn sheet<E>(
    all: &[JudgedSample],
    classes: &[String],
    about: &str,
    mut picture: impl FnMut(usize) -> Result<Option<Picture>, E>,
) -> Result<Option<Sheet>, E> {
    let mut mistakes: Vec<&JudgedSample> = all.iter().filter(|sample| !sample.is_right()).collect();
    mistakes.sort_by(|a, b| b.sure.unwrap_or(0.0).total_cmp(&a.sure.unwrap_or(0.0)));
    let (count, ordered) = (mistakes.len(), all.iter().any(|sample| sample.sure.is_some()));
    let order = if ordered { ", the surest first" } else { "" };
    let title = match count {
        0 => "Samples, none of them seen wrong".to_string(),
        _ => format!("Samples: {} of {} mistakes{order}", SHOWN.min(count), thousands(&count.to_string())),
    };
    let mut sheet = Sheet::new(&title, (SIDE, SIDE)).about(about);
    let right = all.iter().filter(|sample| sample.is_right()).take(SHOWN);
    for sample in mistakes.into_iter().take(SHOWN).chain(right) {
        let Some(picture) = picture(sample.place)? else { return Ok(None) };
        let name = |class: usize| classes.get(class).cloned().unwrap_or(class.to_string());
        let sure = sample.sure.map(|sure| format!("{:.0} %", 100.0 * sure));
        sheet = sheet.tile(match sample.is_right() {
            false => {
                let seen = [Some(format!("seen: {}", name(sample.seen))), sure].into_iter().flatten();
                let lines = [format!("is {}", name(sample.class)), seen.collect::<Vec<_>>().join(", ")];
                Thumbnail::new(picture.png(), &lines).wrong()
            }
            true => Thumbnail::new(
                picture.png(),
                &[Some(name(sample.class)), sure].into_iter().flatten().collect::<Vec<_>>(),
            ),
        });
    }
    Ok(Some(sheet))
}

/// An image `[channels, height, width]` of one or three channels with values from 0 to 1, large enough to be seen.
pub fn picture(values: &[f32], shape: &[usize]) -> Option<Picture> {
    let &[channels, height, width] = shape else { return None };
    let times = (112 / height.max(width).max(1)).clamp(1, 8);
    match channels {
        1 => Some(Picture::from_gray(width, height, values).scaled(times)),
        3 => {
            let size = height * width;
            let pixel = |at: usize| [values[at], values[size + at], values[2 * size + at]];
            let mixed: Vec<f32> = (0..size).flat_map(pixel).collect();
            Some(Picture::from_channels(width, height, &mixed).scaled(times))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surest_mistake_is_first() {
        let judged = |place, class, seen, sure| JudgedSample { place, class, seen, sure: Some(sure) };
        let all = [judged(0, 1, 1, 0.9), judged(1, 0, 1, 0.6), judged(2, 1, 0, 0.98)];
        let names = ["cat".to_string(), "dog".to_string()];
        let mut asked = Vec::new();
        let sheet = sheet::<()>(&all, &names, "run", |place| {
            asked.push(place);
            Ok(picture(&[0.5; 4], &[1, 2, 2]))
        });
        let svg = sheet.unwrap().unwrap().svg();
        assert_eq!(asked, [2, 1, 0]);
        for text in ["2 of 2 mistakes, the surest first", ">is dog<", ">seen: cat, 98 %<", ">dog<", ">90 %<"]
        {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
        assert!(sheet_of_tables(&all).is_none());
    }

    fn sheet_of_tables(all: &[JudgedSample]) -> Option<Sheet> {
        sheet::<()>(all, &[], "run", |_| Ok(picture(&[0.5; 4], &[4]))).unwrap()
    }
}
