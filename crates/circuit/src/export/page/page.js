"use strict";
// Where the page begins: reads the circuit, takes the part that fits it, and sets up what all parts share.

/// A note under the bar; an empty one goes away.
Farad.note = (text) => {
  const note = document.getElementById("note");
  note.textContent = text;
  note.hidden = text === "";
};

/// Marks the buttons of a group that are chosen.
Farad.check = (selector, chosen) =>
  document.querySelectorAll(selector).forEach((button) => button.setAttribute("aria-checked", String(chosen(button))));

/// A seed that was not used before; whole numbers below 2^32.
Farad.freshSeed = () => crypto.getRandomValues(new Uint32Array(1))[0];

Farad.begin = () => {
  const data = JSON.parse(document.getElementById("circuit").textContent);
  const root = document.documentElement;
  const hash = new URLSearchParams(location.hash.slice(1));
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const asked = hash.get("theme");
  let theme = asked ?? (prefersDark.matches ? "dark" : "light");
  root.dataset.theme = theme;
  root.toggleAttribute("data-embed", hash.has("embed"));
  document.getElementById("name").textContent = data.title;
  document.getElementById("tagline").textContent = data.tagline;

  const classifier = data.kind === "netlist" && data.meta.kind === "image-classifier";
  const plain = Farad.TablePage.fits(data) ? Farad.TablePage : Farad.NetlistPage;
  const Part = data.kind === "automaton" ? Farad.AutomatonPage : classifier ? Farad.DigitsPage : plain;
  const part = new Part(data);

  const setTheme = (next) => {
    theme = next;
    root.dataset.theme = theme;
    part.recolor();
  };
  const turn = () => setTheme(theme === "dark" ? "light" : "dark");
  document.getElementById("theme").addEventListener("click", turn);
  prefersDark.addEventListener("change", () => setTheme(prefersDark.matches ? "dark" : "light"));
  const help = document.getElementById("help");
  for (const [key, meaning] of Farad.KEYS) {
    const [term, words] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = key;
    words.textContent = meaning;
    document.getElementById("keys").append(term, words);
  }
  document.getElementById("ask").addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === "t") turn();
    if (event.key === "?" && !help.open) help.showModal();
  });
  const ready = part.open();
  ready.catch((error) => Farad.note(`Something went wrong: ${error.message}`));
  // A getter must stay one, so properties are copied as they are.
  window.farad = Object.defineProperties({ ready }, Object.getOwnPropertyDescriptors(part.hooks()));
};

Farad.begin();
