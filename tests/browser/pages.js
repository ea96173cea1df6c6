// Visits pages of the service in Chromium, step by step. Reads {url, visits} as JSON from standard input and answers
// with what each visit saw. A visit: {code, width, height, scheme, script, steps}; a step: [name, ...arguments], where
// "tab" goes on in another tab of the same browser, which is opened if it is new.
const fs = require("fs");
const { chromium } = require("playwright-core");

const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

async function axe(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ") + " " + (n.any[0] ? n.any[0].message : "")).join(" | ")}`);
}

// Asked again and again from outside: inside, the page's policy forbids to evaluate a string.
async function until(page, expression, seconds = 60) {
  const end = Date.now() + 1000 * seconds;
  while (!(await page.evaluate(expression).catch((error) => /navigation|destroyed/.test(error.message) ? false : Promise.reject(error)))) {
    if (Date.now() > end) throw new Error(`not true within ${seconds} s: ${expression}`);
    await page.waitForTimeout(50);
  }
}

const STEPS = {
  goto: (page, url, path) => page.goto(url + path),
  press: (page, _, key) => page.keyboard.press(key),
  type: (page, _, text) => page.keyboard.type(text),
  click: (page, _, selector) => page.click(selector),
  fill: (page, _, selector, text) => page.fill(selector, text),
  choose: (page, _, selector, value) => page.selectOption(selector, value),
  upload: (page, _, selector, file) => page.setInputFiles(selector, file),
  wait: (page, _, expression) => until(page, expression),
  offline: (page, _, off) => page.context().setOffline(off),
  reload: (page) => page.reload(),
  eval: (page, _, expression) => page.evaluate(expression),
  axe: (page) => axe(page),
  shot: (page, _, file, whole) => page.screenshot({ path: file, fullPage: whole === true }),
};

async function run(browser, url, visit) {
  const context = await browser.newContext({
    viewport: { width: visit.width || 1200, height: visit.height || (visit.width && visit.width < 500 ? 844 : 900) },
    colorScheme: visit.scheme || "light",
    javaScriptEnabled: visit.script !== false,
  });
  await context.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (e) => window.violations.push(`${e.violatedDirective} ${e.blockedURI}`));
  });
  const said = [], foreign = [], results = [], tabs = [];
  const open = async () => {
    const opened = await context.newPage();
    opened.on("console", (m) => { if (!/status of (4|5)\d\d|ERR_INTERNET_DISCONNECTED/.test(m.text())) said.push(m.text()); });
    opened.on("pageerror", (e) => said.push(String(e.stack || e.message)));
    opened.on("dialog", (d) => { said.push("dialog " + d.message()); d.dismiss(); });
    opened.on("request", (r) => { if (!r.url().startsWith(url + "/") && !r.url().startsWith("data:")) foreign.push(r.url()); });
    return opened;
  };
  let page = tabs[0] = await open();
  const violations = [];
  const note = async () => violations.push(...(await page.evaluate(() => window.violations.splice(0)).catch(() => [])));
  if (visit.code) {
    await page.goto(`${url}/login#${visit.code}`);
    await page.waitForURL(url + "/");
  }
  for (const [name, ...given] of visit.steps) {
    if (["goto", "reload", "tab"].includes(name)) await note();
    try {
      if (name === "tab") {
        page = tabs[given[0]] ||= await open();
        await page.bringToFront();
        continue;
      }
      const found = await STEPS[name](page, url, ...given);
      results.push(["eval", "axe"].includes(name) ? found : null);
    } catch (error) {
      if (visit.failed) await page.screenshot({ path: visit.failed }).catch(() => null);
      throw new Error(`${name} ${JSON.stringify(given)}: ${error.message}\n${said.join("\n")}\n${await page.evaluate(() => document.body.innerText).catch(() => "")}`);
    }
  }
  await note();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth).catch(() => null);
  await context.close();
  return { results, said, foreign, violations, wide };
}

(async () => {
  const { url, visits } = JSON.parse(fs.readFileSync(0, "utf8"));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  const found = [];
  try {
    for (const visit of visits) found.push(await run(browser, url, visit));
  } finally {
    await browser.close();
  }
  process.stdout.write(JSON.stringify(found));
})().catch((error) => { process.stderr.write(String(error.stack || error)); process.exit(1); });
