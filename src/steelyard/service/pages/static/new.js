// A project from a CSV file: guess its columns, ask what only a person knows, make it, send the rows.
import { records, sample, value } from "./csv.js";
import { make, send, wordsOf } from "./session.js";

const $ = (id) => document.getElementById(id);
const KINDS = ["number", "category", "text", "url", "shown", "ignored"];
const SAMPLE = 4_000_000, BATCH = 500, MOST_FILE = 200_000_000;
let text = "", guessed = [], seen = 0, digest = "", name = "", made = null, priced = []; // the classes whose costs are shown

function say(place, words, bad = false) {
  $(place).textContent = words;
  $(place).classList.toggle("bad", bad);
}

const many = (number, name) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;

// -- the file ----------------------------------------------------------------------------------------------------

async function take(file) {
  $("form").hidden = $("made").hidden = $("sending").hidden = true;
  made = null;
  $("make").disabled = false;
  $("make").textContent = "Make the project";
  say("said", "");
  if (!file) return;
  if (file.size > MOST_FILE) return say("file-said", "The file is larger than 200 MB: make the project from its head, then use steelyard service push.", true);
  say("file-said", `Reading ${file.name}…`);
  try {
    const bytes = await file.arrayBuffer();
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const other = separator(text);
    if (other) return say("file-said", `${file.name} has ${other} between its cells. Save it with commas.`, true);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    digest = [...hash.slice(0, 16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const said = await send("POST", "/v1/projects/guess", sample(text, SAMPLE), { "Content-Type": "text/csv" });
    guessed = said.columns;
    seen = said.rows;
    name = file.name;
    fill(said);
    say("file-said", `${file.name}: ${many(guessed.length, "column")}, ${many(said.rows, "row")} looked at.`);
    $("form").hidden = false;
    $("target").focus();
  } catch (error) {
    say("file-said", error.name === "TypeError" && !error.status ? "The file must be UTF-8 text, and the service within reach." : wordsOf(error), true);
  }
}

// What stands between the names of a header that has no comma; spreadsheets of some countries write semicolons.
function separator(raw) {
  const { value: head } = records(raw).next();
  if (!head || head.cells.length > 1) return null;
  return { ";": "semicolons", "\t": "tabs" }[[...head.cells[0]].find((c) => ";\t".includes(c))] || null;
}

function fill(said) {
  const few = guessed.filter((column) => column.classes);
  const likely = few.find((column) => /^(label|class|target|y|fraud|outcome)$/i.test(column.name));
  const ids = guessed.find((column) => column.unique && /(^|_)id$/i.test(column.name));
  options($("target"), [["", "no column: people say it"], ...few.map((column) => [column.name, column.name])], likely ? likely.name : "");
  options($("id"), [["", "no column"], ...guessed.filter((column) => column.unique).map((column) => [column.name, column.name])], ids ? ids.name : "");
  $("columns").replaceChildren(...guessed.map((column, index) => {
    const choice = make("select", { "aria-label": `Kind of ${column.name}`, "data-index": index });
    options(choice, KINDS.map((kind) => [kind, kind]), column.kind);
    const values = column.values.map((one) => (one.length > 60 ? `${one.slice(0, 60)}…` : one)).join(" · ");
    return make("tr", {}, make("th", { scope: "row", dir: "auto" }, column.name), make("td", {}, choice), make("td", { dir: "auto" }, values));
  }));
  $("slug").value = name.toLowerCase().replace(/\.[a-z]+$/, "").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40) || "project";
  $("expected").value = Math.max(said.rows, 100);
  $("budget").value = Math.max(1, Math.min(300, Math.round(Number($("expected").value) / 10)));
  aim();
  pace();
}

function options(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([key, words]) => make("option", { value: key, selected: key === chosen }, words)));
}

// The label's column gives the classes and is not learned from; the id's column neither.
function aim() {
  const column = guessed.find((one) => one.name === $("target").value);
  if (column) $("classes").value = column.classes.join("\n");
  else if (!$("classes").value) $("classes").value = "no\nyes";
  for (const choice of $("columns").querySelectorAll("select")) {
    const its = guessed[Number(choice.dataset.index)];
    const taken = its.name === $("target").value || its.name === $("id").value;
    if (taken && choice.value !== "ignored") choice.dataset.before = choice.value, choice.value = "ignored";
    else if (!taken && choice.dataset.before) choice.value = choice.dataset.before, delete choice.dataset.before;
  }
  classes(Boolean(column));
}

// -- classes and costs -------------------------------------------------------------------------------------------

const labels = () => $("classes").value.split("\n").map((one) => one.trim()).filter(Boolean);

// As many classes as before have been renamed; else, or where they come from another column, costs go by the name.
function classes(others = false) {
  const all = labels(), renamed = !others && all.length === priced.length;
  const before = $("positive").value;
  options($("positive"), all.map((one) => [one, one]), all.includes(before) ? before : all[all.length - 1]);
  $("positive-field").hidden = all.length !== 2;
  const old = costs(), places = all.map((one, i) => (renamed ? i : priced.indexOf(one)));
  priced = all;
  const head = make("tr", {}, make("td", {}), ...all.map((one) => make("th", { scope: "col", dir: "auto" }, `decided ${one}`)));
  const lines = all.slice(0, 50).map((truth, i) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, `is ${truth}`), ...all.map((said, k) => {
    const kept = (old[places[i]] || [])[places[k]];
    return make("td", {}, make("input", { type: "number", min: "0", max: "1000000000000", step: "any", required: true, value: kept ?? Number(i !== k), "aria-label": `is ${truth}, decided ${said}` }));
  })));
  $("costs").replaceChildren(make("thead", {}, head), make("tbody", {}, ...lines));
}

const costs = () => [...$("costs").querySelectorAll("tbody tr")].map((line) => [...line.querySelectorAll("input")].map((one) => Number(one.value)));

function pace() {
  const budget = Number($("budget").value), share = budget / Number($("expected").value), number = (n) => n.toLocaleString("en");
  $("pace").textContent = share > 0 && Number.isFinite(share) ? `As soon as there are answers to learn from, about one row in ${number(Math.max(1, Math.round(1 / share)))} is asked about.` : "";
  const early = $("send-rows").checked && 0 < budget && budget < seen;
  $("at-once").textContent = early ? `Before the first answers every row is asked about: of a file that is sent at once the first ${number(budget)} rows take all labels. To spread them over the file, make the project without its rows, send some dozens of them as a file of their own (steelyard service push), answer what is asked, then push the rest.` : "";
}

// -- making it ---------------------------------------------------------------------------------------------------

function settings() {
  const columns = {};
  for (const choice of $("columns").querySelectorAll("select")) columns[guessed[Number(choice.dataset.index)].name] = choice.value;
  const all = labels();
  const made = { classes: all, columns, costs: costs(), budget: Number($("budget").value), expected_rows: Number($("expected").value), question: $("question").value, guide: $("guide").value };
  if (all.length === 2) made.positive = $("positive").value;
  return made;
}

async function begin() {
  $("make").disabled = true;
  try {
    if (!made) await create($("slug").value.trim(), settings());
    if ($("send-rows").checked) await push(made.project, made.columns);
    $("to-label").focus();
  } catch (error) {
    say("said", `${made ? `Project ${made.project} is made, but not all rows are sent: ` : ""}${wordsOf(error)}`, true);
    if (made) $("make").textContent = "Send the rest"; // under the same keys: what was decided is not decided again
    $("make").disabled = false;
  }
}

async function create(project, chosen) {
  await send("POST", "/v1/projects", { project, settings: chosen });
  made = { project, columns: chosen.columns };
  $("to-label").href = `/p/${project}/label`;
  $("to-owner").href = `/p/${project}`;
  $("made").hidden = false;
  say("said", `Project ${project} is made.`);
}

// Batches under keys of the file's own digest: sent twice, they count once.
async function push(project, columns) {
  const [head, ...rows] = [...records(text)].map((one) => one.cells);
  const whole = (cells) => cells.length === head.length;
  const named = $("id").value ? head.indexOf($("id").value) : -1;
  const kept = head.map((one, index) => [one, index]).filter(([one]) => columns[one] !== "ignored");
  let refused = 0, first = "";
  $("sending").hidden = false;
  for (let at = 0; at < rows.length; at += BATCH) {
    const batch = rows.slice(at, at + BATCH);
    for (const cells of batch) if (!whole(cells)) refused += 1, first ||= `row ${(at + batch.indexOf(cells) + 1).toLocaleString("en")} has ${cells.length} cells, the header ${head.length}`;
    const sent = batch.filter(whole).map((cells) => {
      const row = Object.fromEntries(kept.map(([one, index]) => [one, value(cells[index] ?? "", columns[one])]));
      return named < 0 ? { row } : { row, id: cells[named] };
    });
    const said = sent.length ? await retried(() => send("POST", `/v1/${project}/decide/batch`, { rows: sent }, { "Idempotency-Key": `${digest}-${at}` })) : [];
    for (const one of said) if (one.error) refused += 1, first ||= one.message;
    $("sending").value = Math.min(1, (at + BATCH) / rows.length);
  }
  const words = refused ? `, ${refused.toLocaleString("en")} refused (${first})` : "";
  say("said", `Project ${project} is made; ${(rows.length - refused).toLocaleString("en")} rows decided${words}.`, refused > 0);
}

async function retried(act) {
  for (let pause = 500; ; pause *= 2) {
    try {
      return await act();
    } catch (error) {
      if ((error.status && ![429, 503].includes(error.status)) || pause > 16000) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

$("file").addEventListener("change", () => take($("file").files[0]));
for (const kind of ["dragenter", "dragover"]) addEventListener(kind, (event) => { event.preventDefault(); $("drop").classList.add("over"); });
for (const kind of ["dragleave", "drop"]) addEventListener(kind, (event) => { event.preventDefault(); $("drop").classList.remove("over"); });
addEventListener("drop", (event) => take(event.dataTransfer.files[0]));
$("target").addEventListener("change", aim);
$("id").addEventListener("change", aim);
$("classes").addEventListener("input", () => classes());
$("budget").addEventListener("input", pace);
$("expected").addEventListener("input", pace);
$("send-rows").addEventListener("change", pace);
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  begin();
});
