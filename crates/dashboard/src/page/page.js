"use strict";
// The entry point of the page: which runs are shown and how, kept in the URL so that it can be shared and reloaded.
// Invariant: what is shown follows from the URL and the store, and every change to it goes through `set`.

Farad.TABS = { curves: "Curves", weights: "Weights", circuit: "Circuit", pictures: "Pictures", report: "Report", settings: "Settings" };

/// Most runs that are shown at the same time.
Farad.MOST_CHOSEN = 64;

Farad.Page = class {
  constructor() {
    this.element = (id) => document.getElementById(id);
    this.store = new Farad.Store();
    this.chosen = [];
    this.read();
    this.prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
    this.paintTheme();
    this.curves = new Farad.Curves(this.element("charts"), this.store, () => this.showTools());
    this.details = new Farad.Details(this.store, () => this.showTabs());
    this.table = new Farad.Table(this.store, this);
    this.side = new Farad.Side(this.store, this);
    this.notes = new Farad.NotesPanel(this.store, this);
    this.weights = new Farad.Weights(this.store);
    this.load = new Farad.Load(this.store);
    this.fillMenu("axis", Farad.AXES, ({ title }) => title);
    this.fillMenu("band", Farad.BANDS, (title) => title);
    this.bind();
    this.store.on("runs", () => this.update());
    this.store.on("rows", () => this.later());
    this.store.on("link", (state) => this.showLink(state));
    this.showTools();
    this.store.follow(this.picked);
    // The elapsed time of a run in training advances between messages.
    setInterval(() => [...this.store.runs.values()].some((run) => run.since) && this.showRuns(), 1000);
  }

  /// Reads the view from the URL.
  read() {
    const hash = new URLSearchParams(location.hash.slice(1));
    this.picked = hash.getAll("run").slice(0, Farad.MOST_CHOSEN);
    this.tab = hash.get("tab") in Farad.TABS ? hash.get("tab") : "curves";
    this.sort = hash.get("sort") ?? "name";
    this.order = hash.get("order") in Farad.ORDERS ? hash.get("order") : "newest";
    this.filter = hash.get("filter") ?? "";
    this.whole = hash.get("view") === "table";
    this.axis = hash.get("axis") in Farad.AXES ? hash.get("axis") : "step";
    this.band = hash.get("band") in Farad.BANDS ? hash.get("band") : "range";
    this.theme = ["light", "dark"].includes(hash.get("theme")) ? hash.get("theme") : null;
    this.logarithmic = hash.get("log") === "1";
    const smoothing = Number(hash.get("smooth") ?? 0);
    this.smoothing = smoothing > 0 && smoothing < 1 ? smoothing : 0;
  }

  /// Changes the view and writes all of it to the URL.
  set(change) {
    Object.assign(this, change);
    const hash = new URLSearchParams();
    this.picked.forEach((name) => hash.append("run", name));
    if (this.tab !== "curves") hash.set("tab", this.tab);
    if (this.sort !== "name") hash.set("sort", this.sort);
    if (this.order !== "newest") hash.set("order", this.order);
    if (this.filter) hash.set("filter", this.filter);
    if (this.whole) hash.set("view", "table");
    if (this.axis !== "step") hash.set("axis", this.axis);
    if (this.band !== "range") hash.set("band", this.band);
    if (this.theme) hash.set("theme", this.theme);
    if (this.logarithmic) hash.set("log", "1");
    if (this.smoothing) hash.set("smooth", String(this.smoothing));
    history.replaceState(null, "", `#${hash}`);
    this.showTools();
    this.update();
  }

  choose(names) {
    this.set({ picked: names.slice(0, Farad.MOST_CHOSEN), whole: false });
  }

  compare(names, joins) {
    const others = this.chosen.filter((other) => !names.includes(other));
    this.set({ picked: joins ? [...others, ...names].slice(-Farad.MOST_CHOSEN) : others });
  }

  /// The color of a chosen run where several are compared.
  colorOf(name) {
    const units = this.curves.units ?? [];
    return Farad.RUN_COLORS[Math.max(0, units.findIndex((unit) => unit.names.includes(name))) % 8];
  }

  /// Notes that were just saved here.
  noted(name, notes) {
    const details = this.details.known.get(name);
    if (details) details.notes = notes;
    this.showNotes();
  }

  sortBy(key) {
    this.set({ sort: this.sort === key ? `-${key}` : key });
  }

  /// The runs to show: those chosen, else one in training, else the newest.
  present() {
    const picked = this.picked.filter((name) => this.store.runs.has(name));
    if (picked.length > 0) return picked;
    const runs = [...this.store.runs.values()];
    const live = runs.filter((run) => run.state === "running");
    const shown = this.chosen.filter((name) => this.store.runs.has(name));
    if (shown.length === 1 && (live.length === 0 || live.some((run) => run.name === shown[0]))) return shown;
    const newest = (live.length > 0 ? live : runs).sort((a, b) => b.learned - a.learned || b.concluded - a.concluded)[0];
    return newest ? [newest.name] : [];
  }

  update() {
    const any = this.store.runs.size > 0;
    this.element("empty").hidden = any;
    this.element("runs").hidden = !any || !this.whole;
    document.body.classList.toggle("without-runs", !any);
    this.element("whole").setAttribute("aria-pressed", String(this.whole));
    this.element("folder").textContent = this.store.folder;
    this.element("empty-folder").textContent = `Runs are looked for in ${this.store.folder}.`;
    this.chosen = this.present();
    this.element("view").hidden = this.chosen.length === 0 || this.whole;
    this.curves.units = Farad.unitsOf(this.chosen, this.store, this.band);
    this.showRuns();
    this.store.follow(this.chosen);
    this.details.show(this.chosen);
    this.showHead();
    this.showTabs();
    this.later();
  }

  showRuns() {
    this.side.update();
    if (this.whole) this.table.update();
  }

  showNotes() {
    const [name] = this.chosen;
    const one = this.chosen.length === 1;
    this.notes.show(one ? name : null, one ? this.details.known.get(name)?.notes : null);
  }

  /// Many rows may arrive at once; the curves are rebuilt once for all of them.
  later() {
    if (this.waiting) return;
    this.waiting = true;
    setTimeout(() => {
      this.waiting = false;
      this.curves.show(this.chosen, this.axis, this.band);
      this.element("band-row").hidden = !this.curves.bands && this.band === "range";
    }, 30);
  }

  showHead() {
    const one = this.chosen.length === 1 ? this.store.runs.get(this.chosen[0]) : null;
    const { units } = this.curves;
    const words = units.length > 3 ? `${this.chosen.length} runs compared` : units.map((unit) => unit.title).join(" · ");
    this.element("view-title").textContent = words;
    const download = this.element("download");
    download.hidden = !one;
    if (one) Object.assign(download, { href: Farad.fileAddress(one.name, "log.csv"), download: `${one.name}.csv` });
    document.title = one ? `${one.name} · farad` : "Runs · farad";
    if (!one) {
      const seeds = units.length === 1 ? `${Farad.counted(this.chosen.length, "run")} that differ only in the seed` : "";
      return void (this.element("view-facts").textContent = seeds || "the same curve of each, and the settings that differ");
    }
    const updates = one.planned ? `${one.updates.toLocaleString("en")} of ${Farad.counted(one.planned, "update")}` : Farad.counted(one.updates, "update");
    const result = Farad.resultWords(one);
    const memory = one.device_memory ? `${Farad.bytes(one.device_memory)} on the device` : "";
    const facts = [Farad.KINDS[one.kind] ?? one.kind, one.what, one.state, updates, result === "–" ? "" : result, one.device, memory];
    this.element("view-facts").textContent = facts.filter(Boolean).join(" · ");
  }

  showTabs() {
    const parts = this.details.parts();
    const tab = parts.includes(this.tab) ? this.tab : "curves";
    const tabs = this.element("tabs");
    const labels = parts.join();
    if (tabs.dataset.parts !== labels) {
      tabs.dataset.parts = labels;
      tabs.replaceChildren(...parts.map((part) => this.tabButton(part)));
    }
    for (const part of Object.keys(Farad.TABS)) {
      this.element(`panel-${part}`).hidden = part !== tab;
      const button = this.element(`tab-${part}`);
      button?.setAttribute("aria-selected", String(part === tab));
      if (button) button.tabIndex = part === tab ? 0 : -1;
    }
    const run = this.chosen.length === 1 ? this.store.runs.get(this.chosen[0]) : null;
    if (tab === "weights" && run && !this.whole) this.weights.show(run);
    this.showNotes();
  }

  tabButton(part) {
    const button = Farad.make("button", "", Farad.TABS[part]);
    button.type = "button";
    button.id = `tab-${part}`;
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", `panel-${part}`);
    button.addEventListener("click", () => this.set({ tab: part }));
    button.addEventListener("keydown", (event) => {
      const side = { ArrowLeft: "previousElementSibling", ArrowRight: "nextElementSibling" }[event.key];
      const other = side && button[side];
      if (!other) return;
      other.click();
      other.focus();
    });
    return button;
  }

  showTools() {
    this.element("logarithmic").checked = this.logarithmic;
    this.element("axis").value = this.axis;
    this.element("band").value = this.band;
    this.element("smoothing").value = String(this.smoothing);
    this.element("smoothing-value").textContent = this.smoothing > 0 ? this.smoothing.toFixed(2) : "off";
    if (this.element("filter").value !== this.filter) this.element("filter").value = this.filter;
    if (!this.curves) return;
    Object.assign(this.curves.shared, { logarithmic: this.logarithmic, smoothing: this.smoothing });
    this.element("unzoom").hidden = this.curves.shared.zoom === null;
    this.curves.draw();
  }

  fillMenu(id, rows, title) {
    this.element(id).replaceChildren(...Object.entries(rows).map(([key, row]) => {
      const option = Farad.make("option", "", title(row));
      option.value = key;
      return option;
    }));
  }

  showLink(state) {
    const link = this.element("link");
    link.dataset.state = state;
    link.textContent = { live: "live", lost: "not connected", waiting: "connecting" }[state];
    const note = this.element("note");
    note.hidden = state !== "lost";
    note.textContent = "The dashboard does not answer. Start `farad dashboard` again, and this page goes on.";
  }

  paintTheme() {
    document.documentElement.dataset.theme = this.theme ?? (this.prefersDark.matches ? "dark" : "light");
    this.curves?.recolor();
    this.details?.recolor();
  }

  bind() {
    this.element("theme").addEventListener("click", () => {
      this.set({ theme: document.documentElement.dataset.theme === "dark" ? "light" : "dark" });
      this.paintTheme();
    });
    this.prefersDark.addEventListener("change", () => this.paintTheme());
    this.element("filter").addEventListener("input", (event) => this.set({ filter: event.target.value }));
    this.element("whole").addEventListener("click", () => {
      this.set({ whole: !this.whole });
      this.side.slide(false);
    });
    this.element("axis").addEventListener("change", (event) => this.set({ axis: event.target.value }));
    this.element("band").addEventListener("change", (event) => this.set({ band: event.target.value }));
    this.element("logarithmic").addEventListener("change", (event) => this.set({ logarithmic: event.target.checked }));
    this.element("smoothing").addEventListener("input", (event) => this.set({ smoothing: Number(event.target.value) }));
    this.element("unzoom").addEventListener("click", () => this.curves.shared.setZoom(null));
    document.querySelector(".skip").addEventListener("click", (event) => {
      // Following the link would replace the hash, which holds the state of the view.
      event.preventDefault();
      this.element("view").focus();
    });
    window.addEventListener("hashchange", () => {
      this.read();
      this.paintTheme();
      this.set({});
    });
  }
};

window.farad = new Farad.Page();
