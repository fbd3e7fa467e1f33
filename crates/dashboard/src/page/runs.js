"use strict";
// Which runs are listed: filter, order, and groups of runs that differ only in their seeds.
// Invariant: everything here is a function of its arguments.

Farad.isLive = (run) => run.state === "running" || run.state === "concluding";

/// Whether a run has all words of a filter. A word that begins with # is the beginning of a tag.
Farad.matches = (run, filter) => {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const tags = (run.tags ?? []).map((tag) => tag.toLowerCase());
  const parts = [run.name, run.kind, Farad.KINDS[run.kind], run.what, run.device, run.state, run.note, ...tags];
  const text = parts.join(" ").toLowerCase();
  return words.every((word) => (word.startsWith("#") ? tags.some((tag) => tag.replaceAll(" ", "-").startsWith(word.slice(1))) : text.includes(word)));
};

/// A tag as a word of the filter.
Farad.tagWord = (tag) => `#${tag.toLowerCase().replaceAll(" ", "-")}`;

Farad.byName = (a, b) => a.name.localeCompare(b.name, "en", { numeric: true });

/// The orders of the list. Runs that train are on top of each.
Farad.ORDERS = {
  newest: { title: "Newest", compare: (a, b) => b.begun - a.begun },
  name: { title: "Name", compare: Farad.byName },
  result: { title: "Result", compare: (a, b) => Farad.rank(b) - Farad.rank(a) },
};

/// How good a run is, as far as runs of different kinds can be compared at all.
Farad.rank = (run) => {
  const value = run.problem ? null : Farad.RESULTS.result(run);
  return typeof value === "number" && Number.isFinite(value) ? value : -Infinity;
};

Farad.ordered = (runs, order) => {
  const { compare } = Farad.ORDERS[order] ?? Farad.ORDERS.newest;
  return [...runs].sort((a, b) => Farad.isLive(b) - Farad.isLive(a) || compare(a, b) || Farad.byName(a, b));
};

/// Runs in order as a list of `{ key, runs }`; those of one group stand where the first of them would.
Farad.grouped = (runs) => {
  const places = new Map();
  for (const run of runs) {
    const key = run.group || run.name;
    if (!places.has(key)) places.set(key, { key, runs: [] });
    places.get(key).runs.push(run);
  }
  return [...places.values()];
};

/// What a group of runs is called: what their names have in common.
Farad.groupName = (runs) => {
  const names = runs.map((run) => run.name);
  let length = 0;
  while (length < names[0].length && names.every((name) => name[length] === names[0][length])) length++;
  const stem = names[0].slice(0, length).replace(/(?:[-_. ](?:seed|s))?[-_. \d]*$/i, "");
  return stem.length >= 2 ? stem : (runs[0].what || names[0]);
};

/// The newest score in a few letters: the final result, else the newest validation, else the loss.
Farad.score = (run) => {
  if (run.problem) return "damaged";
  const value = run.judged?.value;
  if (typeof value === "number" && /%$/.test(run.judged.words)) return Farad.percent(value);
  if (run.judged) return run.judged.words;
  const goodness = Farad.newest(run, Farad.GOODNESS);
  if (goodness !== null) return Farad.percent(goodness);
  const { base, value: newest } = Farad.newestOf(run, ["validation_return", "return", ...Farad.LOSSES]);
  return newest === null ? "" : `${base.includes("return") ? "return" : "loss"} ${Farad.number(newest)}`;
};

/// How long ago something was, from milliseconds since 1970.
Farad.ago = (time, now = Date.now()) => {
  if (!time) return "";
  const seconds = Math.max(0, (now - time) / 1000);
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
};
