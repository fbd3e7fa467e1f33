"use strict";
// The table of all runs: sorting, choosing.
// Invariant: a row keeps its element for as long as its run exists, so that focus and selected text survive updates.
// Start at `Table.update`.

/// Formats seconds for people.
Farad.duration = (seconds) => {
  if (!Number.isFinite(seconds) || seconds <= 0) return "–";
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")} min`;
};

/// The time that a run has trained so far.
Farad.trained = (run) => (run.since ? Math.max(run.seconds, run.seconds + Date.now() / 1000 - run.since) : run.seconds);

Farad.speed = (run) => {
  if (run.tokens_per_second) return `${Farad.number(Math.round(run.tokens_per_second))} tok/s`;
  return run.rate ? `${Farad.number(run.rate)} /s` : "–";
};

Farad.KINDS = {
  automaton: "automaton",
  boolean: "truth table",
  controller: "controller",
  evolve: "evolution",
  fit: "network",
  lm: "language model",
  logic: "logic network",
  rl: "agent",
};

/// The name of the loss that a cell shows.
Farad.LOSS_NAMES = { validation_loss: "validation", hard_loss: "hard gates, evaluated", loss: "training", soft_loss: "soft gates, training" };

/// The columns: the sort key, the text of the cell, its formatting, and a more exact tooltip.
Farad.TABLE = [
  { key: "name", title: "Run", of: (run) => run.name },
  { key: "kind", title: "Kind", of: (run) => `${Farad.KINDS[run.kind] ?? run.kind}`, wide: true },
  { key: "state", title: "State", of: (run) => run.state },
  { key: "updates", title: "Updates", of: (run) => run.updates, text: (run) => run.updates.toLocaleString("en"), number: true },
  { key: "loss", title: "Loss", of: Farad.RESULTS.loss, number: true, about: (run) => Farad.LOSS_NAMES[Farad.newestOf(run, Farad.LOSSES).base] ?? "" },
  { key: "result", title: "Result", of: Farad.RESULTS.result, text: Farad.resultWords },
  { key: "perplexity", title: "Perplexity", of: Farad.RESULTS.perplexity, number: true, wide: true, about: () => "of the validation text" },
  { key: "speed", title: "Speed", of: (run) => run.tokens_per_second ?? run.rate, text: Farad.speed, number: true, wide: true },
  { key: "time", title: "Time", of: Farad.trained, text: (run) => Farad.duration(Farad.trained(run)), number: true },
  { key: "seed", title: "Seed", of: (run) => run.seed ?? "", wide: true },
  { key: "tags", title: "Tags", of: (run) => (run.tags ?? []).join(", "), wide: true },
  { key: "device", title: "Device", of: (run) => run.device, wide: true },
];

Farad.Table = class {
  /// `view` has `sort`, `filter` and `chosen`, and is notified of changes through `choose` and `sortBy`.
  constructor(store, view) {
    Object.assign(this, { store, view, rows: new Map() });
    this.head = document.getElementById("head");
    this.body = document.getElementById("rows");
    this.buildHead();
  }

  buildHead() {
    const first = Farad.make("th", "pick");
    first.append(Farad.make("span", "unseen", "Compare"));
    this.head.replaceChildren(first);
    for (const column of Farad.TABLE) {
      const cell = Farad.make("th", this.className(column));
      const button = Farad.make("button", "", column.title);
      button.type = "button";
      button.addEventListener("click", () => this.view.sortBy(column.key));
      cell.append(button);
      cell.dataset.key = column.key;
      this.head.append(cell);
    }
  }

  className(column) {
    return [column.number ? "number" : "", column.wide ? "wide" : "", column.key].filter(Boolean).join(" ");
  }

  /// The names of the runs in the table, in display order.
  shown() {
    const down = this.view.sort.startsWith("-");
    const column = Farad.TABLE.find((column) => column.key === this.view.sort.replace("-", "")) ?? Farad.TABLE[0];
    const order = (a, b) => {
      const [x, y] = [column.of(a), column.of(b)];
      const missing = (value) => value === null || value === undefined || value === "";
      if (missing(x) || missing(y)) return missing(x) - missing(y);
      const less = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return down ? -less : less;
    };
    const runs = [...this.store.runs.values()].filter((run) => Farad.matches(run, this.view.filter));
    return runs.sort((a, b) => order(a, b) || a.name.localeCompare(b.name, "en", { numeric: true }));
  }

  update() {
    const shown = this.shown();
    for (const [name, row] of this.rows) {
      if (!this.store.runs.has(name)) {
        row.element.remove();
        this.rows.delete(name);
      }
    }
    const elements = shown.map((run) => this.fill(run));
    if (elements.some((element, n) => this.body.children[n] !== element) || this.body.children.length !== elements.length) {
      this.body.replaceChildren(...elements);
    }
    for (const cell of this.head.querySelectorAll("[data-key]")) {
      const sorted = this.view.sort.replace("-", "") === cell.dataset.key;
      const order = this.view.sort.startsWith("-") ? "descending" : "ascending";
      if (sorted) cell.setAttribute("aria-sort", order);
      else cell.removeAttribute("aria-sort");
    }
    // Columns without any value are hidden.
    const all = [...this.store.runs.values()];
    for (const key of ["result", "perplexity", "seed", "tags"]) {
      const column = Farad.TABLE.find((column) => column.key === key);
      this.body.parentElement.classList.toggle(`without-${key}`, all.every((run) => [null, ""].includes(column.of(run))));
    }
  }

  fill(run) {
    if (!this.rows.has(run.name)) this.rows.set(run.name, this.build(run.name));
    const row = this.rows.get(run.name);
    const chosen = this.view.chosen.includes(run.name);
    row.element.classList.toggle("chosen", chosen);
    row.box.checked = chosen;
    const several = chosen && this.view.chosen.length > 1;
    row.box.style.setProperty("accent-color", several ? `var(${this.view.colorOf(run.name)})` : "");
    Farad.TABLE.forEach((column, n) => {
      const text = column.text ? column.text(run) : column.number ? Farad.number(column.of(run)) : String(column.of(run));
      const cell = row.cells[n];
      if (column.key === "name") return;
      if (column.key === "state") cell.firstChild.dataset.state = run.state;
      const target = column.key === "state" ? cell.firstChild : cell;
      if (target.textContent !== text) target.textContent = text;
      if (column.about) cell.title = column.about(run);
    });
    const done = run.planned ? Math.min(1, run.updates / run.planned) : 0;
    row.cells[3].style.setProperty("--done", run.state === "running" ? String(done) : "0");
    row.cells[3].title = run.planned ? `of ${run.planned.toLocaleString("en")}` : "";
    row.cells[1].title = run.what;
    return row.element;
  }

  build(name) {
    const element = Farad.make("tr");
    const pick = Farad.make("td", "pick");
    const box = Farad.make("input");
    box.type = "checkbox";
    box.setAttribute("aria-label", `Compare ${name} in the table`);
    box.addEventListener("change", () => this.view.compare([name], box.checked));
    pick.append(box);
    element.append(pick);
    const cells = Farad.TABLE.map((column) => {
      const cell = Farad.make("td", this.className(column));
      if (column.key === "name") {
        const button = Farad.make("button", "name", name);
        button.type = "button";
        button.addEventListener("click", () => this.view.choose([name]));
        cell.append(button);
      }
      if (column.key === "state") cell.append(Farad.make("span", "badge"));
      element.append(cell);
      return cell;
    });
    element.addEventListener("click", (event) => {
      if (!event.target.closest("button, input") && getSelection().isCollapsed) this.view.choose([name]);
    });
    return { element, box, cells };
  }
};
