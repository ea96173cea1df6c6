// The models of a project that do not decide: what each would have cost; its owner begins, ends and promotes them, and
// may have a frozen model decide.
import { amount, banded } from "./amounts.js";
import { make, send, wordsOf } from "./session.js";

const body = document.getElementById("shadows");
const said = document.getElementById("shadows-said");
const form = document.getElementById("new-shadow");
const place = `/v1/${body.dataset.slug}`;
const EVERY = 10000;
let known = { shadows: [], most: 0 };

const signed = (value, places) => amount(value, places).replace("-", "\u2212");
const number = (value) => value.toLocaleString("en");

function difference(one) {
  if (one.ended) return "ended: its weights have left the range of numbers";
  return banded(one.difference, signed);
}

function acts(one) {
  if (!("owner" in body.dataset)) return [];
  if (!one.slot) {
    const decide = make("button", { type: "button", "aria-label": `let it decide: ${one.name}` }, "let it decide");
    decide.addEventListener("click", () => act("champion", undefined, `${one.name} decides again.`, "DELETE"));
    return [decide];
  }
  const promote = make("button", { type: "button", disabled: one.ended }, "promote");
  const end = make("button", { type: "button" }, "end");
  promote.addEventListener("click", () => act("promote", { slot: one.slot }, `${one.name} is the learner now.`));
  end.addEventListener("click", () => act("shadows", { slot: one.slot, update: null }, `${one.name} has ended.`));
  for (const [button, what] of [[promote, "promote"], [end, "end"]]) button.setAttribute("aria-label", `${what} ${one.name}`);
  return [promote, " ", end];
}

function show() {
  document.getElementById("deciding").textContent = `${known.deciding} decides. Shadows learn from the same labels and decide nothing; below 0 a shadow is cheaper (${known.level}, for one look, on the rows since both are what they are).`;
  if (body.contains(document.activeElement)) return; // a button somebody is about to press stays
  const lines = known.shadows.map((one) => make("tr", {}, make("td", {}, one.name), make("td", {}, difference(one)), make("td", { class: "num" }, number(one.labels)), make("td", { class: "num" }, number(one.differences)), make("td", {}, ...acts(one))));
  body.replaceChildren(...(lines.length ? lines : [make("tr", {}, make("td", { colspan: 5, class: "quiet" }, "No shadow."))]));
}

async function look() {
  if (document.hidden) return;
  try {
    known = await send("GET", `${place}/shadows`);
    show();
  } catch (error) {
    if (error.status === 401) clearInterval(looking); // the page says so by itself, and that there is no connection
  }
}

async function act(path, sent, done, method = "POST", headers = {}) {
  try {
    await send(method, `${place}/${path}`, sent, { ...headers, "Idempotency-Key": crypto.randomUUID() });
    if (body.contains(document.activeElement)) document.activeElement.blur();
    said.textContent = done;
    await look();
  } catch (error) {
    said.textContent = wordsOf(error);
  }
}

if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const used = known.shadows.map((one) => one.slot);
    const slot = [...Array(known.most).keys()].map((n) => n + 1).find((n) => !used.includes(n));
    if (slot === undefined) said.textContent = `There may be ${known.most} shadows. End one first.`;
    else act("shadows", { slot, update: form.elements.update.value }, `Shadow ${slot} begins; it knows every label so far.`);
  });
}

const model = document.getElementById("new-champion");
if (model) {
  model.addEventListener("submit", (event) => {
    event.preventDefault();
    const [file] = model.elements.model.files;
    const path = `champion?name=${encodeURIComponent(file.name.slice(0, 100))}`;
    act(path, file, `${file.name} decides from now on; the learner goes on learning.`, "POST", { "Content-Type": "application/octet-stream" });
  });
}

const looking = setInterval(look, EVERY);
look();
