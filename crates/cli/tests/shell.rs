//! What is made for shells and manual readers: completions that complete, pages that roff can read.

mod folder;

use std::process::Command;

use folder::Folder;

/// What bash offers after these words.
fn completed(folder: &Folder, words: &[&str]) -> Vec<String> {
    let script = "source farad.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); \
        _farad farad \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut command = Command::new("bash");
    command.args(["--norc", "-c", script, "bash"]).args(words).current_dir(folder.path(""));
    let output = command.output().expect("bash is there");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.is_empty(), "{words:?}: {error}");
    String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect()
}

#[cfg(unix)]
#[test]
fn bash_completes_commands_recipes_formats_and_devices() {
    let folder = Folder::new("shell-bash");
    std::fs::write(folder.path("farad.bash"), folder.succeed("completions bash")).unwrap();
    assert_eq!(completed(&folder, &["farad", "tra"]), ["train"]);
    assert_eq!(completed(&folder, &["farad", "export", "--format", "ver"]), ["verilog"]);
    assert_eq!(completed(&folder, &["farad", "export", "--for"]), ["--format"]);
    assert_eq!(completed(&folder, &["farad", "train", "checker"]), ["checkerboard", "checkerboard-async"]);
    assert_eq!(completed(&folder, &["farad", "train", "logic-m"]), ["logic-mnist"]);
    assert_eq!(completed(&folder, &["farad", "train", "--optimizer", "ada"]), ["adamw", "adam", "adagrad"]);
    assert_eq!(completed(&folder, &["farad", "bench", "--device", "c"]), ["cpu"]);
}

#[test]
fn every_shell_gets_a_script_with_the_words_of_flags() {
    let folder = Folder::new("shell-all");
    for (shell, word) in [
        ("zsh", "checkerboard-async"),
        ("fish", "digitaljs"),
        ("fish", "-n \"__fish_farad_using_subcommand train\" -f -a \"life checkerboard checkerboard-async "),
        ("powershell", "--format"),
        ("elvish", "--format"),
    ] {
        let script = folder.succeed(&format!("completions {shell}"));
        assert!(script.contains(word) && script.contains("train"), "{shell}");
    }
}

#[test]
fn every_command_has_a_page_that_roff_reads() {
    let folder = Folder::new("shell-man");
    let written = folder.succeed("man --out pages");
    let help = folder.succeed("--help");
    let commands = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    for command in
        commands.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
    {
        assert!(written.contains(&format!("pages/farad-{command}.1\n")), "{command}: {written}");
    }
    let page = std::fs::read_to_string(folder.path("pages/farad-train.1")).unwrap();
    assert_eq!(page, folder.succeed("man train"));
    for part in [
        ".TH farad-train 1",
        ".SH NAME",
        ".SH SYNOPSIS",
        ".SH \"EXAMPLES\"",
        "\\-\\-resume",
        ".SH \"SEE ALSO\"",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let page = folder.succeed("man");
    assert!(page.contains(".SH \"EXIT CODES\"") && page.contains(".SH \"ENVIRONMENT\""), "{page}");
    let Ok(output) = Command::new("groff")
        .args(["-man", "-Tutf8", "-ww", "pages/farad-train.1"])
        .current_dir(folder.path(""))
        .output()
    else {
        eprintln!("skipped: no groff to read the pages with");
        return;
    };
    assert_eq!((String::from_utf8_lossy(&output.stderr).as_ref(), output.status.success()), ("", true));
    assert!(String::from_utf8_lossy(&output.stdout).contains("farad train checkerboard"));
}
