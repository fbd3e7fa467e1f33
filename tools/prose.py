#!/usr/bin/env python3
"""Measures the language of documents: words, sentences, mean length, long sentences.

    tools/prose.py                      every document of the repository
    tools/prose.py README.md docs/*.md  these files
    tools/prose.py --long 35 FILE…      also print each sentence of 35 words or more

Markdown: code blocks, tables, HTML comments, link targets and headings are skipped; an item of a list ends a
sentence. Rust (`.rs`): the text of `//!` and `///` is read as Markdown. A sentence ends with `.`, `!` or `?` before a
space, or with its paragraph. A piece of code between backticks counts as one word.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "cf.", "no.")


def doc_comments(text):
    """The doc comments of a Rust file, as Markdown; other lines end a paragraph."""
    lines = []
    for line in text.splitlines():
        match = re.match(r"\s*//[/!](?: |$)(.*)", line)
        lines.append(match.group(1) if match else "")
    return "\n".join(lines)


def paragraphs(text):
    """The paragraphs and list items of a Markdown text, without code, tables and headings."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    kept, fenced, found = [], False, []

    def close():
        if kept:
            found.append(" ".join(kept))
            kept.clear()

    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(("```", "~~~")):
            fenced = not fenced
            close()
        elif fenced or (not kept and re.match(r"( {4,}|\t)\S", line) and not re.match(r"\s*([-*+]|\d+\.) ", line)):
            continue
        elif not bare or bare.startswith(("|", "#", "<", "[//]")) or re.match(r"\[[^\]]+\]: ", bare):
            close()
        else:
            item = re.match(r"([-*+]|\d+\.) +", bare)
            if item:
                close()
                bare = bare[item.end():]
            kept.append(bare.lstrip("> "))
    close()
    return found


def sentences(text):
    """The sentences of a text, each as a list of words."""
    found = []
    for paragraph in paragraphs(text):
        paragraph = re.sub(r"`[^`]+`", "CODE", paragraph)
        paragraph = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
        paragraph = re.sub(r"[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}", "", paragraph)
        for word in ABBREVIATIONS:
            paragraph = paragraph.replace(word, word.replace(".", ""))
        for sentence in re.split(r"(?<=[.!?])[)\"”]?\s+", paragraph):
            words = [w for w in sentence.split() if re.search(r"\w", w)]
            if words:
                found.append(words)
    return found


def documents():
    """Every document that people read, as paths below the root."""
    names = ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"]
    found = [ROOT / name for name in names]
    for folder in ("docs", "docs/lab", "docs/guide/src"):
        found += sorted((ROOT / folder).glob("*.md"))
    return [path for path in found if path.name != "SUMMARY.md"]


def row(name, measured):
    lengths = [len(words) for words in measured]
    total = sum(lengths)
    mean = total / len(lengths) if lengths else 0
    return f"| {name} | {total:,} | {len(lengths):,} | {mean:.1f} | {sum(n > 40 for n in lengths)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="files to measure (default: all documents)")
    parser.add_argument("--long", type=int, metavar="WORDS", help="print the sentences of at least so many words")
    options = parser.parse_args()
    every = []
    print("| file | words | sentences | words per sentence | over 40 words |\n|---|---:|---:|---:|---:|")
    for path in options.files or documents():
        text = path.read_text(encoding="utf-8")
        measured = sentences(doc_comments(text) if path.suffix == ".rs" else text)
        every += measured
        full = path.resolve()
        print(row(full.relative_to(ROOT) if full.is_relative_to(ROOT) else path, measured))
        if options.long:
            for words in measured:
                if len(words) >= options.long:
                    print(f"    {len(words)}: {' '.join(words)}")
    print(row("all", every))


if __name__ == "__main__":
    sys.exit(main())
