"use strict";
// Histograms of the weights of the newest checkpoint, a card per tensor.
// Invariant: weights are asked for only while their tab is open, and again only when there is a newer checkpoint.

/// Parts of a checkpoint that are what was learned, the first one that is there to be shown first.
Farad.LEARNED = ["model", "best", "training"];

Farad.Weights = class {
  constructor(store) {
    Object.assign(this, { store, asked: null, told: null, section: null });
    this.host = document.getElementById("weights");
    this.choice = document.getElementById("weights-section");
    this.choice.addEventListener("change", () => {
      this.section = this.choice.value;
      this.fill();
    });
  }

  /// Shows the weights of a run.
  show(run) {
    const key = `${run.name} ${run.learned}`;
    if (key === this.asked) return;
    if (!this.asked?.startsWith(`${run.name} `)) {
      [this.told, this.section] = [null, null];
      this.host.replaceChildren(Farad.make("p", "quiet", "Reading the checkpoint …"));
    }
    this.asked = key;
    this.ask(run.name, key);
  }

  async ask(name, key) {
    let told = null;
    try {
      const answer = await fetch(Farad.address(name, "weights.json"));
      told = answer.ok ? await answer.json() : { problem: "This run has no checkpoint yet." };
    } catch {
      told = { problem: "The dashboard does not answer." };
    }
    if (key !== this.asked) return;
    this.told = told;
    this.fill();
  }

  fill() {
    const { told } = this;
    document.getElementById("weights-facts").textContent = "";
    this.choice.parentElement.hidden = true;
    if (!told || told.problem) return void this.host.replaceChildren(Farad.make("p", "quiet", told?.problem ?? ""));
    const sections = [...new Set(told.tensors.map((tensor) => tensor.section))];
    if (!sections.includes(this.section)) this.section = Farad.LEARNED.find((name) => sections.includes(name)) ?? sections[0];
    this.choice.replaceChildren(...sections.map((name) => {
      const option = Farad.make("option", "", name || "others");
      option.value = name;
      option.selected = name === this.section;
      return option;
    }));
    this.choice.parentElement.hidden = sections.length < 2;
    const shown = told.tensors.filter((tensor) => tensor.section === this.section);
    const numbers = shown.reduce((sum, tensor) => sum + tensor.count, 0);
    const bad = shown.reduce((sum, tensor) => sum + (tensor.nan ?? 0) + (tensor.infinite ?? 0), 0);
    const facts = [`${Farad.counted(shown.length, "tensor")} of ${Farad.counted(numbers, "number")}`, told.step === null ? "" : `after ${Farad.counted(told.step, "update")}`];
    if (bad > 0) facts.push(`${Farad.counted(bad, "number")} not finite`);
    if (told.more > 0) facts.push(`${told.more} more in the file`);
    document.getElementById("weights-facts").textContent = facts.filter(Boolean).join(" · ");
    this.host.replaceChildren(...shown.map((tensor) => this.card(tensor)));
  }

  card(tensor) {
    const card = Farad.make("figure", "card weight");
    const head = Farad.make("figcaption", "card-head");
    const name = tensor.section ? tensor.name.slice(tensor.section.length + 1) : tensor.name;
    head.append(Farad.make("h3", "", name), Farad.make("span", "quiet", `${tensor.dtype} [${tensor.shape.join(", ")}]`));
    card.append(head);
    if (tensor.bars) card.append(this.histogram(tensor));
    else card.append(Farad.make("p", "quiet", tensor.seen === undefined ? "Not read: too large, or of another kind." : "No finite number."));
    const values = [["min", tensor.min], ["mean", tensor.mean], ["max", tensor.max], ["std", tensor.deviation]].filter(([, value]) => value !== undefined);
    const list = Farad.make("dl", "weight-numbers");
    const put = (title, text, className) => {
      const item = Farad.make("div", className);
      item.append(Farad.make("dt", "", title), Farad.make("dd", "", text));
      list.append(item);
    };
    values.forEach(([title, value]) => put(title, Farad.number(value)));
    if (tensor.nan > 0) put("NaN", tensor.nan.toLocaleString("en"), "bad");
    if (tensor.infinite > 0) put("infinite", tensor.infinite.toLocaleString("en"), "bad");
    card.append(list);
    if (tensor.seen < tensor.count) card.append(Farad.make("p", "quiet", `a sample of ${tensor.seen.toLocaleString("en")}`));
    return card;
  }

  histogram({ bars, min, max, name }) {
    const most = Math.max(1, ...bars);
    const picture = Farad.draw("svg", { class: "histogram", viewBox: `0 0 ${bars.length} 40`, preserveAspectRatio: "none", role: "img" });
    picture.append(Farad.draw("title", {}, `${name}: from ${Farad.number(min)} to ${Farad.number(max)}`));
    bars.forEach((count, n) => {
      if (count === 0) return;
      const height = Math.max(0.6, (40 * count) / most);
      picture.append(Farad.draw("rect", { x: n + 0.06, y: 40 - height, width: 0.88, height }));
    });
    if (min < 0 && max > 0) {
      const zero = (-min / (max - min)) * bars.length;
      picture.append(Farad.draw("line", { x1: zero, x2: zero, y1: 0, y2: 40, class: "zero" }));
    }
    return picture;
  }
};
