"use strict";
// Renders reports: headings, paragraphs, lists, tables, code and pictures of the Markdown that runs write.
// Invariant: no text is ever parsed as HTML; every element is created here, and pictures come from the run's own folder.

/// Renders a report into an element. `picture` returns the URL of a file of the run.
Farad.markdown = (text, host, picture) => {
  const lines = text.split("\n");
  const blocks = [];
  const isSpecial = (line) => /^(#{1,6} |- |```|\||!\[| {4})/.test(line) || line.trim() === "";
  const rest = { at: 0 };
  const take = (test) => {
    const taken = [];
    while (rest.at < lines.length && test(lines[rest.at])) taken.push(lines[rest.at++]);
    return taken;
  };
  while (rest.at < lines.length) {
    const line = lines[rest.at];
    if (line.trim() === "") rest.at++;
    else if (/^#{1,6} /.test(line)) blocks.push(Farad.heading(lines[rest.at++]));
    else if (line.startsWith("```")) {
      rest.at++;
      const code = take((line) => !line.startsWith("```"));
      rest.at++;
      blocks.push(Farad.code(code));
    } else if (line.startsWith("    ")) {
      const code = take((line) => line.startsWith("    ") || line.trim() === "");
      while (code[code.length - 1]?.trim() === "") code.pop();
      blocks.push(Farad.code(code.map((line) => line.slice(4))));
    } else if (line.startsWith("|")) blocks.push(Farad.tableOf(take((line) => line.startsWith("|"))));
    else if (line.startsWith("- ")) {
      const list = Farad.make("ul");
      take((line) => line.startsWith("- ")).forEach((item) => {
        const entry = Farad.make("li");
        Farad.inline(item.slice(2), entry);
        list.append(entry);
      });
      blocks.push(list);
    } else if (/^!\[.*\]\(.*\)$/.test(line.trim())) blocks.push(Farad.pictureOf(lines[rest.at++], picture));
    else {
      const paragraph = Farad.make("p");
      Farad.inline([lines[rest.at++], ...take((line) => !isSpecial(line))].join(" "), paragraph);
      blocks.push(paragraph);
    }
  }
  host.replaceChildren(...blocks);
};

Farad.heading = (line) => {
  const depth = line.indexOf(" ");
  const heading = Farad.make(`h${Math.min(6, depth + 2)}`);
  Farad.inline(line.slice(depth + 1), heading);
  return heading;
};

Farad.code = (lines) => {
  const block = Farad.make("pre");
  block.append(Farad.make("code", "", lines.join("\n")));
  return block;
};

/// Renders code, bold and links. Only the text of a link is shown, as reports only link within their folder.
Farad.inline = (text, host) => {
  for (const part of text.split(/(`[^`]*`|\*\*[^*]+\*\*|\[[^\]]*\]\([^)]*\))/)) {
    if (/^`.*`$/.test(part)) host.append(Farad.make("code", "", part.slice(1, -1)));
    else if (/^\*\*.+\*\*$/.test(part)) host.append(Farad.make("strong", "", part.slice(2, -2)));
    else if (/^\[.*\]\(.*\)$/.test(part)) host.append(part.slice(1, part.indexOf("]")));
    else host.append(part);
  }
};

Farad.pictureOf = (line, picture) => {
  const [, words, path] = /^!\[(.*?)\]\((.*?)\)$/.exec(line.trim());
  const figure = Farad.make("figure");
  const image = Farad.make("img", /\.(png|gif)$/.test(path) ? "pixels" : "");
  image.loading = "lazy";
  image.alt = words;
  image.src = picture(path);
  figure.append(image, Farad.make("figcaption", "quiet", words));
  return figure;
};

Farad.tableOf = (lines) => {
  const cells = (line) => line.replace(/^\||\|\s*$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  const rule = (line) => cells(line).every((cell) => /^:?-+:?$/.test(cell));
  const right = lines.filter(rule).slice(0, 1).flatMap((line) => cells(line).map((cell) => cell.endsWith("-:")));
  const table = Farad.make("table");
  lines.filter((line) => !rule(line)).forEach((line, n) => {
    const row = Farad.make("tr");
    // An empty header row is dropped: it is there only because Markdown requires one.
    if (n === 0 && cells(line).every((cell) => cell === "")) return;
    cells(line).forEach((cell, column) => {
      const element = Farad.make(n === 0 ? "th" : "td", right[column] ? "number" : "");
      Farad.inline(cell, element);
      row.append(element);
    });
    table.append(row);
  });
  const scroll = Farad.make("div", "scroll");
  scroll.append(table);
  return scroll;
};

/// The sample text of a report: the indented lines or the code block after the given heading.
Farad.sample = (report) => {
  const part = report.split(/^## Sample.*$/m)[1]?.split(/^## /m)[0] ?? "";
  const fenced = /```[^\n]*\n([\s\S]*?)\n```/.exec(part);
  if (fenced) return fenced[1];
  const lines = part.split("\n").filter((line) => line.startsWith("    ") || line.trim() === "");
  return lines.map((line) => line.slice(4)).join("\n").trim();
};
