"use strict";
// The meaning of log columns: which share a chart, how they are labelled, how their numbers are formatted.
// Invariant: a column unknown to this file still gets a chart of its own. Start at `Farad.groups`.

Farad.percent = (value) => (Number.isFinite(value) ? `${Number((100 * value).toPrecision(4))} %` : "–");

/// The columns that are not drawn as curves.
Farad.POSITIONS = ["epoch", "tokens"];

/// The charts in display order, each with the names of its columns.
Farad.GROUPS = [
  { key: "loss", title: "Loss", columns: ["loss", "soft_loss", "validation_loss", "hard_loss"] },
  { key: "accuracy", title: "Accuracy", columns: ["validation_goodness", "hard_accuracy"], format: Farad.percent },
  { key: "explained", title: "Explained variance (R²)", columns: ["explained_variance"], format: Farad.percent },
  { key: "perplexity", title: "Perplexity", columns: ["perplexity"] },
  { key: "return", title: "Return", columns: ["return", "validation_return", "best"] },
  { key: "wrong", title: "Wrong bits", columns: ["wrong"] },
  { key: "rate", title: "Learning rate", columns: ["learning_rate"] },
  { key: "speed", title: "Updates per second", columns: ["speed"] },
  { key: "tokens", title: "Tokens per second", columns: ["tokens_per_second"] },
];

Farad.COLUMN_NAMES = {
  loss: "training",
  soft_loss: "soft, training",
  hard_loss: "hard, evaluated",
  validation_loss: "validation",
  validation_goodness: "validation",
  hard_accuracy: "hard, validation",
  explained_variance: "validation",
  perplexity: "validation",
  return: "training",
  validation_return: "validation",
  best: "best of a generation",
  wrong: "wrong",
  learning_rate: "learning rate",
  speed: "updates per second",
  tokens_per_second: "tokens per second",
};

/// The color of each column: training and validation in one chart get different ones.
Farad.LINE_COLORS = {
  loss: "--line-1",
  soft_loss: "--line-1",
  validation_loss: "--line-2",
  hard_loss: "--line-2",
  validation_goodness: "--line-2",
  hard_accuracy: "--line-2",
  explained_variance: "--line-2",
  perplexity: "--line-2",
  return: "--line-1",
  validation_return: "--line-2",
  best: "--line-3",
  wrong: "--line-3",
  learning_rate: "--line-4",
  speed: "--line-5",
  tokens_per_second: "--line-5",
};

Farad.RUN_COLORS = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `--line-${n}`);

/// A column's name without its seed, and the seed: `hard_loss_23` is `hard_loss` of seed 23.
Farad.column = (name) => {
  const parts = /^(soft_loss|hard_loss|wrong|loss|return|validation_return|best|entropy|divergence|spread)_(\d+)$/.exec(name);
  return parts ? { base: parts[1], seed: parts[2] } : { base: name, seed: null };
};

/// All series of a run by base name, each a list of `{ seed, x, y }`, including series derived from others.
Farad.curvesOf = (run, log) => {
  const curves = new Map();
  const add = (base, seed, { x, y }) => {
    if (!curves.has(base)) curves.set(base, []);
    curves.get(base).push({ seed, x, y });
  };
  for (const [name, series] of log.series) {
    const { base, seed } = Farad.column(name);
    if (!Farad.POSITIONS.includes(base)) add(Farad.measured(run, base), seed, series);
  }
  const validated = log.series.get("validation_loss");
  if (run?.kind === "lm" && validated) add("perplexity", null, { x: validated.x, y: validated.y.map(Math.exp) });
  if (run?.kind === "lm" && log.tokens > 0) {
    add("tokens_per_second", null, { x: log.speed.x, y: log.speed.y.map((speed) => speed * log.tokens) });
  } else {
    add("speed", null, log.speed);
  }
  return curves;
};

/// What a column measures: a run that learns numbers (regression) names its measure of quality differently.
Farad.measured = (run, base) => (base === "validation_goodness" && run?.regression ? "explained_variance" : base);

/// The charts for these columns, in order; unknown columns come last, each in its own chart.
Farad.groups = (bases) => {
  const known = Farad.GROUPS.filter((group) => group.columns.some((column) => bases.has(column)));
  const placed = new Set(Farad.GROUPS.flatMap((group) => group.columns));
  const others = [...bases].filter((base) => !placed.has(base));
  return [...known, ...others.map((base) => ({ key: base, title: Farad.words(base), columns: [base] }))];
};

/// The label of a column: `gate_noise` becomes "Gate noise".
Farad.words = (name) => {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

Farad.columnName = (base) => Farad.COLUMN_NAMES[base] ?? Farad.words(base).toLowerCase();

/// The newest value of the first of these columns that has one, for the first seed, and the name of that column.
Farad.newestOf = (run, bases) => {
  for (const base of bases) {
    const at = run.columns.findIndex((name) => Farad.column(name).base === base);
    if (at >= 0 && run.newest[at] !== null) return { base, value: run.newest[at] };
  }
  return { base: "", value: null };
};

Farad.newest = (run, bases) => Farad.newestOf(run, bases).value;

Farad.LOSSES = ["validation_loss", "hard_loss", "loss", "soft_loss"];
Farad.GOODNESS = ["validation_goodness", "hard_accuracy"];

/// The final test result of a run or, until there is one, its validation result; always with its name.
Farad.resultWords = (run) => {
  if (run.problem) return run.problem;
  if (run.judged) return run.judged.words;
  const share = Farad.newest(run, Farad.GOODNESS);
  if (share === null) return "–";
  return `validation ${run.regression ? "explained variance" : "accuracy"} ${Farad.percent(share)}`;
};

/// The quality of a run as the table shows it.
Farad.RESULTS = {
  loss: (run) => Farad.newest(run, Farad.LOSSES),
  result: (run) => run.problem ?? run.judged?.value ?? Farad.newest(run, Farad.GOODNESS),
  perplexity: (run) => {
    const loss = run.kind === "lm" ? Farad.newest(run, ["validation_loss"]) : null;
    return typeof loss === "number" ? Math.exp(loss) : null;
  },
};
