// A page to try what is served: a form that suits the model, and its answer. No framework, no other host.
"use strict";

/** What tests and consoles may look at. */
globalThis.farad = { model: null };

const by = (id) => document.getElementById(id);

/** An element with properties and children. */
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const token = by("token").querySelector("input");

/** Asks the server; errors are exceptions with its words. */
async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token.value) headers.Authorization = `Bearer ${token.value}`;
  const response = await fetch(path, { ...options, headers });
  if (response.status === 401) by("token").hidden = false;
  if (!response.ok) {
    const text = await response.text();
    let message = text;
    try { message = JSON.parse(text).error.message; } catch { /* it is the text itself */ }
    throw new Error(message || `status ${response.status}`);
  }
  return response;
}

function show(...children) { by("answer").replaceChildren(...children); }
function fail(error) { show(element("div", { className: "error", textContent: error.message })); }

/** A prediction as a table of bars, or as numbers. */
function shown(prediction) {
  const table = element("table");
  const row = (name, text, share) => {
    const cells = [element("td", { textContent: name }), element("td", { className: "number", textContent: text })];
    if (share !== undefined) {
      const bar = element("div");
      bar.style.width = `${100 * share}%`;
      cells.push(element("td", { className: "bar" }, bar));
    }
    table.append(element("tr", {}, ...cells));
  };
  if (prediction.probabilities) {
    for (const [name, share] of Object.entries(prediction.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 10)) {
      row(name, `${(100 * share).toFixed(1)} %`, share);
    }
  } else if (prediction.class !== undefined) {
    row("class", prediction.class);
  } else if (typeof prediction.value === "object") {
    for (const [name, value] of Object.entries(prediction.value)) row(name, String(value));
  } else {
    row("value", String(prediction.value));
  }
  return table;
}

async function predict(body, headers = {}) {
  try {
    const response = await ask("predict", { method: "POST", body, headers });
    show(...(await response.json()).predictions.map(shown));
  } catch (error) { fail(error); }
}

const asJson = (samples) => predict(JSON.stringify({ samples }), { "Content-Type": "application/json" });

/** A form for the columns of a table. */
function tableForm(columns) {
  const inputs = columns.map((name) => element("input", { name, inputMode: "decimal", required: true }));
  const fields = inputs.map((input) => element("label", {}, element("span", { textContent: input.name }), input));
  const form = element("form", {}, element("div", { className: "fields" }, ...fields),
    element("button", { className: "main", textContent: "Predict" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    asJson([Object.fromEntries(inputs.map((input) => [input.name, input.value]))]);
  });
  return [form];
}

/** A canvas to draw on, for small gray pictures. */
function pad(height, width) {
  const canvas = element("canvas", { height: 10 * height, width: 10 * width });
  canvas.style.aspectRatio = `${width} / ${height}`;
  const paper = canvas.getContext("2d", { willReadFrequently: true });
  const clear = () => { paper.fillStyle = "#000"; paper.fillRect(0, 0, canvas.width, canvas.height); };
  clear();
  let last = null;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width * canvas.width, (event.clientY - box.top) / box.height * canvas.height];
  };
  const draw = (event) => {
    if (!last) return;
    const here = at(event);
    Object.assign(paper, { strokeStyle: "#fff", lineWidth: 0.09 * Math.max(canvas.width, canvas.height), lineCap: "round" });
    paper.beginPath();
    paper.moveTo(...last);
    paper.lineTo(...here);
    paper.stroke();
    last = here;
  };
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); last = at(event); draw(event); });
  canvas.addEventListener("pointermove", draw);
  canvas.addEventListener("pointerup", () => { last = null; send(); });
  const send = () => canvas.toBlob((blob) => predict(blob, { "Content-Type": "image/png" }), "image/png");
  const again = element("button", { type: "button", textContent: "Clear" });
  again.addEventListener("click", () => { clear(); show(); });
  return [element("p", { textContent: "Draw, or choose pictures:" }), canvas, element("div", { className: "row" }, again)];
}

function pictureForm({ channels, height, width }) {
  const files = element("input", { type: "file", accept: "image/png,image/jpeg", multiple: true });
  files.addEventListener("change", () => {
    const form = new FormData();
    for (const file of files.files) form.append("picture", file);
    if (files.files.length) predict(form);
  });
  const small = channels === 1 && height <= 64 && width <= 64;
  return [...(small ? pad(height, width) : []), element("div", { className: "row" }, files)];
}

function arrayForm(shape) {
  const zeros = (sizes) => sizes.length ? Array.from({ length: sizes[0] }, () => zeros(sizes.slice(1))) : 0;
  const numbers = shape.reduce((a, b) => a * b, 1);
  const text = element("textarea", { value: numbers <= 4096 ? JSON.stringify(zeros(shape)) : "" });
  const button = element("button", { className: "main", textContent: "Predict" });
  button.addEventListener("click", () => {
    try { asJson([JSON.parse(text.value)]); } catch (error) { fail(error); }
  });
  return [element("p", { textContent: `Numbers of shape [${shape.join(", ")}]:` }), text, element("div", { className: "row" }, button)];
}

/** The events of a stream. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const data = rest.slice(0, end).split("\n").find((line) => line.startsWith("data:"));
      rest = rest.slice(end + 2);
      if (data) yield data.slice(5).trim();
    }
  }
}

function textForm() {
  const prompt = element("textarea", { value: "" });
  const button = element("button", { className: "main", textContent: "Go on" });
  button.addEventListener("click", async () => {
    const said = element("div", { className: "said" });
    show(said);
    button.disabled = true;
    try {
      const body = JSON.stringify({ prompt: prompt.value, max_tokens: 200, stream: true });
      const response = await ask("v1/completions", { method: "POST", body, headers: { "Content-Type": "application/json" } });
      for await (const data of events(response)) {
        if (data === "[DONE]") break;
        const part = JSON.parse(data);
        if (part.error) throw new Error(part.error.message);
        said.append(part.choices[0].text);
      }
    } catch (error) { fail(error); }
    button.disabled = false;
  });
  return [element("p", { textContent: "A beginning; the model goes on:" }), prompt, element("div", { className: "row" }, button)];
}

/** How the same is asked from a terminal. */
function command(model) {
  const here = location.origin;
  const secret = token.value || !by("token").hidden ? ` -H "Authorization: Bearer TOKEN"` : "";
  const json = `${secret} -H "Content-Type: application/json"`;
  if (model.kind === "text") return `curl ${here}/v1/chat/completions${json} \\\n  -d '{"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 50}'`;
  if (model.inputs.pictures) return `curl ${here}/predict${secret} -F picture=@picture.png`;
  const sample = model.inputs.table ? Object.fromEntries(model.inputs.table.columns.map((name) => [name, 1])) : "[…]";
  return `curl ${here}/predict${json} \\\n  -d '{"samples": [${typeof sample === "string" ? sample : JSON.stringify(sample)}]}'`;
}

async function start() {
  try {
    const model = await (await ask("model")).json();
    farad.model = model;
    by("name").textContent = model.name;
    document.title = `${model.name} · farad serve`;
    const { inputs } = model;
    const classes = model.outputs?.classes;
    by("about").textContent = model.kind === "text" ? `A language model that sees ${model.context} tokens.`
      : classes ? `Says one of ${classes.length} classes.` : `Says ${model.outputs.numbers.join(", ")}.`;
    const form = model.kind === "text" ? textForm()
      : inputs.table ? tableForm(inputs.table.columns)
      : inputs.pictures ? pictureForm(inputs.pictures) : arrayForm(model.shape);
    by("ask").replaceChildren(...form);
    by("command").textContent = command(model);
    show();
  } catch (error) { fail(error); }
}

token.addEventListener("change", start);
start();
