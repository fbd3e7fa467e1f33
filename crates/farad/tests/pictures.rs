//! Pictures whose files decode to the same pixels.

use std::path::PathBuf;
use std::time::Duration;

use farad::run::Picture;

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("farad-picture-{}-{name}", std::process::id()))
}

fn decoded_png(path: &PathBuf) -> (usize, usize, Vec<u8>) {
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(path).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    (info.width as usize, info.height as usize, bytes)
}

/// A picture with many colors.
fn colorful(width: usize, height: usize, shift: usize) -> Picture {
    let value = |i: usize| ((i * 31 + shift * 7) % 17) as f32 / 16.0;
    Picture::from_channels(width, height, &(0..width * height * 3).map(value).collect::<Vec<_>>())
}

#[test]
fn png_files_hold_the_same_pixels() {
    let path = file("a.png");
    let small = Picture::from_gray(3, 2, &[0.0, 0.25, 0.5, 1.0, 2.0, f32::NAN]);
    assert_eq!(small.pixel(1, 0), [64; 3]);
    assert_eq!((small.pixel(1, 1), small.pixel(2, 1)), ([255; 3], [255, 0, 255]));
    let cells: Vec<bool> = (0..5 * 4).map(|i| i % 3 == 0).collect();
    let board = Picture::from_bools(5, 4, &cells, [10, 20, 30], [255; 3]);
    let pictures = [
        small,
        colorful(31, 7, 0),
        board.scaled(9).bordered(2, [90, 0, 0]),
        Picture::sheet(&[board.scaled(8).captioned("step 12", 1), colorful(20, 50, 1), board.clone()], 2, 5),
        Picture::beside(&[board.clone(), colorful(3, 3, 2)], 1),
    ];
    for picture in &pictures {
        picture.write_png(&path).unwrap();
        assert_eq!(decoded_png(&path), (picture.width(), picture.height(), picture.bytes().to_vec()));
    }
    std::fs::remove_file(&path).unwrap();
    let error = board.write_png("/nonexistent/a.png").unwrap_err().to_string();
    assert!(error.starts_with("picture: file /nonexistent/a.png: "), "{error}");
    let error = Picture::filled(0, 0, [0; 3]).write_png(&path).unwrap_err().to_string();
    assert!(error.starts_with("picture: cannot be encoded: "), "{error}");
    assert!(!path.exists());
}

#[test]
fn pictures_are_put_together() {
    let dot = |gray: f32| Picture::from_gray(1, 1, &[gray]);
    let sheet = Picture::sheet(&[dot(0.0), dot(0.2), dot(0.4)], 2, 1);
    assert_eq!((sheet.width(), sheet.height()), (5, 5));
    assert_eq!([sheet.pixel(1, 1), sheet.pixel(3, 1), sheet.pixel(1, 3)], [[0; 3], [51; 3], [102; 3]]);
    assert_eq!([sheet.pixel(3, 3), sheet.pixel(0, 0)], [[255; 3]; 2]);
    let framed = dot(0.0).scaled(2).bordered(1, [1, 2, 3]);
    assert_eq!((framed.width(), framed.pixel(0, 3), framed.pixel(2, 1)), (4, [1, 2, 3], [0; 3]));
    let captioned = Picture::filled(8, 2, [9; 3]).captioned("l1 does not fit", 1);
    assert_eq!((captioned.width(), captioned.height()), (8, 10));
    let dark: Vec<(usize, usize)> = (2..10)
        .flat_map(|y| (0..8).map(move |x| (x, y)))
        .filter(|&(x, y)| captioned.pixel(x, y) != [255; 3])
        .collect();
    assert!(dark.contains(&(0, 4)) && dark.contains(&(2, 8)) && dark.contains(&(5, 4)), "{dark:?}");
    let caption = |text: &str| Picture::filled(32, 1, [9; 3]).captioned(text, 1);
    assert_eq!(caption("step 10 of 20"), caption("step 10"), "no number is cut");
    assert_eq!(caption("equivalence"), caption("equivale"));
    assert_eq!(Picture::sheet(&[], 3, 2).width(), 4);
}

fn decoded_gif(path: &PathBuf) -> (Vec<Vec<u8>>, gif::Repeat, u16, usize) {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(std::fs::File::open(path).unwrap()).unwrap();
    let colors = decoder.global_palette().unwrap().len() / 3;
    let (mut frames, mut delay) = (Vec::new(), 0);
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        delay = frame.delay;
        frames.push(frame.buffer.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect());
    }
    (frames, decoder.repeat(), delay, colors)
}

#[test]
fn gif_files_hold_the_same_pixels() {
    let path = file("a.gif");
    let cells = |t: usize| (0..12 * 9).map(|i| (i * 7 + t).is_multiple_of(3)).collect::<Vec<bool>>();
    let life: Vec<Picture> =
        (0..6).map(|t| Picture::from_bools(12, 9, &cells(t), [20, 30, 90], [250; 3]).scaled(4)).collect();
    Picture::write_gif(&path, &life, Duration::from_millis(80)).unwrap();
    let (frames, repeat, delay, colors) = decoded_gif(&path);
    assert_eq!((repeat, delay, colors), (gif::Repeat::Infinite, 8, 2));
    assert_eq!(frames, life.iter().map(|frame| frame.bytes().to_vec()).collect::<Vec<_>>());
    let gray = Picture::from_gray(16, 16, &(0..256).map(|i| i as f32 / 255.0).collect::<Vec<_>>());
    Picture::write_gif(&path, std::slice::from_ref(&gray), Duration::ZERO).unwrap();
    assert_eq!(decoded_gif(&path).0[0], gray.bytes());
    // Too many colors: still near.
    let many: Vec<f32> = (0..64 * 64 * 3).map(|i| (i * 2_654 % 9973) as f32 / 9972.0).collect();
    let many = Picture::from_channels(64, 64, &many);
    Picture::write_gif(&path, std::slice::from_ref(&many), Duration::ZERO).unwrap();
    let (frames, _, _, colors) = decoded_gif(&path);
    assert!(colors <= 256);
    let far = frames[0].iter().zip(many.bytes()).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
    assert!(far > 0 && far <= 48, "{far}");
    let wide = Picture::filled(70_000, 1, [0; 3]);
    let error = Picture::write_gif(&path, &[wide], Duration::ZERO).unwrap_err().to_string();
    assert!(error.ends_with("side too long: (70000 vs at most 65535)"), "{error}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn films_say_how_far_they_are_and_pause_at_the_end() {
    let path = file("film.gif");
    let frame = |share: f64| Picture::filled(160, 40, [9; 3]).with_progress("step 3 of 20", share);
    let frames: Vec<Picture> = (0..4).map(|n| frame(f64::from(n) / 3.0)).collect();
    Picture::write_film(&path, &frames, Duration::from_millis(80), Duration::from_millis(1600)).unwrap();
    let mut decoder = gif::DecodeOptions::new().read_info(std::fs::File::open(&path).unwrap()).unwrap();
    let mut delays = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        delays.push(frame.delay);
    }
    assert_eq!(delays, [8, 8, 8, 160]);
    let dark = |picture: &Picture| {
        let y = picture.height() - 6;
        (0..160).filter(|&x| picture.pixel(x, y) == [0x22, 0x26, 0x2b]).count()
    };
    assert_eq!(frames.iter().map(dark).collect::<Vec<_>>(), [0, 53, 107, 160]);
    assert_eq!(frames[0].pixel(80, 20), [9; 3], "the picture itself is untouched");
    std::fs::remove_file(&path).unwrap();
}

#[test]
#[should_panic(expected = "picture: frames differ in size: 2×1 and 1×1")]
fn frames_of_one_size() {
    let frames = [Picture::filled(1, 1, [0; 3]), Picture::filled(2, 1, [0; 3])];
    let _ = Picture::write_gif(file("never.gif"), &frames, Duration::ZERO);
}

#[test]
#[should_panic(expected = "picture: values do not fill 2×3: (5 vs 6)")]
fn a_value_for_every_pixel() {
    Picture::from_gray(2, 3, &[0.0; 5]);
}
