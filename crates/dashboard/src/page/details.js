"use strict";
// The details of a run besides its curves: the automaton animation, the circuit, pictures, the report, notes, settings.
// Invariant: requests belong to the runs shown; a response for a run no longer shown is dropped. Start at `Details.show`.

/// The URL of a resource of a run.
Farad.address = (run, ...path) => ["runs", run, ...path].map(encodeURIComponent).join("/");

/// The URL of a file of a run.
Farad.fileAddress = (run, path) => Farad.address(run, "files", ...path.split("/"));

/// The URL of a picture in the colors of the page, with its modification time so that a newer version is fetched.
Farad.pictureAddress = (address, written) => `${address}?theme=${document.documentElement.dataset.theme}&written=${encodeURIComponent(written ?? "")}`;

/// The minimum time between two reloads of the circuit of a run in training.
Farad.PLAY_AT_LEAST = 6000;

Farad.Details = class {
  constructor(store, changed) {
    Object.assign(this, { store, changed, names: [], known: new Map(), circuits: new Map(), played: null });
    this.element = (id) => document.getElementById(id);
    this.element("differ").addEventListener("change", () => this.showSettings());
  }

  /// Shows these runs; requests the details that are missing or have changed.
  show(names) {
    if (names.join("\n") !== this.names.join("\n")) this.clear();
    this.names = names;
    for (const name of names) {
      const run = this.store.runs.get(name);
      if (!run) continue;
      const marks = `${run.concluded} ${run.state} ${run.noted}`;
      if (this.known.get(name)?.marks !== marks) this.askDetails(name, marks);
      const alone = names.length === 1 && ["automaton", "logic"].includes(run.kind) && run.learned > 0;
      const stamp = `${run.learned} ${run.concluded}`;
      if (alone && this.circuits.get(name)?.stamp !== stamp) this.askCircuit(name, stamp);
    }
    this.showPlayer();
  }

  clear() {
    this.known.clear();
    this.circuits.clear();
    this.stop();
    for (const id of ["pictures", "report", "drawing", "circuit-numbers", "circuit-bars", "settings"]) this.element(id).replaceChildren();
  }

  async ask(address) {
    try {
      const answer = await fetch(address);
      return answer.ok ? await answer.json() : null;
    } catch {
      return null;
    }
  }

  async askDetails(name, marks) {
    const before = this.known.get(name);
    this.known.set(name, { ...before, marks });
    const details = await this.ask(Farad.address(name, "details.json"));
    if (!details || this.known.get(name)?.marks !== marks) return;
    this.known.set(name, { marks, ...details });
    this.showPictures();
    this.showReport();
    this.showSettings();
    this.showPlayer();
    this.changed();
  }

  async askCircuit(name, stamp) {
    this.circuits.set(name, { ...this.circuits.get(name), stamp });
    const facts = await this.ask(Farad.address(name, "circuit.json"));
    if (!facts || this.circuits.get(name)?.stamp !== stamp) return;
    this.circuits.set(name, { stamp, facts });
    this.showCircuit();
    this.showPlayer();
    this.changed();
  }

  /// The details of the run shown, as far as they are known; undefined unless exactly one run is shown.
  get only() {
    return this.names.length === 1 ? this.known.get(this.names[0]) : undefined;
  }

  get circuit() {
    return this.names.length === 1 ? this.circuits.get(this.names[0])?.facts : undefined;
  }

  /// The names of the tabs that have content.
  parts() {
    const parts = ["curves"];
    if (this.names.length === 1 && this.store.runs.get(this.names[0])?.learned > 0) parts.push("weights");
    if (this.circuit) parts.push("circuit");
    if (this.only?.pictures?.length > 0) parts.push("pictures");
    if (this.only?.report) parts.push("report");
    return [...parts, "settings"];
  }

  /// The circuit runs in a sandboxed iframe; a newer one replaces it once it has loaded.
  showPlayer() {
    const [name] = this.names;
    const run = this.store.runs.get(name);
    const automaton = this.names.length === 1 && run?.kind === "automaton";
    const network = this.names.length === 1 && run?.kind === "logic" && Boolean(this.circuit);
    const sample = run?.kind === "lm" ? Farad.sample(this.only?.report ?? "") : "";
    const agent = this.names.length === 1 && run?.kind === "rl";
    this.element("player").hidden = !automaton && !network && !sample && !agent;
    if (sample) return this.quote(sample);
    if (agent) return this.showAgent(name, run);
    if (!automaton && !network) return this.stop();
    this.element("player-title").textContent = automaton ? "Automaton" : "Try it";
    this.element("player-link").hidden = !this.circuit;
    if (!this.circuit) {
      const ended = run.state === "finished" || run.state === "interrupted";
      this.wait(ended ? "This run has no circuit." : "Plays as soon as training has saved its first hard circuit.");
      return;
    }
    this.element("player-note").textContent = this.playerNote(this.circuit);
    if (!this.isDue(name, this.circuits.get(name).stamp, run)) return;
    this.play(name, network ? "tall" : "", "page", network ? "A pad to draw on, read by the circuit" : "The automaton, playing");
  }

  /// The best policy of the newest checkpoint moves in a sandboxed iframe.
  showAgent(name, run) {
    this.element("player-title").textContent = "Policy";
    this.element("player-link").hidden = !(run.learned > 0);
    if (!(run.learned > 0)) {
      const ended = run.state === "finished" || run.state === "interrupted";
      this.wait(ended ? "This run has no policy." : "Moves as soon as training has saved its first policy.");
      return;
    }
    this.element("player-note").textContent = "the best so far; drag it to push it";
    if (this.isDue(name, run.learned, run)) this.play(name, "agent", "moving", "The newest policy, moving");
  }

  /// Whether what is played is to be replaced now. Of a run that trains, not too often.
  isDue(name, mark, run) {
    const stamp = `${name} ${mark} ${document.documentElement.dataset.theme}`;
    if (stamp === this.played) return false;
    const since = Date.now() - (this.playedAt ?? 0);
    const same = this.played?.startsWith(`${name} `);
    clearTimeout(this.later);
    if (same && since < Farad.PLAY_AT_LEAST && run.state === "running") {
      this.later = setTimeout(() => this.showPlayer(), Farad.PLAY_AT_LEAST - since);
      return false;
    }
    [this.played, this.playedAt] = [stamp, Date.now()];
    return true;
  }

  playerNote(facts) {
    const updates = Farad.counted(facts.update, "update");
    if (facts.kind === "network") return `the circuit after ${updates}`;
    const seed = facts.seeds > 1 ? `, seed ${facts.seed}` : "";
    const size = facts.simplified ? `${Farad.counted(facts.gates, "gate")} a cell, proved` : `after ${updates}`;
    return `${facts.right ? "right when tried" : "not right yet"}; ${size}${seed}`;
  }

  play(name, form, page, title) {
    const stage = this.element("stage");
    const theme = document.documentElement.dataset.theme;
    const address = Farad.address(name, page);
    const frame = Farad.make("iframe", form);
    frame.setAttribute("sandbox", "allow-scripts");
    frame.title = title;
    // An iframe with the same URL would not reload when only the hash changes.
    frame.src = `${address}?${encodeURIComponent(this.played)}#embed&theme=${theme}`;
    frame.addEventListener("load", () => {
      [...stage.children].filter((other) => other !== frame).forEach((other) => other.remove());
      frame.classList.add("ready");
    });
    [...stage.children].slice(1).forEach((other) => other.remove());
    stage.append(frame);
    this.element("player-link").href = `${address}#theme=${theme}`;
  }

  /// The text that a language model generated.
  quote(sample) {
    if (this.played === sample) return;
    this.stop();
    this.played = sample;
    this.element("player-title").textContent = "Sample";
    this.element("player-note").textContent = "what the model wrote at the end";
    this.element("player-link").hidden = true;
    this.element("stage").replaceChildren(Farad.make("pre", "sample", sample));
  }

  wait(text) {
    this.stop();
    this.element("player-note").textContent = "";
    this.element("stage").replaceChildren(Farad.make("p", "quiet waiting", text));
  }

  stop() {
    clearTimeout(this.later);
    this.played = null;
    this.element("stage").replaceChildren();
  }

  /// Updates after the colors have changed.
  recolor() {
    if (this.circuit || this.played) this.showPlayer();
    if (this.circuit) this.showCircuit();
    if (this.names.length === 0) return;
    this.showPictures();
    this.showReport();
  }

  showCircuit() {
    const facts = this.circuit;
    const numbers = [
      ["gates", facts.gates],
      ["in a row", facts.depth],
      ["inputs", facts.inputs],
      ["outputs", facts.outputs],
      ["kept after", facts.update],
    ];
    if (facts.channels) numbers.push(["bits per cell", facts.channels]);
    if (facts.accuracy) numbers.push(["validation", Farad.percent(facts.accuracy)]);
    numbers.push(["simplified", facts.simplified ? "yes" : "not yet"]);
    const items = numbers.map(([name, value]) => {
      const item = Farad.make("div");
      item.append(Farad.make("dt", "", name), Farad.make("dd", "", typeof value === "number" ? value.toLocaleString("en") : value));
      return item;
    });
    this.element("circuit-numbers").replaceChildren(...items);
    const most = Math.max(1, ...facts.counts.map(([, count]) => count));
    const bars = facts.counts.map(([name, count]) => {
      const row = Farad.make("div", "gate");
      const bar = Farad.make("span", "gate-bar");
      bar.style.setProperty("--share", String(count / most));
      row.append(Farad.make("code", "", name), bar, Farad.make("span", "number", count.toLocaleString("en")));
      return row;
    });
    this.element("circuit-bars").replaceChildren(...bars);
    const [name] = this.names;
    const image = Farad.make("img");
    image.loading = "lazy";
    image.alt = `The circuit: ${Farad.counted(facts.gates, "gate")} by level, from inputs on the left to outputs on the right`;
    image.src = Farad.pictureAddress(Farad.address(name, "circuit.svg"), this.circuits.get(name).stamp);
    image.addEventListener("error", () => {
      this.element("drawing").replaceChildren(Farad.make("p", "quiet", "Too many gates to draw."));
    });
    this.element("drawing").replaceChildren(image);
  }

  showPictures() {
    const [name] = this.names;
    const pictures = (this.only?.pictures ?? []).map(({ path, written }) => {
      const figure = Farad.make("figure", "card");
      const link = Farad.make("a");
      link.href = Farad.fileAddress(name, path);
      link.target = "_blank";
      link.rel = "noopener";
      const image = Farad.make("img", /\.(png|gif)$/.test(path) ? "pixels" : "");
      image.loading = "lazy";
      image.alt = path;
      image.src = Farad.pictureAddress(Farad.fileAddress(name, path), written);
      link.append(image);
      figure.append(link, Farad.make("figcaption", "quiet", path.replace(/^plots\//, "")));
      return figure;
    });
    this.element("pictures").replaceChildren(...pictures);
  }

  showReport() {
    const [name] = this.names;
    const report = this.only?.report;
    if (report) Farad.markdown(report, this.element("report"), (path) => Farad.pictureAddress(Farad.fileAddress(name, path)));
  }

  /// One run: all settings. Several runs: side by side, with the differing settings marked, or only those.
  showSettings() {
    const several = this.names.length > 1;
    this.element("differ-row").hidden = !several;
    this.element("settings-title").textContent = several ? "Settings compared" : "Settings";
    const known = this.names.map((name) => new Map(this.known.get(name)?.settings ?? []));
    const keys = [...new Set(known.flatMap((settings) => [...settings.keys()]))];
    const differs = (key) => new Set(known.map((settings) => settings.get(key))).size > 1;
    const shown = keys.filter((key) => !several || !this.element("differ").checked || differs(key));
    const head = Farad.make("tr");
    head.append(Farad.make("th", "", "Setting"), ...this.names.map((name) => Farad.make("th", "", several ? name : "Value")));
    const rows = shown.map((key) => {
      const row = Farad.make("tr", several && !this.element("differ").checked && differs(key) ? "differs" : "");
      const values = known.map((settings) => Farad.make("td", "", settings.get(key) ?? "–"));
      row.append(Farad.make("th", "", key.replace(/^settings\./, "")), ...values);
      return row;
    });
    if (several && rows.length === 0) {
      const row = Farad.make("tr");
      row.append(Farad.make("td", "quiet", "These runs have the same settings."));
      rows.push(row);
    }
    this.element("settings").replaceChildren(head, ...rows);
  }
};
