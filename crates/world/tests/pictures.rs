//! Pictures of worlds: they show the bodies, and are the same every time.

use std::time::Duration;

use farad_tensor::{Device, Tensor};
use farad_train::run::Picture;
use farad_world::{RolloutOptions, WORLDS, World, WorldCamera};

#[test]
fn every_world_has_a_picture_with_its_colors() {
    let folder = std::env::temp_dir().join(format!("farad-world-pictures-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut all = vec![];
    for row in WORLDS {
        let world = World::named(row.name, &Device::cpu()).expect("a row");
        let camera = WorldCamera::for_world(&world).sized(240, 180);
        let state = world.reset(1, 0);
        let picture = world.picture(&state, 0, &camera).expect("a picture");
        assert_eq!(picture, world.picture(&state, 0, &camera).expect("the same"), "{}", row.name);
        let sky = picture.pixel(0, 0);
        let pixels = (0..240 * 180).map(|n| picture.pixel(n % 240, n / 240));
        let drawn = pixels.filter(|&pixel| pixel != sky).count();
        assert!(drawn > 200, "{}: {drawn} pixels are drawn", row.name);
        all.push(picture.captioned(row.name, 2));
    }
    let sheet = folder.join("worlds.png");
    Picture::sheet(&all, 3, 6).write_png(&sheet).expect("a file");
    println!("{}", sheet.display());
    if std::env::var_os("FARAD_KEEP_PICTURES").is_none() {
        std::fs::remove_dir_all(&folder).expect("it was there");
    }
}

#[test]
fn a_film_follows_a_body_and_is_written_as_gif() {
    let world = World::named("rolling-sphere", &Device::cpu()).expect("a row");
    let actions = Tensor::zeros([40, 1, 0], world.device());
    let states = world.rollout(&world.reset(1, 0), &actions, &RolloutOptions::states()).states.expect("kept");
    let camera = WorldCamera::for_world(&world).sized(80, 60).follow(0);
    let frames = world.film(&states, 0, 10, &camera).expect("frames");
    assert_eq!(frames.len(), 4);
    // The ball stays in the middle, the squares of the ground move.
    assert_ne!(frames[0], frames[3]);
    let middle = |frame: &Picture| frame.pixel(40, 30);
    let near = |a: [u8; 3], b: [u8; 3]| a.iter().zip(b).all(|(a, b)| a.abs_diff(b) < 40);
    assert!(
        near(middle(&frames[0]), middle(&frames[3])),
        "{:?} {:?}",
        middle(&frames[0]),
        middle(&frames[3])
    );
    let path = std::env::temp_dir().join(format!("farad-world-film-{}.gif", std::process::id()));
    Picture::write_gif(&path, &frames, Duration::from_millis(100)).expect("a film");
    assert!(std::fs::metadata(&path).expect("a file").len() > 500);
    std::fs::remove_file(&path).expect("it was there");
}
