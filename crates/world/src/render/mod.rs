//! Pictures of states, rendered on the CPU with the same pixels every time.
//!
//! In the plane, solids are drawn as they are. In space they are shaded spheres, boxes, capsules and cylinders,
//! traced with rays. Invariant: a picture depends only on the description, the state's numbers and the camera.
//! Start at [`World::picture`].

mod camera;
mod ray;
mod scene;
mod scene_json;

use farad_tensor::Error;
use farad_train::run::Picture;

pub use camera::WorldCamera;
use scene::Scene;

use crate::state::WorldState;
use crate::world::World;

/// Rays per pixel in each direction, for smooth edges.
const SAMPLES: usize = 2;

impl World {
    /// A picture of one of the worlds of a state.
    ///
    /// ```
    /// use farad_tensor::Device;
    /// use farad_world::{World, WorldCamera};
    /// let world = World::named("pendulum", &Device::cpu()).expect("it is in the table");
    /// let picture = world.picture(&world.reset(1, 0), 0, &WorldCamera::for_world(&world).sized(160, 120))?;
    /// assert_eq!((picture.width(), picture.height()), (160, 120));
    /// # Ok::<(), farad_tensor::Error>(())
    /// ```
    pub fn picture(&self, state: &WorldState, number: usize, camera: &WorldCamera) -> Result<Picture, Error> {
        let own = state.world(number);
        let (place, turn) = (own.position.to_vec::<f32>()?, own.rotation.to_vec::<f32>()?);
        Ok(drawn(&Scene::new(self, &place, &turn), camera))
    }

    /// Pictures of one world of a roll-out's states, every `every` steps; films are made of these.
    pub fn film(
        &self,
        states: &WorldState,
        number: usize,
        every: usize,
        camera: &WorldCamera,
    ) -> Result<Vec<Picture>, Error> {
        let steps = states.position.shape()[0];
        let read = |t: &farad_tensor::Tensor| t.narrow(1, number, 1).to_vec::<f32>();
        let (places, turns) = (read(&states.position)?, read(&states.rotation)?);
        let (a, b) = (places.len() / steps, turns.len() / steps);
        let frame = |n: usize| {
            let scene = Scene::new(self, &places[n * a..(n + 1) * a], &turns[n * b..(n + 1) * b]);
            drawn(&scene, &camera.following(&scene))
        };
        Ok((0..steps).step_by(every.max(1)).map(frame).collect())
    }
}

fn drawn(scene: &Scene, camera: &WorldCamera) -> Picture {
    let (width, height) = camera.size();
    let mut values = Vec::with_capacity(width * height * 3);
    for n in 0..width * height {
        let mut sum = [0.0; 3];
        for sample in 0..SAMPLES * SAMPLES {
            let off = |k: usize| (k as f64 + 0.5) / SAMPLES as f64;
            let x = (n % width) as f64 + off(sample % SAMPLES);
            let y = (n / width) as f64 + off(sample / SAMPLES);
            let color = scene.color(&camera.ray(x, y));
            sum.iter_mut().zip(color).for_each(|(sum, part)| *sum += part);
        }
        // Few levels keep films within 256 colors.
        let level = |v: f64| (v / (SAMPLES * SAMPLES) as f64 * 31.0).round() / 31.0;
        values.extend(sum.map(|v| level(v) as f32));
    }
    Picture::from_channels(width, height, &values)
}
