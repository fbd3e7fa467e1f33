"use strict";
// The side bar: all runs, those that train on top, groups of seeds as one entry that opens.
// Invariant: an entry keeps its element for as long as its run exists, so that focus survives updates.
// Start at `Side.update`.

Farad.Side = class {
  /// `view` has `filter`, `order`, `chosen` and `colorOf`, and is notified of changes through `choose`, `compare` and `set`.
  constructor(store, view) {
    Object.assign(this, { store, view, items: new Map(), groups: new Map(), open: new Set() });
    this.element = (id) => document.getElementById(id);
    this.list = this.element("list");
    const order = this.element("order");
    order.replaceChildren(...Object.entries(Farad.ORDERS).map(([key, { title }]) => {
      const option = Farad.make("option", "", title);
      option.value = key;
      return option;
    }));
    order.addEventListener("change", () => view.set({ order: order.value }));
    this.element("runs-button").addEventListener("click", () => this.slide(!document.body.classList.contains("with-side")));
    this.element("side-shade").addEventListener("click", () => this.slide(false));
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.slide(false));
  }

  /// On narrow screens the side bar covers the page while it is open.
  slide(out) {
    document.body.classList.toggle("with-side", out);
    this.element("runs-button").setAttribute("aria-expanded", String(out));
  }

  update() {
    const all = [...this.store.runs.values()];
    const shown = all.filter((run) => Farad.matches(run, this.view.filter));
    for (const [name, item] of this.items) {
      if (this.store.runs.has(name)) continue;
      item.element.remove();
      this.items.delete(name);
    }
    const elements = Farad.grouped(Farad.ordered(shown, this.view.order)).flatMap(({ key, runs }) => {
      if (runs.length === 1) return [this.fill(runs[0], false)];
      const isOpen = this.open.has(key) || (runs.some((run) => this.view.chosen.includes(run.name)) && !runs.every((run) => this.view.chosen.includes(run.name)));
      return [this.fillGroup(key, runs, isOpen), ...(isOpen ? runs.map((run) => this.fill(run, true)) : [])];
    });
    if (elements.length !== this.list.children.length || elements.some((element, n) => this.list.children[n] !== element)) this.list.replaceChildren(...elements);
    const count = shown.length === all.length ? String(all.length) : `${shown.length} of ${all.length}`;
    this.element("runs-count").textContent = this.store.more ? `the first ${count}` : count;
    this.element("none").hidden = shown.length > 0;
    this.element("order").value = this.view.order;
  }

  /// The entry of a run.
  fill(run, inside) {
    if (!this.items.has(run.name)) this.items.set(run.name, this.build(run.name));
    const item = this.items.get(run.name);
    const { view } = this;
    const chosen = view.chosen.includes(run.name);
    item.element.className = ["item", chosen ? "chosen" : "", inside ? "inside" : ""].filter(Boolean).join(" ");
    item.open.setAttribute("aria-current", String(chosen));
    item.box.checked = chosen;
    item.box.style.setProperty("accent-color", chosen && view.chosen.length > 1 ? `var(${view.colorOf(run.name)})` : "");
    item.dot.dataset.state = run.state;
    item.dot.title = run.state;
    this.write(item.name, inside && run.seed ? `${run.name} · seed ${run.seed}` : run.name);
    this.write(item.score, Farad.score(run));
    this.write(item.facts, this.facts(run));
    this.write(item.ago, Farad.isLive(run) ? Farad.duration(Farad.trained(run)) : Farad.ago(run.begun));
    const tags = (run.tags ?? []).join("\n");
    if (item.tags.dataset.tags !== tags) {
      item.tags.dataset.tags = tags;
      item.tags.replaceChildren(...(run.tags ?? []).map((tag) => Farad.make("span", "tag", tag)));
    }
    const done = Farad.isLive(run) && run.planned ? Math.min(1, run.updates / run.planned) : 0;
    item.element.style.setProperty("--done", String(done));
    return item.element;
  }

  facts(run) {
    if (run.problem) return run.problem;
    return [run.state === "finished" ? "" : run.state, run.what, Farad.KINDS[run.kind] ?? run.kind].filter(Boolean).join(" · ");
  }

  write(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  build(name) {
    const element = Farad.make("li", "item");
    const box = Farad.make("input");
    box.type = "checkbox";
    box.setAttribute("aria-label", `Compare ${name}`);
    box.addEventListener("change", () => this.view.compare([name], box.checked));
    const open = Farad.make("button", "item-open");
    open.type = "button";
    open.title = name;
    open.addEventListener("click", () => {
      this.view.choose([name]);
      this.slide(false);
    });
    const [top, low] = [Farad.make("span", "item-top"), Farad.make("span", "item-low")];
    const [dot, label, score] = [Farad.make("span", "dot"), Farad.make("span", "item-name", name), Farad.make("span", "item-score")];
    const [facts, ago, tags] = [Farad.make("span", "item-facts"), Farad.make("span", "item-ago"), Farad.make("span", "item-tags")];
    top.append(dot, label, score);
    low.append(facts, ago);
    open.append(top, low, tags);
    element.append(box, open);
    return { element, box, open, dot, name: label, score, facts, ago, tags };
  }

  /// The entry of a group of runs that differ only in their seeds.
  fillGroup(key, runs, isOpen) {
    if (!this.groups.has(key)) this.groups.set(key, this.buildGroup(key));
    const group = this.groups.get(key);
    group.runs = runs;
    const chosen = runs.filter((run) => this.view.chosen.includes(run.name)).length;
    group.element.className = ["item group", chosen === runs.length ? "chosen" : ""].filter(Boolean).join(" ");
    group.box.checked = chosen === runs.length;
    group.box.indeterminate = chosen > 0 && chosen < runs.length;
    group.box.style.setProperty("accent-color", chosen === runs.length && this.view.chosen.length > chosen ? `var(${this.view.colorOf(runs[0].name)})` : "");
    const name = Farad.groupName(runs);
    group.box.setAttribute("aria-label", `Compare the seeds of ${name}`);
    group.fold.setAttribute("aria-expanded", String(isOpen));
    group.fold.setAttribute("aria-label", `Runs of ${name}`);
    this.write(group.name, name);
    const live = runs.filter(Farad.isLive).length;
    group.dot.dataset.state = live > 0 ? "running" : "finished";
    this.write(group.score, `${runs.length} seeds`);
    const scores = runs.map((run) => run.judged?.value ?? Farad.newest(run, Farad.GOODNESS)).filter(Number.isFinite);
    const shares = runs.every((run) => !run.judged || /%$/.test(run.judged.words));
    const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
    const words = scores.length > 0 ? `mean ${shares ? Farad.percent(mean) : Farad.number(mean)}` : "";
    this.write(group.facts, [live > 0 ? `${live} running` : "", words, runs[0].what].filter(Boolean).join(" · "));
    return group.element;
  }

  buildGroup(key) {
    const element = Farad.make("li", "item group");
    const box = Farad.make("input");
    box.type = "checkbox";
    const names = () => this.groups.get(key).runs.map((run) => run.name);
    box.addEventListener("change", () => this.view.compare(names(), box.checked));
    const open = Farad.make("button", "item-open");
    open.type = "button";
    open.addEventListener("click", () => {
      this.view.choose(names());
      this.slide(false);
    });
    const [top, low] = [Farad.make("span", "item-top"), Farad.make("span", "item-low")];
    const [dot, name, score, facts] = [Farad.make("span", "dot"), Farad.make("span", "item-name"), Farad.make("span", "item-score"), Farad.make("span", "item-facts")];
    top.append(dot, name, score);
    low.append(facts);
    open.append(top, low);
    const fold = Farad.make("button", "fold");
    fold.type = "button";
    fold.addEventListener("click", () => {
      if (!this.open.delete(key)) this.open.add(key);
      this.update();
    });
    element.append(box, open, fold);
    return { element, box, open, dot, name, score, facts, fold, runs: [] };
  }
};
