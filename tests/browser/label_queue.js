// Several people label one queue, each in a browser of their own: they answer, skip, undo, go offline and reload.
// Reads {url, project, codes, goal, seed} as JSON and answers with what each page took for saved, and what was pressed.
const fs = require("fs");
const { chromium } = require("playwright-core");

function random(seed) { // mulberry32
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function watch() {
  const say = EventTarget.prototype.dispatchEvent;
  EventTarget.prototype.dispatchEvent = function (event) {
    if (event instanceof CustomEvent && ["saved", "retracted", "refused"].includes(event.type)) {
      const { entry, said, error } = event.detail;
      window.note({ kind: event.type, item: entry.item, label: entry.label, entry: entry.kind, answer: said && said.answer, code: error && error.code });
    }
    return say.call(this, event);
  };
  const add = IDBObjectStore.prototype.add;
  IDBObjectStore.prototype.add = function (entry) {
    window.note({ kind: "kept", item: entry.item, label: entry.label, entry: entry.kind, fields: Object.keys(entry).sort() });
    return add.call(this, entry);
  };
}

async function person(browser, { url, project, goal }, code, draw, shared) {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  const notes = [], said = [];
  await context.exposeBinding("note", (_, one) => {
    notes.push(one);
    if (one.kind === "saved") shared.saved += 1;
  });
  await context.addInitScript(watch);
  const page = await context.newPage();
  page.on("pageerror", (e) => said.push(String(e.stack || e.message)));
  await page.goto(`${url}/login#${code}`);
  await page.waitForURL(url + "/");
  await page.goto(`${url}/p/${project}/label`);
  const state = () => page.evaluate(() => ({
    item: document.getElementById("fields").hidden ? null : document.querySelector("#fields dd").textContent,
    waiting: Number(document.querySelector("[data-waiting]").dataset.waiting),
    undo: document.getElementById("undo").disabled ? null : document.getElementById("undo").textContent,
  }));
  const allSent = () => page.waitForFunction(() => document.querySelector("[data-waiting]").dataset.waiting === "0", null, { timeout: 90000 });
  let idle = 0, back = false;
  while (shared.saved < goal && idle < 40) {
    if (!back && notes.some((one) => one.kind === "saved")) {
      back = true; // the dice below may take back only what was not sent yet
      await allSent();
      const { undo } = await state();
      if (undo) {
        notes.push({ kind: "undone", text: undo });
        await page.keyboard.press("u");
        await allSent();
      }
    }
    const now = await state();
    const roll = draw();
    if (now.item === null) {
      idle += 1;
      await page.waitForTimeout(150);
      continue;
    }
    idle = 0;
    if (roll < 0.02) {
      await context.setOffline(true);
      for (let i = 0; i < 4 && (await state()).item !== null; i += 1) await page.keyboard.press(draw() < 0.3 ? "a" : "x");
      await page.waitForTimeout(100);
      if (draw() < 0.5 && (await state()).undo) {
        notes.push({ kind: "undone", text: (await state()).undo });
        await page.keyboard.press("u");
      }
      await context.setOffline(false);
    } else if (roll < 0.04) await page.reload();
    else if (roll < 0.1 && now.undo) {
      notes.push({ kind: "undone", text: now.undo });
      await page.keyboard.press("u");
    } else if (roll < 0.13) await page.keyboard.press("Space");
    else await page.keyboard.press(draw() < 0.3 ? "a" : "x");
  }
  await context.setOffline(false);
  await allSent();
  await page.waitForTimeout(300);
  const left = await page.evaluate(() => document.querySelector("[data-waiting]").dataset.waiting);
  await context.close();
  return { notes, said, left: Number(left) };
}

(async () => {
  const task = JSON.parse(fs.readFileSync(0, "utf8"));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  const shared = { saved: 0 };
  try {
    const found = await Promise.all(task.codes.map((code, i) => person(browser, task, code, random(task.seed + i), shared)));
    process.stdout.write(JSON.stringify(found));
  } finally {
    await browser.close();
  }
})().catch((error) => { process.stderr.write(String(error.stack || error)); process.exit(1); });
