// Which key does what: the person's own choice, kept in this browser; single keys can be switched off.
import { make } from "./session.js";

const FIXED = { skip: " ", undo: "u", all: "d", guide: "g", renew: "r", map: "?" };
const NAMES = { skip: "Skip", undo: "Undo", all: "All fields", guide: "Guide", renew: "Fetch anew", map: "Keys" };
const shown = (key) => ({ " ": "Space", Backspace: "⌫" })[key] || (key.length === 1 ? key.toUpperCase() : key);

export class Keys {
  constructor(given) {
    this.place = `steelyard-keys ${given.log} ${given.person}`;
    this.classes = given.classes;
    this.first = { ...FIXED };
    given.classes.forEach((label, index) => {
      if (given.positive !== null) this.first[`class ${index}`] = label === given.positive ? "a" : "x";
      else if (index < 10) this.first[`class ${index}`] = String((index + 1) % 10);
      else this.first[`class ${index}`] = "";
    });
    this.on = true;
    this.map = { ...this.first };
    this.load();
  }

  load() {
    try {
      const kept = JSON.parse(localStorage.getItem(this.place) || "null");
      if (!kept || typeof kept.map !== "object") return;
      this.on = kept.on !== false;
      for (const action of Object.keys(this.first)) {
        if (typeof kept.map[action] === "string") this.map[action] = kept.map[action];
      }
    } catch {
      return; // what is kept cannot be read: the keys are as they were
    }
  }

  keep() {
    localStorage.setItem(this.place, JSON.stringify({ on: this.on, map: this.map }));
  }

  name(action) {
    return action.startsWith("class ") ? this.classes[Number(action.slice(6))] : NAMES[action];
  }

  label(action) {
    return this.on && this.map[action] ? shown(this.map[action]) : "";
  }

  // What a key press means; null if it is none of ours.
  action(event) {
    if (event.defaultPrevented || event.repeat || event.isComposing) return null;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "z") return "undo";
    if (event.ctrlKey || event.metaKey || event.altKey || !this.on) return null;
    const at = event.target;
    if (at.closest("input, textarea, select, dialog, [contenteditable]")) return null;
    if ([" ", "Enter"].includes(event.key) && at.closest("button, a, summary")) return null; // they press what has the focus
    const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const mine = Object.keys(this.map).find((action) => this.map[action] === pressed);
    return mine || (event.key === "Backspace" ? "undo" : null);
  }

  // The dialog in which keys are changed.
  edit({ list, on, reset, said, changed }) {
    const draw = () => {
      on.checked = this.on;
      list.replaceChildren(...Object.keys(this.first).map((action) => {
        const field = make("input", { value: this.map[action] ? shown(this.map[action]) : "", readonly: true, disabled: !this.on });
        field.addEventListener("keydown", (event) => {
          if (["Tab", "Escape", "Shift", "Control", "Alt", "Meta"].includes(event.key) || event.ctrlKey || event.metaKey) return;
          event.preventDefault();
          const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
          const other = Object.keys(this.map).find((one) => one !== action && this.map[one] === pressed);
          if (other) this.map[other] = "";
          this.map[action] = pressed;
          said.textContent = other ? `${this.name(other)} has no key now.` : "";
          this.keep();
          changed();
          field.value = shown(pressed);
          for (const box of list.querySelectorAll("input")) if (other && box.dataset.action === other) box.value = "";
        });
        field.dataset.action = action;
        return make("label", {}, make("span", { dir: "auto" }, this.name(action)), field);
      }));
    };
    on.addEventListener("change", () => {
      this.on = on.checked;
      this.keep();
      draw();
      changed();
    });
    reset.addEventListener("click", () => {
      this.on = true;
      this.map = { ...this.first };
      this.keep();
      said.textContent = "";
      draw();
      changed();
    });
    draw();
  }
}
