// The script of a comparison's page: other prices for the embedded bins, and charts that answer the pointer.
// The first half is pure and does what comparison/page/what_if.py does, in the same order of operations.
(function () {
"use strict";
const PROBABLY = 1.645, CLEARLY = 2.576, FEW = 20, LETTER = 8, MOST_DECIMALS = 6, RATIO_SPAN = 16;

// -- prices ---------------------------------------------------------------------------------------------------------

function cell(entry, what, b, i, j, plain) {
  return entry[what] === undefined ? plain : entry[what][b][i][j];
}

function least(values, without) {
  let best = -1;
  values.forEach((value, j) => { if (j !== without && (best < 0 || value < values[best])) best = j; });
  return best;
}

function shares(entry, prices, abstain, capacity, positive) {
  const k = prices.length, fixed = entry.answers, found = [], acting = [];
  entry.counts.forEach((count, b) => {
    const n = count.reduce((a, v) => a + v, 0), expected = [];
    for (let j = 0; j < k; j++) {
      let sum = 0;
      for (let i = 0; i < k; i++) sum += prices[i][j] * cell(entry, "expected", b, i, j, entry.proba[b][i]);
      expected.push(sum);
    }
    if (abstain !== null && fixed === undefined) expected.push(abstain * n);
    const answer = fixed === undefined ? least(expected) : fixed[b];
    found.push([[answer, 1]]);
    if (answer === positive && capacity !== null) {
      const other = least(expected, positive);
      acting.push([(expected[other] - expected[answer]) / n, b, n, other]);
    }
  });
  if (capacity === null || positive === null) return { shares: found, next: 0 };
  acting.sort((a, c) => c[0] - a[0] || a[1] - c[1]);
  let room = capacity, next = 0;
  for (const [saving, b, n, other] of acting) {
    const share = Math.min(n, room) / n;
    if (share < 1) {
      found[b] = [[positive, share], [other, 1 - share]];
      if (next === 0 && fixed === undefined) next = saving;
    }
    room -= Math.min(n, room);
  }
  return { shares: found, next };
}

function table(rows, columns) {
  return Array.from({ length: rows }, () => new Array(columns).fill(0));
}

function priced(entry, prices, rows, abstain, capacity, positive) {
  const k = prices.length, taken = shares(entry, prices, abstain, capacity, positive);
  const counts = table(k, k + 1), sums = table(k, k + 1), money = table(k, k + 1);
  const ones = table(k, k + 1), crosses = table(k, k + 1), squares = table(k, k + 1); // for the standard error
  entry.counts.forEach((count, b) => {
    const weight = entry.count_squares === undefined ? count : entry.count_squares[b];
    for (const [j, share] of taken.shares[b]) {
      for (let i = 0; i < k; i++) {
        counts[i][j] += share * count[i];
        ones[i][j] += share * weight[i];
        if (j < k) {
          sums[i][j] += share * cell(entry, "sums", b, i, j, count[i]);
          crosses[i][j] += share * cell(entry, "crosses", b, i, j, cell(entry, "sums", b, i, j, weight[i]));
          squares[i][j] += share * cell(entry, "squares", b, i, j, weight[i]);
        }
      }
    }
  });
  const price = abstain === null ? 0 : abstain;
  let total = 0, one = 0, cross = 0, square = 0, alarms = 0, referred = 0;
  for (let i = 0; i < k; i++) {
    for (let j = 0; j <= k; j++) {
      money[i][j] = j < k ? prices[i][j] * sums[i][j] : price * counts[i][k];
      total += money[i][j];
      one += ones[i][j];
      cross += j < k ? prices[i][j] * crosses[i][j] : price * ones[i][k];
      square += j < k ? prices[i][j] ** 2 * squares[i][j] : price ** 2 * ones[i][k];
    }
    if (positive !== null) alarms += counts[i][positive];
    referred += counts[i][k];
  }
  const mean = total / rows;
  const error = Math.sqrt(Math.max(square - 2 * mean * cross + mean * mean * one, 0)) / rows;
  return { mean, error, total, alarms, referred, next: taken.next, counts, money };
}

function word(gap, error, fewest) {
  if (fewest < FEW) return "too few to say";
  if (gap > CLEARLY * error) return "clearly";
  return gap > PROBABLY * error ? "probably" : "not distinguishable";
}

function gapError(first, second, likeness) {
  return Math.sqrt(Math.max(first.error ** 2 + second.error ** 2 - 2 * likeness * first.error * second.error, 0));
}

function whatIf(data, prices, abstain, capacity) {
  const entries = data.entries.map((e) => priced(e, prices, data.rows, abstain, capacity, data.positive));
  let cheapest = -1;
  data.entries.forEach((e, j) => {
    if (e.family !== "current" && (cheapest < 0 || entries[j].mean < entries[cheapest].mean)) cheapest = j;
  });
  if (cheapest === 0) return { entries, chosen: 0, cheapest, word: "" };
  const gap = entries[0].mean - entries[cheapest].mean;
  const said = word(gap, gapError(entries[0], entries[cheapest], data.likeness[0][cheapest]), data.fewest);
  return { entries, chosen: said === "clearly" || said === "probably" ? cheapest : 0, cheapest, word: said };
}

function threshold(prices, positive) {
  const other = 1 - positive;
  const alarm = prices[other][positive] - prices[other][other];
  const miss = prices[positive][other] - prices[positive][positive];
  return alarm > 0 && miss > 0 ? alarm / (alarm + miss) : null;
}

// -- numbers as text ------------------------------------------------------------------------------------------------

function decimalsFor(spread) {
  if (!Number.isFinite(spread) || spread <= 0) return 2;
  return Math.max(-MOST_DECIMALS, Math.min(MOST_DECIMALS, -Math.floor(Math.log10(spread))));
}

function rounded(value, decimals) {
  if (!Number.isFinite(value)) return "–";
  const unit = decimals < 0 ? 10 ** -decimals : 1;
  const size = Math.abs(value);
  const text = decimals < 0 ? String(Math.floor(size / unit + 0.5) * unit) : size.toFixed(decimals);
  const [whole, rest] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest === undefined ? "" : "." + rest);
  return value < 0 && /[1-9]/.test(text) ? "-" + grouped : grouped;
}

function money(value, spread, currency, extra) {
  const text = rounded(value, decimalsFor(spread) + (extra || 0));
  return currency === null || currency === undefined ? text : text + " " + currency;
}

function percent(share, rows) {
  return rounded(100 * share, rows < 10000 ? 0 : 1) + "%";
}

const pure = { priced, whatIf, word, threshold, rounded, decimalsFor, money, percent };
if (typeof module !== "undefined") { module.exports = pure; return; }

// -- the page -------------------------------------------------------------------------------------------------------

const embedded = JSON.parse(document.getElementById("embedded").textContent);
const data = embedded.data;
const byId = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
const charts = {};

function element(tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function numberOf(id) {
  const field = byId(id);
  if (!field || field.value.trim() === "") return null;
  const value = Number(field.value);
  return Number.isFinite(value) ? value : null;
}

function pricesNow() {
  return data.prices.map((row, i) => row.map((given, j) => {
    const value = numberOf("price-" + i + "-" + j);
    return value === null ? given : value;
  }));
}

function limitsNow() {
  const abstain = numberOf("abstain"), capacity = numberOf("capacity");
  return [abstain !== null && abstain >= 0 ? abstain : null,
    capacity !== null && capacity >= 0 ? Math.floor(capacity) : null];
}

function costlier(gap, error, fewest) {
  const said = word(gap, error, fewest);
  return said === "clearly" || said === "probably" ? said + " costlier" : said;
}

function say(found) {
  const place = byId("verdict"), recommended = data.entries[0].name;
  place.textContent = "";
  const name = element("b", data.entries[found.chosen].name);
  if (found.chosen === 0 && found.cheapest === 0) {
    place.append(name, " is used, and the cheapest at these prices.");
    return;
  }
  const gap = found.entries[0].mean - found.entries[found.cheapest].mean;
  const spread = found.entries[found.cheapest].error;
  if (found.chosen === 0) {
    place.append(name, " stays: ", data.entries[found.cheapest].name, " is cheaper by ",
      money(gap, spread, data.currency, 1), " a row, ", found.word === "too few to say" ? found.word : "which is " + found.word, ".");
  } else {
    place.append(name, " is " + found.word + " cheaper than " + recommended + ", by ", money(gap, spread, data.currency, 1), " a row.");
  }
}

function rank(found) {
  const body = byId("ranking").tBodies[0];
  body.textContent = "";
  const order = data.entries.map((_, j) => j).sort((a, b) => found.entries[a].mean - found.entries[b].mean || a - b);
  const first = order[0];
  for (const j of order) {
    const line = element("tr"), mine = found.entries[j];
    const head = element("th", data.entries[j].name);
    head.scope = "row";
    if (j === found.chosen) head.append(" ", element("small", "used", "quiet"));
    const sure = j === first ? "–" : costlier(mine.mean - found.entries[first].mean,
      gapError(mine, found.entries[first], data.likeness[j][first]), data.fewest);
    line.append(head, element("td", money(mine.mean, mine.error, null, 1)),
      element("td", rounded(mine.error, decimalsFor(mine.error) + 1)), element("td", sure));
    body.append(line);
  }
}

function confuse(mine, abstain) {
  const place = byId("live-confusion"), k = data.classes.length;
  const answers = abstain === null ? data.order : [...data.order, k];
  const head = element("tr"), spread = Math.max(Math.abs(mine.total), 1e-9) / 200;
  head.append(element("td"), ...answers.map((j) => {
    const title = element("th", j < k ? data.classes[j] : "a person");
    title.scope = "col";
    return title;
  }));
  place.tHead.replaceChildren(head);
  place.tBodies[0].replaceChildren(...data.order.map((i) => {
    const line = element("tr"), title = element("th", data.classes[i]);
    title.scope = "row";
    line.append(title, ...answers.map((j) => {
      const at = element("td");
      at.append(element("b", money(mine.money[i][j], spread, data.currency)),
        element("small", counted(mine.counts[i][j])));
      return at;
    }));
    return line;
  }));
}

function show() {
  const prices = pricesNow(), [abstain, capacity] = limitsNow();
  const found = whatIf(data, prices, abstain, capacity), mine = found.entries[found.chosen];
  byId("out-cost").textContent = money(mine.mean, mine.error, data.currency, 1);
  byId("out-error").textContent = rounded(mine.error, decimalsFor(mine.error) + 1);
  byId("out-total").textContent = money(mine.total, mine.error * data.rows, data.currency);
  if (byId("out-alarms")) byId("out-alarms").textContent = rounded(mine.alarms, 0) + " (" + percent(mine.alarms / data.rows, data.rows) + ")";
  if (byId("out-threshold")) {
    const at = threshold(prices, data.positive);
    byId("out-threshold").textContent = at === null ? "–" : rounded(at, 3);
  }
  byId("box-referred").hidden = abstain === null;
  byId("out-referred").textContent = rounded(mine.referred, 0) + " (" + percent(mine.referred / data.rows, data.rows) + ")";
  byId("box-next").hidden = capacity === null;
  byId("out-next").textContent = money(mine.next, mine.error, data.currency, 1);
  say(found);
  rank(found);
  confuse(mine, abstain);
  curve(prices, abstain, capacity, found.chosen);
  slide(prices);
  remember();
}

// -- the ratio, and the state in the address ------------------------------------------------------------------------

function missField() { return byId("price-" + data.positive + "-" + (1 - data.positive)); }

function slide(prices) {
  if (!byId("ratio")) return;
  const p = data.positive, given = data.prices[p][1 - p], alarm = prices[1 - p][p];
  const factor = prices[p][1 - p] / (given || 1);
  if (document.activeElement !== byId("ratio") && factor > 0) {
    byId("ratio").value = String(Math.round(100 * Math.log(factor) / Math.log(RATIO_SPAN)));
  }
  const ratio = alarm > 0 ? prices[p][1 - p] / alarm : NaN;
  byId("ratio-text").textContent = Number.isFinite(ratio) ? rounded(ratio, ratio < 10 ? 2 : 1) + " to 1" : "–";
}

function moved() {
  const p = data.positive, given = data.prices[p][1 - p] || 1;
  missField().value = String(Number((given * RATIO_SPAN ** (Number(byId("ratio").value) / 100)).toPrecision(3)));
  show();
}

function remember() {
  const changed = [...byId("levers").querySelectorAll("input[type=number]")]
    .filter((field) => field.value !== field.defaultValue)
    .map((field) => field.id + "=" + encodeURIComponent(field.value));
  const wanted = changed.length ? "#what-if&" + changed.join("&") : "#";
  if (changed.length || location.hash.startsWith("#what-if&")) history.replaceState(null, "", wanted);
}

// Whether the address holds prices; they then stand in the fields, and nothing else does.
function recall() {
  if (!location.hash.startsWith("#what-if&")) return false;
  byId("levers").reset();
  for (const part of location.hash.slice(1).split("&").slice(1)) {
    const [id, text] = part.split("="), value = decoded(text);
    const field = /^(price-\d+-\d+|abstain|capacity)$/.test(id) ? byId(id) : null;
    if (field && Number.isFinite(Number(value))) field.value = value;
  }
  return true;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "?"; // cut off on its way: no number
  }
}

// -- charts ---------------------------------------------------------------------------------------------------------

function edge(label) {
  return { label, stroke: "transparent", points: { show: false }, class: "edge", value: shown };
}

function counted(count) {
  const text = rounded(count, 0);
  return text + (text === "1" ? " row" : " rows");
}

function shown(u, value) {
  return value === null || value === undefined ? "" : rounded(value, 3);
}

// Labels of an axis from its right end, but for those that would run into the one beside them.
function apart(u, values) {
  let free = Infinity;
  return values.slice().reverse().map((v) => {
    const text = v === null ? "" : String(Number(v.toPrecision(6)));
    const at = v === null ? 0 : u.valToPos(v, "x"), half = (text.length * LETTER) / 2;
    if (text === "" || at + half > free) return "";
    free = at - half - LETTER;
    return text;
  }).reverse();
}

function options(plain, width, marks) {
  const ink = colour("--quiet"), line = colour("--line"), brass = colour("--brass"), wash = colour("--wash");
  const axis = { stroke: ink, grid: { stroke: line, width: 1, show: true }, ticks: { show: false }, font: "13px system-ui" };
  const series = [{ label: plain.x_name, value: (u, v) => (v === null || v === undefined ? "" : String(Number(v.toPrecision(3)))) }], bands = [];
  for (const s of plain.series) {
    const at = series.length;
    series.push({ label: s.name, stroke: s.chosen ? brass : ink, width: s.chosen ? 3 : 1, alpha: s.chosen ? 1 : 0.6,
      points: { show: s.low !== null, size: 8, fill: brass }, value: shown });
    if (s.low) {
      series.push(edge("low"), edge("high"));
      bands.push({ series: [at + 2, at + 1], fill: wash });
    }
  }
  if (plain.diagonal) series.push({ label: "as predicted", stroke: ink, dash: [4, 4], points: { show: false }, value: shown });
  const draw = (u) => {
    for (const [value, text] of marks || []) {
      const x = u.valToPos(value, "x", true);
      u.ctx.save();
      u.ctx.strokeStyle = brass;
      u.ctx.setLineDash([4, 4]);
      u.ctx.beginPath();
      u.ctx.moveTo(x, u.bbox.top);
      u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
      u.ctx.stroke();
      u.ctx.fillStyle = ink;
      u.ctx.font = 13 * devicePixelRatio + "px system-ui";
      u.ctx.fillText(text, x + 5 * devicePixelRatio, u.bbox.top + 14 * devicePixelRatio);
      u.ctx.restore();
    }
  };
  return { width, height: Math.max(240, Math.min(320, width * 0.5)), series, bands, hooks: { draw: [draw] },
    scales: { x: { time: false, distr: plain.log ? 3 : 1, range: (u, low, high) => [low, high] }, y: { range: (u, low, high) => [plain.zero ? Math.min(0, low) : low, plain.top === null ? high * 1.05 || 1 : plain.top] } },
    axes: [{ ...axis, grid: { show: false }, ...(plain.x_ticks ? { splits: () => plain.x_ticks } : {}), filter: (u, values) => values, values: apart }, { ...axis, size: 56 }],
    cursor: { drag: { x: false, y: false } }, legend: { live: true } };
}

function columns(plain) {
  const found = [plain.x];
  for (const s of plain.series) {
    found.push(s.y);
    if (s.low) found.push(s.low, s.high);
  }
  if (plain.diagonal) found.push(plain.x);
  return found;
}

function draw(name, plain, marks) {
  const place = document.querySelector('[data-chart="' + name + '"]');
  if (!place || !plain || typeof uPlot === "undefined") return;
  if (charts[name]) charts[name].destroy();
  place.replaceChildren();
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", plain.y_name + " by " + plain.x_name + "; the table below holds the values");
  charts[name] = new uPlot(options(plain, Math.max(200, place.clientWidth), marks), columns(plain), place);
  charts[name].steelyard = [plain, marks];
}

function curve(prices, abstain, capacity, chosen) {
  const plain = embedded.charts.what_if_chart;
  if (!plain) return;
  const p = data.positive, now = prices[p][1 - p];
  const series = plain.series.map((s, j) => ({ ...s, chosen: j === chosen, y: [] }));
  for (const x of plain.x) {
    const asked = prices.map((row) => row.slice());
    asked[p][1 - p] = x;
    data.entries.forEach((e, j) => series[j].y.push(priced(e, asked, data.rows, abstain, capacity, p).mean));
  }
  const mark = now >= plain.x[0] && now <= plain.x[plain.x.length - 1] ? [[now, "now"]] : [];
  const learned = series.filter((s, j) => data.entries[j].answers === undefined);
  const highest = Math.max(...(learned.length ? learned : series).flatMap((s) => s.y));
  draw("what_if_chart", { ...plain, series, top: highest > 0 ? 1.5 * highest : null }, mark);
}

function redraw() {
  for (const [name, chart] of Object.entries(charts)) draw(name, ...chart.steelyard);
}

// -- begin ----------------------------------------------------------------------------------------------------------

for (const name of ["calibration", "learning"]) draw(name, embedded.charts[name]);
byId("print").hidden = false;
byId("print").addEventListener("click", () => window.print());
if (data) {
  for (const id of ["levers", "ranking", "live-confusion"]) byId(id).hidden = false;
  const sent = recall();
  byId("levers").addEventListener("submit", (event) => event.preventDefault());
  byId("levers").addEventListener("input", (event) => (event.target.id === "ratio" ? moved() : show()));
  byId("levers").addEventListener("reset", () => setTimeout(show, 0));
  byId("levers").addEventListener("keydown", (event) => { if (event.key === "Escape") byId("levers").reset(); });
  window.addEventListener("hashchange", () => { if (recall()) byId("what-if").scrollIntoView(); show(); });
  show();
  if (sent) byId("what-if").scrollIntoView(); // the first screen is of the given prices
}
let waiting = 0;
window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redraw, 100); });
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();
