// Sends what was changed, and nothing else; the settings it was read from must still be the present ones.
import { send } from "./session.js";

const form = document.getElementById("settings");
const saved = document.getElementById("saved");
const refused = document.getElementById("refused");

function value(field) {
  if (field.dataset.kind === "flag") return field.checked;
  if (field.dataset.kind === "optional") return field.value || null;
  if (field.dataset.kind === "optional-whole") return field.value ? Number(field.value) : null;
  if (field.dataset.kind === "number" || field.dataset.kind === "whole") return Number(field.value);
  return field.value;
}

const fields = [...form.elements].filter((field) => field.name);
let before = new Map(fields.map((field) => [field.name, value(field)]));

// All of them, as they are written in the settings: by kind of mistake, or as a matrix in the order of the classes.
function costs() {
  const made = fields.some(({ name }) => name === "costs.0.0") ? [] : {};
  for (const one of fields.filter(({ name }) => name.startsWith("costs."))) {
    const [, first, second] = one.name.split(".");
    if (second === undefined) made[first] = value(one);
    else (made[first] ||= [])[second] = value(one);
  }
  return made;
}

function changes() {
  const made = {};
  for (const field of fields) {
    if (value(field) === before.get(field.name)) continue;
    if (field.name.startsWith("costs.")) made.costs = costs();
    else made[field.name] = value(field);
  }
  return made;
}

function say(node, text) {
  for (const one of [saved, refused]) one.hidden = one !== node;
  node.textContent = text;
  node.scrollIntoView({ block: "nearest" });
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const made = changes();
  if (!Object.keys(made).length) return say(saved, "Nothing was changed.");
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const reply = await send("PATCH", `/v1/${form.dataset.slug}/settings`, made, { "If-Match": form.dataset.seq });
    form.dataset.seq = reply.seq;
    before = new Map(fields.map((field) => [field.name, value(field)]));
    say(saved, `Saved as event ${reply.seq.toLocaleString("en")}: ${Object.keys(made).join(", ")}.`);
  } catch (error) {
    say(refused, error.code === "changed_meanwhile" ? "Somebody else has changed the settings meanwhile. Load the page again." : error.status ? error.message : "The service cannot be reached. Nothing was changed.");
  } finally {
    button.disabled = false;
  }
});
