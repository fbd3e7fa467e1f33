"use strict";
// Tags and notes of the run shown, and the form that changes them.
// Invariant: both are text, never HTML, and what is being typed is never replaced by what arrives.

Farad.NotesPanel = class {
  /// `view` is told of tags that are clicked, through `set`.
  constructor(store, view) {
    Object.assign(this, { store, view, name: null, before: null });
    this.element = (id) => document.getElementById(id);
    this.element("notes-edit").addEventListener("click", () => this.edit());
    this.element("notes-cancel").addEventListener("click", () => this.close());
    this.element("notes-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.save();
    });
    this.element("notes-form").addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.save();
    });
  }

  /// Shows the notes of a run, or nothing.
  show(name, notes) {
    if (name !== this.name) this.close();
    this.name = name;
    this.notes = notes;
    this.element("notes").hidden = !name || !notes;
    if (!name || !notes) return;
    const { tags = [], text = "", problem = "" } = notes;
    const marks = JSON.stringify(notes);
    if (marks === this.marks) return;
    this.marks = marks;
    this.element("notes-tags").replaceChildren(...tags.map((tag) => this.chip(tag)));
    this.element("notes-text").textContent = problem || text;
    this.element("notes-text").hidden = !(problem || text);
    this.element("notes-edit").hidden = Boolean(problem);
    this.element("notes-edit").textContent = tags.length > 0 || text ? "Edit notes" : "Add a note or tags";
  }

  chip(tag) {
    const button = Farad.make("button", "tag", tag);
    button.type = "button";
    button.title = "List the runs with this tag";
    button.addEventListener("click", () => this.view.set({ filter: Farad.tagWord(tag) }));
    return button;
  }

  edit() {
    this.before = { tags: this.notes.tags, text: this.notes.text };
    this.element("notes-tags-input").value = this.before.tags.join(", ");
    this.element("notes-text-input").value = this.before.text;
    this.say("");
    this.element("notes-form").hidden = false;
    this.element("notes-shown").hidden = true;
    this.element("notes-tags-input").focus();
  }

  close() {
    this.before = null;
    this.element("notes-form").hidden = true;
    this.element("notes-shown").hidden = false;
  }

  say(text) {
    this.element("notes-problem").textContent = text;
    this.element("notes-problem").hidden = !text;
  }

  async save() {
    const { name } = this;
    const tags = this.element("notes-tags-input").value.split(",").map((tag) => tag.trim().replace(/^#/, "")).filter(Boolean);
    const body = JSON.stringify({ tags, text: this.element("notes-text-input").value, before: this.before });
    this.element("notes-save").disabled = true;
    try {
      const answer = await fetch(Farad.address(name, "notes"), { method: "POST", headers: { "content-type": "application/json" }, body });
      if (answer.ok) {
        const notes = await answer.json();
        if (name === this.name) this.close();
        this.view.noted(name, notes);
      } else {
        const why = (await answer.text()).trim().replace(/^dashboard: /, "");
        this.say(answer.status === 409 ? `Not saved: ${why}. Copy what you typed, then cancel.` : `Not saved: ${why}.`);
      }
    } catch {
      this.say("Not saved: the dashboard does not answer.");
    }
    this.element("notes-save").disabled = false;
  }
};
