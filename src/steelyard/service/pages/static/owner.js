// The owner page: the words of the feed are put where they belong; the feed is closed while the tab is hidden.
import { amount, banded, digits } from "./amounts.js";
import { make, send } from "./session.js";

const place = document.getElementById("owner");
const slug = place.dataset.slug;
const state = document.getElementById("state");
const CURVE_EVERY = 10000;
let seq = Number(place.dataset.seq);
let feed = null;
let heard = Date.now();
let chart = null;
let pause = 1000; // before a feed that was refused is tried again
let ended = false;

function show(live) {
  seq = live.events;
  heard = Date.now();
  for (const [name, text] of Object.entries(live.words)) {
    for (const node of document.querySelectorAll(`[data-word="${CSS.escape(name)}"]`)) {
      if (node.textContent !== text) node.textContent = text;
    }
  }
  document.title = `${live.words.title} - ${slug} - Steelyard`;
  fill("people", live.people.map((one) => [one.name, count(one.answers), count(one.skips), one.seconds === null ? "–" : one.seconds.toFixed(1), one.agreement === null ? "–" : `${(100 * one.agreement).toFixed(0)}%`]), ["", "num", "num", "num", "num"]);
  const judged = document.getElementById("disputes");
  if (!judged.contains(document.activeElement)) {
    judged.replaceChildren(...live.disputes.flatMap((item) => [" · ", make("a", { href: `/p/${slug}/decisions/${item}` }, `judge ${count(item)}`)]));
  }
  fill("latest", live.latest.map((one) => [
    make("a", { href: `/p/${slug}/decisions/${one.id}` }, count(one.t)), one.decision, one.label || (one.ask ? "asked" : ""), one.row,
  ]), ["", "", "", "fields"]);
}

const count = (number) => number.toLocaleString("en");

function fill(id, lines, classes) {
  const body = document.getElementById(id);
  if (!lines.length || body.contains(document.activeElement)) return; // a row somebody is about to open stays
  body.replaceChildren(...lines.map((line) => make("tr", {}, ...line.map((cell, n) => make("td", { class: classes[n] || null }, cell)))));
}

function open() {
  if (feed || document.hidden || ended) return;
  feed = new EventSource(`/v1/${slug}/live?after=${seq}`);
  feed.addEventListener("live", (event) => show(JSON.parse(event.data)));
  feed.addEventListener("open", () => { heard = Date.now(), pause = 1000; });
}

// A feed that was refused tells no reason: another request does.
async function refused() {
  close();
  try {
    await send("GET", `/v1/${slug}/summary`);
  } catch (error) {
    if ([401, 403, 404].includes(error.status)) return end(error.status);
  }
  setTimeout(open, pause);
  pause = Math.min(30000, 2 * pause);
}

function end(status) {
  ended = true;
  if (status !== 401) state.textContent = "this project is not yours to see any more";
  else state.replaceChildren("you are logged out; ", make("a", { href: `/login?next=${encodeURIComponent(location.pathname)}` }, "log in again"));
}

function close() {
  if (feed) feed.close();
  feed = null;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) close();
  else { open(); draw(); look(); }
});
addEventListener("pagehide", close);
addEventListener("pageshow", open);

function tell() {
  if (ended) return;
  const broken = !feed || feed.readyState !== EventSource.OPEN;
  const seconds = Math.round((Date.now() - heard) / 1000);
  const text = broken ? "no connection; trying again" : seconds < 3 ? "live" : `no news for ${seconds} s`;
  if (state.textContent !== text) state.textContent = text;
  if (feed && feed.readyState === EventSource.CLOSED) refused();
}

// -- the curve ------------------------------------------------------------------------------------------------------

function token(name) {
  return getComputedStyle(document.body).getPropertyValue(name).trim();
}

function options(width) {
  const brass = token("--brass"), quiet = token("--quiet"), line = token("--line");
  const axis = { stroke: quiet, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  return {
    width,
    height: 240,
    scales: { x: { time: false }, y: { range: (u, low, high) => [0, high > 0 ? high * 1.1 : 0.1] } },
    axes: [{ ...axis, label: "rows", labelSize: 20 }, { ...axis, size: (u, shown) => 24 + 8 * Math.max(3, ...(shown || []).map((one) => one.length)) }],
    cursor: { drag: { x: false, y: false } },
    legend: { show: false },
    series: [
      { label: "rows" },
      { label: "cost a row", stroke: brass, width: 2.5, points: { show: false } },
      { label: "from", stroke: brass, width: 1, dash: [2, 3], points: { show: false } },
      { label: "to", stroke: brass, width: 1, dash: [2, 3], points: { show: false } },
      { label: "cheapest constant", stroke: quiet, width: 1.5, dash: [8, 4], points: { show: false } },
    ],
    bands: [{ series: [3, 2], fill: token("--wash") }],
  };
}

async function draw() {
  let curve;
  try {
    curve = await send("GET", `/v1/${slug}/curves`);
  } catch {
    return; // the line above says that there is no connection
  }
  const said = document.getElementById("curve-said");
  const target = document.getElementById("curve");
  const table = document.getElementById("curve-table");
  if (curve.rows.length < 2) {
    said.textContent = "It begins with the first number above: before that there are too few labels to say.";
    target.classList.add("empty");
    return;
  }
  const last = curve.rows.length - 1;
  const places = digits(curve.low[last], curve.high[last]);
  const waiting = curve.waiting ? ` ${count(curve.waiting)} later rows still wait for labels.` : "";
  said.textContent = `The cost a row of all rows up to each point (line), its nominal 95% band (shaded) and the cheapest constant answer (dashed): ${amount(curve.cost[last], places)} at row ${count(curve.rows[last])} against ${amount(curve.constant[last], places)}.${waiting}`;
  const columns = [curve.rows, curve.cost, curve.low, curve.high, curve.constant];
  if (chart) chart.setData(columns);
  else {
    target.classList.remove("empty");
    chart = new uPlot(options(Math.max(240, target.clientWidth)), columns, target);
  }
  table.hidden = false;
  table.querySelector("tbody").replaceChildren(...curve.rows.map((row, n) => make("tr", {}, ...columns.map((column, k) => make("td", { class: "num" }, k ? amount(column[n], places + 1) : count(row))))));
}

// -- what if, and whether rows are still what they were -------------------------------------------------------------

const form = document.getElementById("what-if");
if (form) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = document.getElementById("if-said");
    try {
      const made = await send("GET", `/v1/${slug}/whatif?${new URLSearchParams(new FormData(form))}`);
      const saved = made.saved.value === null ? "" : `; saved ${banded(made.saved, (value) => `${amount(100 * value, 0)}%`)}`;
      const cost = made.cost.value === null ? `No number: ${made.cost.reason}` : `Cost a row ${banded(made.cost)}${saved}`;
      said.classList.remove("quiet");
      said.textContent = `${cost}. First ${count(made.rounds)} rows, nominal 95%, ${made.note}.`;
    } catch (error) {
      said.textContent = error.status ? error.message : "The service cannot be reached.";
    }
  });
}

async function look() {
  try {
    const found = await send("GET", `/v1/${slug}/drift`);
    fill("lights", found.lights.map((one) => [one.name, make("span", { class: `light ${one.light}` }, one.light), one.value === null ? "–" : one.value.toFixed(2), `${one.what}${one.hint ? `. ${one.hint}` : ""}`]), ["", "", "num", ""]);
  } catch {
    return; // the line above says that there is no connection
  }
}

function redraw() {
  if (!chart) return;
  chart.destroy();
  chart = null;
  draw();
}

new ResizeObserver(() => { if (chart) chart.setSize({ width: Math.max(240, document.getElementById("curve").clientWidth), height: 240 }); }).observe(document.getElementById("curve"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
open();
draw();
look();
setInterval(tell, 1000);
setInterval(() => { if (!document.hidden && !ended) { draw(); look(); } }, CURVE_EVERY);
