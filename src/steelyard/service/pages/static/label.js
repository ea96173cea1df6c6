// One question after the other. A press answers and moves on; "saved" is said only after the service's 200.
import { Keys } from "./keys.js";
import { Outbox, PATIENCE } from "./outbox.js";
import { make, Refused, send } from "./session.js";

const $ = (id) => document.getElementById(id);
const given = JSON.parse($("label").dataset.given);
const path = `/v1/${given.project}`;
const FETCH = 20, LOW = 5, LOOK_AGAIN = 4000, RENEW = 45000, FEW = 12, LONG = 80, IDLE = 300000, UNREAD = 250;
const keys = new Keys(given);
const outbox = new Outbox(given);

let queue = [], current = null, began = 0, everything = false, counts = given;
let saved = 0, lost = 0, message = "", wrong = false, fetching = null, timer = 0, stopped = false, redo = null;
let moved = performance.now(), paused = false, keeps = true; // whether this browser can keep answers
const answered = new Set(); // items of this page that must not be asked again, whatever comes late
const paid = new Set(); // items whose label was counted as spent: given again it costs nothing
const KEPT = `steelyard-undo ${given.log} ${given.person}`, MOST_KEPT = 20;
// What was answered in this tab, to be taken back: since the page was loaded with its row, before that without it.
const history = keptHistory();

// -- what is shown -----------------------------------------------------------------------------------------------

function field({ name }, value) {
  const text = value === null || value === undefined ? "" : String(value);
  const long = text.length > LONG || text.includes("\n");
  const none = text === "";
  const scrolls = long && text.length > 400 ? { tabindex: "0", role: "group", "aria-label": name } : {};
  const words = long ? make("div", { class: "words", ...scrolls }, text) : none ? "none" : text;
  const dd = make("dd", { dir: "auto", class: none ? "none" : null }, words);
  return make("div", { class: long && !none ? "pair long" : "pair" }, make("dt", { dir: "auto" }, name), dd);
}

function drawItem() {
  $("fields").hidden = current === null;
  $("empty").hidden = current !== null;
  if (current === null) return;
  const filled = given.columns.filter(({ name }) => ![null, undefined, ""].includes(current.row[name]));
  const shown = everything ? given.columns : filled.slice(0, FEW);
  const rest = given.columns.length - shown.length;
  const parts = [make("dl", {}, ...shown.map((column) => field(column, current.row[column.name])))];
  if (rest > 0 || everything) {
    const words = everything ? "fewer fields" : `all ${given.columns.length} fields`;
    const button = make("button", { type: "button", class: "more" }, key("all"), words);
    button.addEventListener("click", () => act("all"));
    parts.push(button);
  }
  $("fields").replaceChildren(...parts);
  $("fields").scrollTop = 0;
  const why = current.why === "sample" ? "a sample of all rows" : "near the boundary";
  $("why").textContent = `Why asked: ${why}. At stake: ${given.stake}.`;
}

// Whether the service would refuse to take an answer back.
const tooLate = ({ saved: at }) => at !== undefined && performance.now() - at >= 1000 * given.undo;

const key = (action) => make("kbd", { "aria-hidden": "true" }, keys.label(action));

function drawAnswers() {
  const buttons = given.classes.map((label, index) => {
    const kind = label === given.positive ? "class positive" : "class";
    const was = redo && current && redo.item === current.item && redo.label === label;
    const made = make("button", { type: "button", class: was ? `${kind} was` : kind }, key(`class ${index}`), make("bdi", {}, label));
    made.addEventListener("click", (event) => pressed(`class ${index}`, event));
    made.disabled = current === null;
    return made;
  });
  const skip = make("button", { type: "button", id: "skip" }, key("skip"), "skip");
  skip.disabled = current === null;
  skip.addEventListener("click", (event) => pressed("skip", event));
  const undo = make("button", { type: "button", id: "undo" });
  fillUndo(undo);
  undo.addEventListener("click", () => act("undo"));
  const all = [...buttons, skip, undo];
  const focused = [...$("answers").children].indexOf(document.activeElement);
  if (given.positive !== null) all.sort((one, other) => other.classList.contains("positive") - one.classList.contains("positive"));
  $("answers").replaceChildren(...all);
  if (focused >= 0) (all[focused] && !all[focused].disabled ? all[focused] : $("item")).focus({ preventScroll: true });
}

function fillUndo(button) {
  const last = history[history.length - 1];
  button.disabled = !last || tooLate(last);
  if (button.disabled) return button.replaceChildren(key("undo"), "undo");
  const was = `${last.question.item} was ${last.label === null ? "skipped" : last.label}`;
  button.replaceChildren(key("undo"), make("span", {}, "undo: ", make("bdi", {}, was))); // one piece, which breaks between words
}

function drawCounts() {
  const number = (n) => n.toLocaleString("en");
  $("progress").max = Math.max(1, counts.budget);
  $("progress").value = counts.spent;
  $("counts").textContent = `${number(counts.spent)} of ${number(counts.budget)} spent, ${number(counts.waiting)} waiting`;
}

function drawSaid() {
  const n = outbox.kept;
  const parts = [`${saved} saved`];
  const how = outbox.trouble || (navigator.onLine ? "sending" : "sending when online");
  if (n) parts.push(`${n} in the outbox, ${how}`);
  if (lost) parts.push(`${lost} settled by others`);
  const line = make("span", { "data-saved": saved, "data-waiting": outbox.waiting.length, "data-kept": n, "data-lost": lost }, parts.join(" · "));
  const more = message ? make("span", { class: wrong ? "bad" : null }, ` · ${message}`) : null;
  $("said").replaceChildren(...[line, more].filter(Boolean));
  if (stopped) $("said").append(" ", make("a", { class: "button", href: `/login?next=${encodeURIComponent(location.pathname)}` }, "Log in again"));
  document.title = `${n ? `(${n}) ` : ""}${current ? given.question || "Label" : "No question"} - ${given.project} - Steelyard`;
}

function draw() {
  for (const one of document.querySelectorAll("kbd[data-key]")) one.textContent = keys.label(one.dataset.key);
  drawItem();
  drawAnswers();
  drawCounts();
  drawSaid();
}

function say(words, bad = false) {
  message = words;
  wrong = bad;
  drawSaid();
}

// -- questions ---------------------------------------------------------------------------------------------------

function next() {
  current = queue.shift() || null;
  began = performance.now();
  if (current === null) $("empty-said").textContent = "No question waits.";
  if (redo && (!current || redo.item !== current.item)) redo = null;
  draw();
  if (queue.length < LOW) refill();
}

// Everything one may hold, the oldest first; what is shown now stays, so that no press meets another question.
function refill() {
  if (!keeps) return Promise.resolve(false);
  if (!fetching) fetching = fetchQuestions().finally(() => (fetching = null));
  return fetching;
}

async function fetchQuestions() {
  clearTimeout(timer);
  let reached = true;
  try {
    const said = await send("POST", `${path}/questions/next`, { count: FETCH, counts: true }, {}, PATIENCE);
    const found = said.questions;
    counts = said;
    if (said.question !== given.question || said.guide !== given.guide) settle(said);
    queue = found.filter(({ item }) => !outbox.holds(item) && !answered.has(item) && !(current && current.item === item));
    $("empty-said").textContent = nothingWaits(found.length === 0);
    if (current === null && queue.length) next();
    else drawCounts();
  } catch (error) {
    reached = false;
    failed(error);
  }
  timer = setTimeout(() => { if (!document.hidden && !idle()) refill(); }, current === null ? LOOK_AGAIN : RENEW);
  return reached;
}

// ``others``: whether what still waits, if anything does, is held by others, or must be answered or judged by them.
function nothingWaits(others) {
  if (others && counts.waiting) return `No question waits for you; ${counts.waiting.toLocaleString("en")} ${counts.waiting === 1 ? "waits" : "wait"} for somebody else. New ones appear here by themselves.`;
  if (counts.spent >= counts.budget) return "No question waits: all labels are spent. An owner can raise the budget.";
  return "No question waits. New ones appear here by themselves.";
}

// Somebody who has gone holds no questions: after a while without a move nothing is fetched or held any longer.
function idle() {
  const over = performance.now() - moved > IDLE;
  if (over && current === null) $("empty-said").textContent = "Paused. It goes on when you move.";
  paused = over;
  return over;
}

function awake() {
  moved = performance.now();
  if (paused) paused = false, refill();
}

function failed(error) {
  if (error instanceof Refused && [401, 403, 404].includes(error.status)) return stop(error);
  if (current === null) $("empty-said").textContent = "The service cannot be reached. This page tries again by itself.";
}

function stop(error) {
  stopped = true;
  const words = { 401: "You are logged out.", 403: "You may not label here any more, or somebody else has logged in.", 404: "This project is not yours to see." };
  const n = outbox.kept, kept = n ? ` Nothing is lost: ${n} ${n === 1 ? "answer waits" : "answers wait"} in this browser.` : "";
  say(`${words[error.status] || error.message}${kept}`, true);
  draw();
}

function settle(said) {
  Object.assign(given, { question: said.question, guide: said.guide });
  $("question").textContent = said.question || "Which label?";
  $("guide-text").textContent = said.guide;
  $("open-guide").hidden = !said.guide;
}

// -- acts --------------------------------------------------------------------------------------------------------

function answer(label) {
  if (current === null || stopped) return;
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  history.push({ question: current, label, answer: null });
  answered.add(current.item);
  message = "";
  const { item } = current;
  outbox.answer(item, label, seconds).catch(() => {
    answered.delete(item); // it is asked again
    forget(item);
    say("This browser cannot keep answers; nothing was saved. Leave private mode, or free some space.", true);
  });
  next();
}

function forget(item) {
  const at = history.findIndex((one) => one.question.item === item);
  if (at >= 0) history.splice(at, 1);
  keepHistory();
  drawAnswers();
}

// A reload loses the rows, which the service hands out again; item, label and number of an answer stay in this tab.
function keepHistory() {
  const kept = history.filter((one) => one.answer).slice(-MOST_KEPT);
  const lines = kept.map(({ question, label, answer, saved: at }) => ({ item: question.item, label, answer, paid: paid.has(question.item), at: Date.now() - performance.now() + at }));
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(lines));
  } catch {
    // without room an answer can be taken back until the page is loaded again
  }
}

function keptHistory() {
  try {
    const lines = JSON.parse(sessionStorage.getItem(KEPT) || "[]");
    for (const one of lines) if (one.paid) paid.add(one.item);
    return lines.map(({ item, label, answer, at }) => ({ question: { item }, label, answer, saved: performance.now() - Date.now() + at }));
  } catch {
    return [];
  }
}

function undo() {
  if (!history.length || stopped) return;
  const last = history.pop();
  const { question } = last;
  if (tooLate(last)) {
    history.length = 0; // what came before is older still
    keepHistory();
    drawAnswers();
    return say(`Answer ${question.item} was saved too long ago to be undone.`, true);
  }
  keepHistory();
  answered.delete(question.item);
  redo = { item: question.item, label: last.label };
  outbox.undo(question.item, last.answer);
  if (question.row) {
    if (current) queue.unshift(current);
    queue.unshift(question);
    next();
  } else drawAnswers(); // the service hands it out again
  say(`Undone: ${last.label === null ? "skipped" : last.label}. Answer again.`);
}

// A question whose answer was taken back and whose row is not at hand.
async function showAgain(item) {
  await fetching; // which may have been answered before it was open again
  await refill();
  const at = queue.findIndex((one) => one.item === item);
  if (at < 0 || !redo || redo.item !== item) return;
  const [asked] = queue.splice(at, 1);
  if (current) queue.unshift(current);
  queue.unshift(asked);
  next();
}

function act(action) {
  if (action.startsWith("class ")) answer(given.classes[Number(action.slice(6))]);
  else if (action === "skip") answer(null);
  else if (action === "undo") undo();
  else if (action === "all") everything = !everything, drawItem();
  else if (action === "guide") given.guide && show($("guide"));
  else if (action === "map") show($("keys"));
  else if (action === "renew") refill().then((reached) => { if (!stopped) say(reached ? "Fetched anew." : "The service cannot be reached; the questions at hand stay."); });
}

// A closed dialog gives the focus back to what had it, but not to the page itself: keys would go to a field one cannot see.
function show(dialog) {
  if (document.activeElement === document.body) $("item").focus({ preventScroll: true });
  dialog.showModal();
}

// After a press by mouse or thumb the focus goes back to the row, where single keys work. The second half of a double
// one meets a question that nobody can have read.
function pressed(action, event) {
  if (event.detail === 0 || performance.now() - began >= UNREAD) act(action);
  if (keys.on) $("item").focus({ preventScroll: true });
}

for (const kind of ["keydown", "pointerdown", "pointermove", "focus"]) addEventListener(kind, awake, { passive: true });
addEventListener("keydown", (event) => {
  const action = document.querySelector("dialog[open]") ? null : keys.action(event);
  if (action === null) return;
  event.preventDefault();
  act(action);
});
$("open-guide").addEventListener("click", () => act("guide"));
$("open-keys").addEventListener("click", () => act("map"));
keys.edit({ list: $("key-list"), on: $("keys-on"), reset: $("keys-reset"), said: $("keys-said"), changed: draw });
document.addEventListener("visibilitychange", () => { if (!document.hidden) refill(), outbox.flush(); });

// -- the outbox --------------------------------------------------------------------------------------------------

outbox.addEventListener("changed", drawSaid);
outbox.addEventListener("stopped", ({ detail }) => stop(detail.error));
outbox.addEventListener("saved", ({ detail: { entry, said } }) => {
  saved += 1;
  if (said.learned) counts = { ...counts, spent: counts.spent + !paid.has(entry.item), waiting: Math.max(0, counts.waiting - 1) };
  if (said.learned) paid.add(entry.item);
  const known = history.find((one) => one.question.item === entry.item);
  if (known) Object.assign(known, { answer: said.answer, saved: performance.now() }), keepHistory();
  fillUndo($("undo"));
  drawCounts();
  if (known && said.decision) say(`decided before: ${said.decision}`);
  drawSaid();
});
outbox.addEventListener("elsewhere", ({ detail: { item } }) => {
  answered.add(item);
  queue = queue.filter((one) => one.item !== item);
  if (current && current.item === item) next(), say("Answered in another tab.");
});
outbox.addEventListener("retracted", ({ detail: { entry } }) => {
  saved = Math.max(0, saved - 1); // the answer may have been saved before this page was loaded
  if (paid.has(entry.item)) counts = { ...counts, waiting: counts.waiting + 1 };
  drawCounts();
  const held = send("POST", `${path}/questions/${entry.item}/renew`).catch(() => null); // keep it in hand
  if (redo && redo.item === entry.item && !(current && current.item === entry.item)) held.then(() => showAgain(entry.item));
  drawSaid();
});
outbox.addEventListener("refused", ({ detail: { entry, error } }) => {
  if (entry.kind === "retract") {
    answered.add(entry.item);
    if (current && current.item === entry.item) redo = null, next();
    else queue = queue.filter(({ item }) => item !== entry.item);
    say(`Cannot be undone: ${error.message}`, true);
  } else if (error.status === 409) {
    lost += 1;
    say(`${entry.item} was settled by others.`);
  } else say(`Refused: ${error.message}`, true);
  forget(entry.item);
});

draw();
outbox.open().then(refill, () => {
  keeps = false;
  $("empty-said").textContent = "This browser cannot keep answers (private mode?). Nothing can be labelled here.";
});
