// What pages of the site do: search, light and dark, the menu of narrow screens, copies of code. Nothing is asked of a network.
"use strict";

const farad = globalThis.farad = {};
const root = document.documentElement;
const byId = (id) => document.getElementById(id);

// Light and dark. Pages in frames follow: those of circuits are told, others see the scheme of their frame.
const frame = document.querySelector("iframe.live");
const page = frame?.getAttribute("src");
function showTheme(theme) {
  root.dataset.theme = theme;
  if (frame) frame.src = `${page}?${theme}#theme=${theme}`;
}
farad.setTheme = (theme) => {
  showTheme(theme);
  try { localStorage.setItem("farad-theme", theme); } catch { /* a browser that keeps nothing */ }
};
byId("theme").addEventListener("click", () => farad.setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
showTheme(root.dataset.theme ?? "light");

// The pages' list on narrow screens.
function showMenu(open) {
  document.body.classList.toggle("menu-open", open);
  byId("menu").setAttribute("aria-expanded", String(open));
}
byId("menu").addEventListener("click", () => showMenu(!document.body.classList.contains("menu-open")));
document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "center" });
scrollTo(0, location.hash ? scrollY : 0);

// Copies of code.
for (const figure of navigator.clipboard ? document.querySelectorAll("figure.code:not(.text)") : []) {
  const button = Object.assign(document.createElement("button"), { className: "copy", textContent: "Copy" });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(figure.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  figure.append(button);
}

// Search. The index is a script, since a page that was opened from a disk may not read files.
const field = byId("search");
const found = byId("found");
const MOST = 12;
let index = null;
let chosen = -1;

function load() {
  index ??= new Promise((done, failed) => {
    const script = Object.assign(document.createElement("script"), { src: `${root.dataset.up}site/search.js`, onerror: failed });
    script.onload = () => {
      const { pages, sections } = globalThis.faradIndex;
      done(sections.map(([number, id, title, text]) => ({
        link: `${pages[number][0]}#${id}`, page: pages[number][1], title, text, lower: text.toLowerCase(), lowerTitle: title.toLowerCase(),
        lowerPage: pages[number][1].toLowerCase(),
      })));
    };
    document.head.append(script);
  });
  return index;
}

// How well a section fits: every word must be in it; titles count more than text, starts of words more than their insides.
function score(section, words) {
  let sum = 0;
  for (const word of words) {
    const begins = new RegExp(`(^|[^\\p{L}\\p{N}])${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`, "u");
    const title = begins.test(section.lowerTitle) ? 12 : section.lowerTitle.includes(word) ? 5 : 0;
    const page = begins.test(section.lowerPage) ? 4 : 0;
    const text = begins.test(section.lower) ? 3 : section.lower.includes(word) ? 1 : 0;
    if (title + page + text === 0) return 0;
    sum += title + page + text;
  }
  return sum;
}

// Sections that have all words, the best first.
farad.search = async (query) => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const scored = (await load()).map((section) => [score(section, words), section]).filter(([points]) => points > 0);
  return scored.sort((a, b) => b[0] - a[0]).slice(0, MOST).map(([, section]) => section);
};

// A piece of the text around the first word, with all words marked.
function excerpt({ text, lower }, words) {
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0);
  const early = Math.max(0, Math.min(...(places.length ? places : [0])) - 50);
  const begin = early === 0 ? 0 : text.indexOf(" ", early) + 1;
  const piece = text.slice(begin, begin + 170).replace(/\s\S*$/u, "");
  const marks = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "giu");
  const small = document.createElement("small");
  if (begin > 0) small.append("… ");
  piece.split(marks).forEach((part, n) => {
    small.append(n % 2 ? Object.assign(document.createElement("mark"), { textContent: part }) : part);
  });
  return small;
}

function show(results, words) {
  chosen = -1;
  found.replaceChildren(...results.map((section) => {
    const item = Object.assign(document.createElement("li"), { role: "option" });
    const link = Object.assign(document.createElement("a"), { href: root.dataset.up + section.link });
    const title = document.createElement("b");
    title.textContent = section.title === section.page ? section.title : `${section.page} › ${section.title}`;
    link.append(title, excerpt(section, words));
    item.append(link);
    return item;
  }));
  if (results.length === 0) {
    found.append(Object.assign(document.createElement("li"), { className: "none", textContent: "Nothing has all of these words." }));
  }
  open(true);
}

function open(is) {
  found.hidden = !is;
  field.setAttribute("aria-expanded", String(is));
}

function choose(step) {
  const items = [...found.querySelectorAll("[role=option]")];
  if (items.length === 0) return;
  chosen = (chosen + step + items.length) % items.length;
  items.forEach((item, n) => item.setAttribute("aria-selected", String(n === chosen)));
  items[chosen].scrollIntoView({ block: "nearest" });
}

let asked = 0;
field.addEventListener("focus", load);
field.addEventListener("input", async () => {
  const query = field.value.trim();
  const number = ++asked;
  if (query === "") return open(false);
  const results = await farad.search(query);
  if (number === asked) show(results, query.toLowerCase().split(/\s+/));
});
field.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    choose(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter") {
    const link = found.querySelectorAll("[role=option] a")[Math.max(chosen, 0)];
    if (link && !found.hidden) link.click();
  } else if (event.key === "Escape") {
    open(false);
    field.blur();
  }
});
document.addEventListener("click", (event) => {
  if (!event.target.closest(".search")) open(false);
  if (event.target.closest(".side a, #found a")) { open(false); showMenu(false); }
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    field.focus();
  }
});
