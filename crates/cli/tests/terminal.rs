//! What a command shows in a terminal: colors, bars, grids and curves, and lines that are as long as it is wide.
#![cfg(target_os = "linux")]

mod folder;

use std::process::{Command, Stdio};

use folder::Folder;

/// What a command writes to a terminal, with variables of the environment set.
fn on_a_terminal(folder: &Folder, arguments: &str, variables: &[(&str, &str)]) -> String {
    on_a_terminal_of(80, folder, arguments, variables)
}

/// The same for a terminal of so many columns.
fn on_a_terminal_of(columns: usize, folder: &Folder, arguments: &str, variables: &[(&str, &str)]) -> String {
    let farad = env!("CARGO_BIN_EXE_farad");
    let mut command = Command::new("script");
    command
        .args(["-qec", &format!("stty rows 40 cols {columns}; {farad} {arguments}"), "/dev/null"])
        .current_dir(folder.path(""));
    // `CI` means colors even where the terminal is dumb.
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "FARAD_DEVICE", "CI"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm-256color").envs(variables.iter().copied()).stdin(Stdio::null());
    String::from_utf8_lossy(&command.output().expect("script is part of util-linux").stdout).into_owned()
}

#[test]
fn terminals_have_colors_and_a_bar_unless_told_otherwise() {
    let folder = Folder::new("look-terminal");
    // Colors, not the escapes that draw a line again.
    let colored =
        |text: &str| text.contains("\x1b[1m") || text.contains("\x1b[31m") || text.contains("\x1b[32m");
    for (variables, wanted) in [
        (&[][..], true),
        (&[("NO_COLOR", "1")], false),
        (&[("NO_COLOR", "")], true),
        (&[("TERM", "dumb")], false),
    ] {
        assert_eq!(colored(&on_a_terminal(&folder, "train --list", variables)), wanted, "{variables:?}");
        assert_eq!(colored(&on_a_terminal(&folder, "eval nowhere", variables)), wanted, "{variables:?}");
    }
    let long = "train life --device cpu --updates 60 --quick";
    let bar = |text: &str| text.contains("━");
    assert!(bar(&on_a_terminal(&folder, long, &[])));
    let plain = on_a_terminal(&folder, long, &[("NO_COLOR", "1")]);
    assert!(bar(&plain) && !colored(&plain), "{plain}");
    assert!(!bar(&on_a_terminal(&folder, long, &[("TERM", "dumb")])));
    assert!(!bar(&on_a_terminal(&folder, &format!("{long} --quiet"), &[])));
}

/// What is drawn as one line, without escapes.
fn drawn_lines(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            // An escape ends with a letter; one that moves the cursor begins another line.
            '\x1b' => {
                let end = letters.find(|letter| letter.is_ascii_alphabetic());
                plain.push_str(if end == Some('m') { "" } else { "\n" });
            }
            '\r' => plain.push('\n'),
            other => plain.push(other),
        }
    }
    // A line ends with two letters there.
    plain.lines().map(|line| line.trim_end().to_string()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn terminals_have_grids_and_curves_that_fit_and_pipes_have_none() {
    let folder = Folder::new("look-drawn");
    std::fs::write(folder.path("text.txt"), "the cat sat on the mat. ".repeat(200)).unwrap();
    let life = "train life --device cpu --updates 60 --quick --set evaluate_every=5 --set log_every=2";
    let lm = "train lm --data text.txt --device cpu --layers 1 --heads 2 --width 32 --context 32 --batch 8 --updates 60 \
        --set evaluate_every=10 --set log_every=5 --set sample=60 --warm-up 1";
    let curve = |line: &String| line.matches(|letter| "▁▂▃▅▆▇".contains(letter)).count() > 3;
    for columns in [60, 80] {
        let wide = |arguments: &str, variables: &[(&str, &str)]| {
            on_a_terminal_of(columns, &folder, arguments, variables)
        };
        let colored = wide(life, &[]);
        assert!(colored.contains("\x1b[48;2;") && colored.contains("▀"), "{colored}");
        let plain = wide(life, &[("NO_COLOR", "1")]);
        assert!(!plain.contains("\x1b[48;2;") && (plain.contains("█▀") || plain.contains("▄")), "{plain}");
        let text = wide(lm, &[]);
        let lines: Vec<String> =
            [&colored, &plain, &text].into_iter().flat_map(|text| drawn_lines(text)).collect();
        // Several lines that are drawn at once are padded to whole rows, so that a line that is too long moves the next ones.
        let rows = |line: &String| -> Vec<String> {
            let letters: Vec<char> = line.chars().collect();
            letters.chunks(columns).map(|row| row.iter().collect()).collect()
        };
        let blocks: Vec<Vec<String>> = lines.iter().filter(|line| line.contains('━')).map(rows).collect();
        assert!(blocks.iter().any(|rows| rows.len() > 8 && rows[0].starts_with("▀▀")), "a grid: {blocks:?}");
        assert!(blocks.iter().any(|rows| rows[0].starts_with("after ") && rows[0].contains(" updates: ")));
        for rows in &blocks {
            let bar = rows.iter().position(|row| row.contains('━'));
            assert!(
                bar == Some(rows.len() - 1) && rows[rows.len() - 1].starts_with('━'),
                "{columns}: {rows:?}"
            );
        }
        assert!(
            lines.iter().filter(|line| line.starts_with("loss ")).filter(|line| curve(line)).count() >= 3,
            "{lines:?}"
        );
    }
    for arguments in [life, lm] {
        let output = folder.farad(arguments);
        let all = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        assert!(output.status.success(), "{all}");
        assert!(!all.contains(|letter| "▁▂▃▄▅▆▇█▀━".contains(letter)) && !all.contains('\x1b'), "{all}");
        assert!(!all.contains("\nafter "), "{all}");
    }
}

/// The width of a line in a terminal.
fn width(line: &str) -> usize {
    line.chars().count()
}

#[test]
fn every_line_fits_from_60_columns_on() {
    let folder = Folder::new("terminal-widths");
    let train = "train life --device cpu --updates 3 --out runs/with-a-name-that-is-not-short";
    for (columns, first) in [(60, train), (80, "runs --quiet"), (120, "runs --quiet")] {
        for arguments in [
            first,
            "--help",
            "train --help",
            "sweep --help",
            "train --list",
            "train life --list",
            "devices",
            "runs",
            "inspect runs/with-a-name-that-is-not-short",
            "eval runs/with-a-name-that-is-not-short",
            "export runs/with-a-name-that-is-not-short --format verilog",
            "train lizzard",
            "train life --set learningrate=1",
        ] {
            let text = on_a_terminal_of(columns, &folder, arguments, &[]);
            let lines = drawn_lines(&text);
            assert!(lines.iter().any(|line| width(line) > 20), "{arguments} says something: {text}");
            // What is drawn again and again is padded to whole rows, and another test looks at it.
            let fixed = lines.iter().filter(|line| !line.contains(['━', '─', '▀']));
            let long: Vec<&String> = fixed.filter(|line| width(line) > columns).collect();
            assert!(long.is_empty(), "{arguments} in {columns} columns: {long:#?}");
        }
    }
}

#[test]
fn what_is_broken_can_be_pasted_and_json_is_never_broken() {
    let folder = Folder::new("terminal-pasted");
    let out = "runs/with-a-name-that-is-not-short";
    let text =
        on_a_terminal_of(60, &folder, &format!("train life --device cpu --updates 3 --out {out}"), &[]);
    let lines = drawn_lines(&text);
    let command = lines.iter().skip_while(|line| !line.starts_with("next ")).cloned().collect::<Vec<_>>();
    let first = command.iter().position(|line| line.ends_with(" \\")).expect("a command has several lines");
    assert!(command[first + 1].starts_with("          "), "{command:#?}");
    let json = on_a_terminal_of(60, &folder, "runs --json", &[]);
    assert!(json.lines().any(|line| line.starts_with('{') && line.trim_end().ends_with('}')), "{json}");
}

#[test]
fn tables_leave_out_what_has_no_room_and_say_so() {
    let folder = Folder::new("terminal-tables");
    folder.succeed("train life --device cpu --updates 3 --quiet --out runs/a");
    let plain = |columns: usize| drawn_lines(&on_a_terminal_of(columns, &folder, "runs --quiet", &[]));
    let (narrow, wide) = (plain(60), plain(200));
    assert!(wide[0].contains("device") && wide[0].contains("kind"), "{wide:?}");
    assert!(!narrow[0].contains("device") && narrow[0].contains("result"), "{narrow:?}");
    assert!(
        narrow.iter().any(|line| line.starts_with("in a wider terminal, or with --json: ")),
        "{narrow:?}"
    );
    let piped = folder.succeed("runs --quiet");
    assert!(piped.lines().next().unwrap().contains("device"), "a pipe gets all of it: {piped}");
}

/// While circuits are repaired, a bar shows how far that is; pipes and --quiet have none.
#[test]
fn repairing_has_a_bar_that_grows() {
    let folder = Folder::new("terminal-repairing");
    folder.succeed(
        "train checkerboard --device cpu --updates 40 --seed 3 --set repair=false --quiet --out run",
    );
    let repair = "repair run --seconds 2 --candidates 20000000";
    let lines = drawn_lines(&on_a_terminal_of(100, &folder, repair, &[]));
    let is_bar = |line: &&String| line.starts_with(['━', '╸', '─']) && line.contains("repairing, ");
    let bars: Vec<&String> = lines.iter().filter(is_bar).collect();
    let filled: Vec<usize> = bars.iter().map(|line| line.matches('━').count()).collect();
    assert!(bars.len() > 3 && bars.iter().all(|line| line.contains(" wrong, ")), "{lines:#?}");
    assert!(filled.first() < filled.last() && filled.is_sorted(), "{bars:#?}");
    let quiet = on_a_terminal_of(100, &folder, "repair run --seconds 1 --quiet", &[]);
    let piped = folder.farad("repair run --seconds 1");
    let piped = String::from_utf8_lossy(&piped.stderr);
    assert!(
        !quiet.contains('━') && !piped.contains('━') && !piped.contains("repairing, "),
        "{quiet} {piped}"
    );
}
