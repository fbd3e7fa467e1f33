//! Charts contain their data, are valid XML, stay inside of their axes, and are the same bytes every time.

use farad_chart::{Bars, Chart, Matrix, Parallel, Series, Sheet, Stack, Thumbnail};

/// Parses an SVG text and panics if it is not well formed. Returns names and attributes of all elements.
fn elements(svg: &str) -> Vec<(String, Vec<(String, String)>)> {
    let (mut open, mut found, mut rest) = (Vec::new(), Vec::new(), svg.trim_end());
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        assert!(!text.contains('>') && entities(text), "text {text:?}");
        let end = rest[start..].find('>').expect("a tag ends") + start;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed in order");
            continue;
        }
        let (tag, alone) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(name.chars().all(|letter| letter.is_ascii_alphanumeric()), "{name}");
        let mut pieces: Vec<&str> = attributes.split('"').collect();
        assert_eq!(pieces.pop().map(str::trim), Some(""), "quotes in {tag}");
        let pairs = pieces.chunks(2).map(|pair| {
            assert!(entities(pair[1]) && pair[0].ends_with('='), "{pair:?}");
            (pair[0].trim().trim_end_matches('=').to_string(), pair[1].to_string())
        });
        found.push((name.to_string(), pairs.collect()));
        if !alone {
            open.push(name.to_string());
        }
    }
    assert!(open.is_empty() && rest.is_empty(), "{open:?} left open, then {rest:?}");
    assert_eq!(found[0].0, "svg");
    assert!(found.iter().any(|e| e.0 == "title") && found.iter().any(|e| e.0 == "desc"));
    assert!(!svg.contains("NaN") && !svg.contains("inf\""), "numbers are numbers");
    found
}

fn entities(text: &str) -> bool {
    text.split('&').skip(1).all(|rest| ["amp;", "lt;", "gt;", "quot;"].iter().any(|e| rest.starts_with(e)))
}

/// The lines of a chart in their color, as points.
fn lines(svg: &str) -> Vec<Vec<(f64, f64)>> {
    let all = elements(svg).into_iter().filter(|element| element.0 == "polyline");
    let points = |text: &str| {
        let pair = |pair: &str| pair.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()));
        text.split(' ').filter_map(pair).collect::<Vec<(f64, f64)>>()
    };
    all.map(|(_, attributes)| points(&attributes.iter().find(|a| a.0 == "points").unwrap().1)).collect()
}

#[test]
fn charts_show_what_they_are_given() {
    let line = |n: usize| (0..n).map(|i| (i as f64, 2.0 / (1.0 + i as f64)));
    let chart = Chart::new("losses & <such>", "step", "loss").about("run \"7\"");
    let svg = chart.line("soft", line(50)).series(Series::new("hard", line(20)).markers()).svg();
    for text in ["losses &amp; &lt;such&gt;", "run &quot;7&quot;", ">step<", ">loss<", ">soft<", ">hard<"] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    // Two of the lines are samples in the legend.
    let lines = lines(&svg);
    assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 50, 20]);
    assert!(lines[2].is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "falls, which is downwards");
    let marks = elements(&svg).iter().filter(|element| element.0 == "polygon").count();
    assert_eq!(marks, 2 * 21, "a mark and its rim at every point and in the legend");
}

#[test]
fn scattered_points_are_dots_without_a_line() {
    let points: Vec<(f64, f64)> = (0..30).map(|i| (f64::from(i % 7), f64::from(i * 3 % 11))).collect();
    let chart = Chart::new("a", "x", "y").series(Series::new("samples", points).scattered());
    let svg = chart.series(Series::new("right", [(0.0, 0.0), (6.0, 6.0)]).dashed()).svg();
    assert_eq!(elements(&svg).iter().filter(|element| element.0 == "circle").count(), 30);
    // The line and its sample in the legend.
    assert_eq!(lines(&svg).iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_logarithmic_x_axis_has_equal_factors_at_equal_distances() {
    let svg = Chart::new("a", "rate", "y")
        .log_x()
        .line("a", [(0.0, 1.0), (0.01, 1.0), (0.1, 1.0), (1.0, 2.0)])
        .svg();
    let across: Vec<f64> = lines(&svg)[0].iter().map(|point| point.0).collect();
    assert_eq!(across.len(), 3, "zero has no place");
    assert!((across[2] - 2.0 * across[1] + across[0]).abs() < 0.1, "{across:?}");
    assert!(svg.contains(">0.1<"), "{svg}");
}

#[test]
fn parallel_lines_cross_every_axis_at_their_value() {
    let svg = Parallel::new("trials & such", 3)
        .about("of csv")
        .numbers("rate", true, [0.001, 0.1, 0.01])
        .words("optimizer", ["sgd", "adam", "sgd"])
        .numbers("loss", false, [0.1, 0.5, f64::NAN])
        .svg();
    for text in
        [">rate<", ">optimizer<", ">loss<", ">sgd<", ">adam<", "trials &amp; such", "stroke-dasharray"]
    {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    // The best is drawn last, over the others; the one without a loss ends before that axis.
    let drawn = lines(&svg);
    assert_eq!(drawn.iter().map(Vec::len).collect::<Vec<_>>(), [2, 3, 3]);
    let (failed, second, first) = (&drawn[0], &drawn[1], &drawn[2]);
    assert!(first[0].1 > failed[0].1 && failed[0].1 > second[0].1, "larger rates are higher: {drawn:?}");
    assert!(first[1] == failed[1] && first[1].1 < second[1].1, "the same word is the same place: {drawn:?}");
    assert!(first[2].1 > second[2].1, "{drawn:?}");
    elements(&Parallel::new("nothing", 0).svg());
    elements(&Parallel::new("one", 1).numbers("x", true, [0.0]).words("y", [""]).svg());
    elements(&Parallel::new("odd", 2).numbers("x", false, [f64::INFINITY, 1e308]).svg());
}

#[test]
#[should_panic(expected = "parallel: one value per line: (1 vs 2)")]
fn a_value_for_every_line() {
    Parallel::new("odd", 2).numbers("x", false, [1.0]);
}

#[test]
fn all_points_lie_between_the_axes() {
    let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
    let points: Vec<(f64, f64)> = (0..300).map(|i| (f64::from(i), noise(i) * 1e4 - 5e3)).collect();
    let positive: Vec<(f64, f64)> = points.iter().map(|p| (p.0, (p.1 / 500.0).exp())).collect();
    for chart in [
        Chart::new("a", "x", "y").line("a", points.clone()),
        Chart::new("a", "x", "y").log_y().line("a", positive.clone()),
        Chart::new("a", "x", "y").log_y_from(1.0).line("a", positive.clone()),
        Chart::new("a", "x", "y").series(Series::new("a", points).smoothed()),
    ] {
        let svg = chart.svg();
        for (x, y) in lines(&svg).concat() {
            assert!((20.0..=800.0).contains(&x) && (50.0..=430.0).contains(&y), "({x}, {y})");
        }
    }
}

#[test]
fn zeros_stand_below_a_logarithmic_axis() {
    let chart =
        |last: f64| Chart::new("a", "x", "y").log_y().line("a", [(0.0, 1.0), (1.0, 0.1), (2.0, last)]);
    let (with, without) = (chart(0.0).svg(), chart(0.01).svg());
    assert!(with.contains(">0</text>") && lines(&with)[0].len() == 3);
    let (zero, tenth) = (lines(&with)[0][2].1, lines(&with)[0][1].1);
    assert!(zero > tenth + 10.0, "{zero} and {tenth}");
    assert_eq!(lines(&without)[0].len(), 3);
    let floor = Chart::new("a", "x", "y").log_y_from(1e-3).line("a", [(0.0, 1e3), (1.0, 1e-9)]).svg();
    assert!(floor.contains(">&lt; 10<tspan"), "{floor}");
    assert!(!floor.contains("−9"), "no decades of white");
}

#[test]
fn noise_is_pale_behind_its_mean() {
    let points: Vec<(f64, f64)> = (0..500).map(|i| (f64::from(i), f64::from(i % 2))).collect();
    let svg = Chart::new("a", "x", "y").series(Series::new("a", points).smoothed()).svg();
    let lines = lines(&svg);
    let height = |line: &[(f64, f64)]| {
        let inner = &line[100..400];
        inner.iter().map(|p| p.1).fold(0.0, f64::max) - inner.iter().map(|p| p.1).fold(1e9, f64::min)
    };
    assert!(height(&lines[1]) > 100.0 && height(&lines[2]) < 20.0, "{svg}");
    assert!(svg.contains("moving mean of 25 points"));
}

#[test]
fn odd_data_give_a_chart() {
    let odd: [Vec<(f64, f64)>; 9] = [
        vec![],
        vec![(1.0, 5.0)],
        vec![(0.0, 0.0), (1.0, 0.0)],
        vec![(3.0, 1.0), (3.0, 2.0)],
        vec![(0.0, f64::NAN), (1.0, f64::INFINITY), (f64::NEG_INFINITY, 2.0)],
        vec![(0.0, -1e308), (1.0, 1e308)],
        vec![(0.0, 1e-300), (1.0, 1e300)],
        vec![(0.0, 7.0), (1.0, 7.000000000001)],
        vec![(0.0, f64::NAN), (1.0, 1.0), (2.0, -1.0), (3.0, f64::MIN_POSITIVE)],
    ];
    for points in &odd {
        let band = || points.iter().map(|p| (p.0, p.1 - 1.0, p.1 + 1.0));
        for chart in [Chart::new("odd", "x", "y"), Chart::new("odd", "x", "y").log_y()] {
            let b = Series::new("b", points.clone()).markers().smoothed().dashed().band(band());
            elements(&chart.line("a", points.clone()).series(b).svg());
        }
    }
    elements(&Chart::new("nothing", "x", "y").log_y().svg());
    elements(&Bars::new::<&str>("nothing", "count", &[]).svg());
    elements(&Stack::new("nothing", "x", "y").svg());
    elements(&Sheet::new("nothing", (10.0, 10.0)).svg());
    for values in [[0.0, 0.0], [f64::NAN, f64::INFINITY], [-3.0, 5.0], [-3.0, -1.0], [1e308, -1e308]] {
        let bars = Bars::new("odd", "count", &["a", "b"]).group(0, "all").group(9, "none");
        elements(&bars.series("x", values).series("y", values).svg());
        elements(&Stack::new("odd", "x", "y").part("a", 0, values).line("b", values).svg());
        elements(&Matrix::new("odd", ("row", &["a"]), ("column", &["b", "c"]), &values).svg());
    }
    let control = "\u{0}\u{1b}[31m\u{ffff}]]>&#x; \"'";
    elements(&Chart::new(control, control, control).about(control).line(control, [(0.0, 1.0)]).svg());
    elements(&Sheet::new(control, (9.0, 9.0)).tile(Thumbnail::new(vec![0], &[control]).wrong()).svg());
}

#[test]
fn the_same_data_are_the_same_bytes_in_a_small_file() {
    let chart = || {
        let points = |scale: f64| (0..200_000).map(move |i| (i as f64, (i as f64 * 0.001).sin() * scale));
        Chart::new("long", "x", "y")
            .line("a", points(1.0))
            .series(Series::new("b", points(2.0)).smoothed())
            .svg()
    };
    let svg = chart();
    assert!(svg.len() < 100_000, "{} bytes", svg.len());
    assert!(svg == chart());
    let names: Vec<String> = (0..100).map(|n| format!("class {n}")).collect();
    let counts: Vec<f64> = (0..10_000).map(|n| f64::from(n % 7)).collect();
    let matrix = Matrix::new("m", ("is", &names), ("seen as", &names), &counts).diagonal().svg();
    assert!(matrix.len() < 700_000 && !matrix.contains("class 1<"), "{}", matrix.len());
    elements(&matrix);
}

#[test]
fn a_matrix_has_all_its_counts() {
    let names = ["ham", "spam", "other things with long names"];
    let counts = [51.0, 3.0, 0.0, 7.0, 12_345.0, 2.0, 0.0, 0.0, 1.0];
    let svg = Matrix::new("m", ("is", &names), ("seen as", &names), &counts).diagonal().svg();
    elements(&svg);
    for text in [">51<", ">12,345<", ">seen as<", ">ham<", "is spam, seen as ham: 7 (0.1 %)"] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
}

#[test]
fn words_below_a_tile_become_smaller_before_they_are_cut() {
    let long = "a name that no tile has room for";
    let svg = Sheet::new("s", (72.0, 72.0))
        .tile(Thumbnail::new(vec![1], &["is dog", "seen: cat, 98 %", long]))
        .svg();
    elements(&svg);
    assert!(svg.contains(">is dog<") && svg.contains(">seen: cat, 98 %<") && svg.contains("…<"), "{svg}");
}

#[test]
#[should_panic(expected = "bars: one value per name: (1 vs 2)")]
fn a_bar_for_every_name() {
    Bars::new("odd", "count", &["a", "b"]).series("x", [1.0]);
}

#[test]
#[should_panic(expected = "matrix: a count for every row and column: (3 vs 4)")]
fn a_count_for_every_square() {
    Matrix::new("odd", ("row", &["a", "b"]), ("column", &["c", "d"]), &[0.0; 3]);
}
