"use strict";
// How busy the machine is: a small curve of the processor and one of the memory, and what the runs that train take.
// Invariant: nothing is shown until the server has told something, which it does only where the system tells it.

/// Measurements that are kept; there is one every two seconds.
Farad.MOST_LOADS = 150;

/// Bytes for people.
Farad.bytes = (count) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [value, n] = [count, 0];
  for (; value >= 1024 && n < units.length - 1; n++) value /= 1024;
  return `${Number(value.toPrecision(3))} ${units[n]}`;
};

Farad.Load = class {
  constructor(store) {
    this.past = [];
    this.panel = document.getElementById("load");
    this.meters = new Map();
    store.on("load", (load) => this.take(load));
  }

  take(load) {
    this.past.push(load);
    if (this.past.length > Farad.MOST_LOADS) this.past.shift();
    this.panel.hidden = false;
    this.show("processor", "Processor", (one) => one.processor, `${Math.round(100 * load.processor)} %`, `of ${Farad.counted(load.cores, "core")}`);
    this.show("memory", "Memory", (one) => one.memory / one.memory_total, Farad.bytes(load.memory), `of ${Farad.bytes(load.memory_total)}`);
    const runs = Object.entries(load.runs);
    const words = ([name, { cores, memory }]) => `${name}: ${Farad.number(cores)} cores, ${Farad.bytes(memory)}`;
    document.getElementById("load-runs").replaceChildren(...runs.slice(0, 4).map((run) => Farad.make("p", "quiet", words(run))));
  }

  show(key, title, share, words, more) {
    if (!this.meters.has(key)) this.meters.set(key, this.build(title));
    const { value, line, area } = this.meters.get(key);
    value.textContent = `${words} ${more}`;
    const points = this.past.map((one, n) => `${100 - (this.past.length - 1 - n) * (100 / (Farad.MOST_LOADS - 1))},${(26 - 24 * Math.min(1, share(one))).toFixed(2)}`);
    const left = 100 - (this.past.length - 1) * (100 / (Farad.MOST_LOADS - 1));
    line.setAttribute("points", points.join(" "));
    area.setAttribute("points", [`${left},27`, ...points, "100,27"].join(" "));
  }

  build(title) {
    const meter = Farad.make("div", "meter");
    const value = Farad.make("span", "meter-value");
    const picture = Farad.draw("svg", { class: "spark", viewBox: "0 0 100 28", preserveAspectRatio: "none", "aria-hidden": "true" });
    const [area, line] = [Farad.draw("polygon", { class: "spark-area" }), Farad.draw("polyline", { class: "spark-line" })];
    picture.append(area, line);
    const words = Farad.make("p", "meter-words");
    words.append(Farad.make("span", "", title), value);
    meter.append(words, picture);
    document.getElementById("load-meters").append(meter);
    return { value, line, area };
  }
};
