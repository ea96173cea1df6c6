// Opens pages in Chromium and says what they show. Reads tasks as JSON from standard input, answers with JSON.
// A task: {file, hash, then: [hash], width, scheme, script, set: {id: value}, style: [selector], pdf}.
const { chromium } = require("playwright-core");

const SHOWN = ["out-cost", "out-error", "out-total", "out-alarms", "out-threshold", "out-referred", "out-next", "verdict"];

async function observe(page, task) {
  return page.evaluate(([shown, styles]) => {
    const text = (e) => (e === null ? null : e.textContent.trim());
    const table = (id) => [...document.querySelectorAll(`#${id} tbody tr`)].map((r) => [...r.cells].map((c) => [...c.childNodes].map((n) => n.textContent.trim()).filter(Boolean)));
    const all = [...document.querySelectorAll("input:not([disabled]), button, a[href], summary")];
    return {
      title: document.title,
      texts: Object.fromEntries(shown.map((id) => [id, text(document.getElementById(id))])),
      ranking: table("ranking"),
      confusion: table("live-confusion"),
      body: document.body.innerText,
      wide: document.documentElement.scrollWidth,
      hash: location.hash,
      levers: document.getElementById("what-if") && Math.round(document.getElementById("what-if").getBoundingClientRect().top),
      plots: document.querySelectorAll(".uplot canvas").length,
      drawings: document.querySelectorAll("svg.chart").length,
      images: document.querySelectorAll("img").length,
      unlabelled: [...document.querySelectorAll("input")].filter((e) => !e.labels.length && !e.getAttribute("aria-label")).length,
      small: all.filter((e) => e.matches("input, button") && e.offsetParent && e.getBoundingClientRect().height < 44).map((e) => e.id),
      styles: Object.fromEntries(styles.map((s) => {
        const e = document.querySelector(s);
        return [s, e === null ? null : Object.fromEntries([...getComputedStyle(e)].map((n) => [n, getComputedStyle(e)[n]]))];
      })),
    };
  }, [SHOWN, task.style || []]);
}

async function run(browser, task) {
  const context = await browser.newContext({
    viewport: { width: task.width || 1200, height: task.width === 390 ? 844 : 900 },
    colorScheme: task.scheme || "light",
    javaScriptEnabled: task.script !== false,
  });
  const page = await context.newPage();
  const said = [], asked = [];
  page.on("console", (m) => said.push(m.text()));
  page.on("pageerror", (e) => said.push(e.message));
  page.on("dialog", (d) => { said.push("dialog " + d.message()); d.dismiss(); });
  page.on("request", (r) => { if (!/^(file|data):/.test(r.url())) asked.push(r.url()); });
  await page.goto("file://" + task.file + (task.hash || ""));
  for (const hash of task.then || []) await page.evaluate((h) => new Promise((done) => { addEventListener("hashchange", done, { once: true }); location.hash = h; }), hash);
  for (const [id, value] of Object.entries(task.set || {})) {
    if (id === "ratio") await page.$eval("#ratio", (e, v) => { e.value = v; e.dispatchEvent(new Event("input", { bubbles: true })); }, value);
    else await page.fill("#" + id, value);
  }
  for (const key of task.keys || []) await page.keyboard.press(key);
  if (task.reset) await page.click("#given-prices");
  await page.waitForTimeout(50);
  const focus = await page.evaluate(() => document.activeElement.id || document.activeElement.tagName).catch(() => null);
  const found = { ...(await observe(page, task).catch(() => null)), said, asked, focus };
  if (task.pdf) found.pages = ((await page.pdf({ format: "A4" })).toString("latin1").match(/\/Type\s*\/Page[^s]/g) || []).length;
  if (task.picture) await page.screenshot({ path: task.picture, fullPage: task.whole === true });
  await context.close();
  return found;
}

(async () => {
  const tasks = JSON.parse(require("fs").readFileSync(0, "utf8"));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  const found = [];
  for (const task of tasks) found.push(await run(browser, task));
  await browser.close();
  process.stdout.write(JSON.stringify(found));
})();
