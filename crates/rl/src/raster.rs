//! A small pixel canvas for films of worlds: lines with round ends, boxes and discs, with smooth edges.

use farad::run::{Picture, Rgb};

/// A position, from left to right and from top to bottom.
type RasterPoint = (f32, f32);

/// A picture under construction.
pub struct Raster {
    width: usize,
    height: usize,
    /// Red, green, blue, from 0 to 1.
    values: Vec<f32>,
}

impl Raster {
    /// A canvas of one color.
    pub fn new(width: usize, height: usize, color: Rgb) -> Raster {
        Raster { width, height, values: color.map(|c| f32::from(c) / 255.0).repeat(width * height) }
    }

    /// A line of this width, with round ends.
    pub fn line(&mut self, from: RasterPoint, to: RasterPoint, width: f32, color: Rgb) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx * dx + dy * dy;
        self.shape(color, |x, y| {
            let along = if length > 0.0 { ((x - from.0) * dx + (y - from.1) * dy) / length } else { 0.0 };
            let along = along.clamp(0.0, 1.0);
            (x - from.0 - along * dx).hypot(y - from.1 - along * dy) - width / 2.0
        });
    }

    /// A disc.
    pub fn disc(&mut self, center: RasterPoint, radius: f32, color: Rgb) {
        self.line(center, center, 2.0 * radius, color);
    }

    /// A box by its center and its size.
    pub fn rectangle(&mut self, center: RasterPoint, size: (f32, f32), color: Rgb) {
        self.shape(color, |x, y| {
            ((x - center.0).abs() - size.0 / 2.0).max((y - center.1).abs() - size.1 / 2.0)
        });
    }

    /// Fills all pixels with a negative distance; those within half a pixel of the edge are blended.
    fn shape(&mut self, color: Rgb, distance: impl Fn(f32, f32) -> f32) {
        for (at, pixel) in self.values.chunks_exact_mut(3).enumerate() {
            let (x, y) = ((at % self.width) as f32 + 0.5, (at / self.width) as f32 + 0.5);
            let share = (0.5 - distance(x, y)).clamp(0.0, 1.0);
            if share > 0.0 {
                pixel
                    .iter_mut()
                    .zip(color)
                    .for_each(|(value, c)| *value += share * (f32::from(c) / 255.0 - *value));
            }
        }
    }

    /// The picture.
    pub fn picture(&self) -> Picture {
        Picture::from_channels(self.width, self.height, &self.values)
    }
}
