// Answers that the service has not confirmed yet. Each holds item, label and key, never the row; it belongs to one
// person and one log, and stays in this browser until its 200. Sent in order, one at a time, by one tab at a time.
import { Refused, send } from "./session.js";

const STORE = "entries";
const LONGEST_WAIT = 30000;
export const PATIENCE = 20000; // for one answer of the service; it is asked again under the same key

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

// Once it is on the disk: a page that is left before that loses it.
const whole = (transaction) => new Promise((resolve, reject) => {
  transaction.oncomplete = resolve;
  transaction.onabort = () => reject(transaction.error);
});

export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Outbox extends EventTarget {
  constructor({ project, log, person }) {
    super();
    Object.assign(this, { path: `/v1/${project}`, log, person, waiting: [], trouble: "", failures: 0, numbers: new Map() });
    addEventListener("online", () => this.flush());
    // Other tabs of the same person, which may send what was pressed here, and must not ask it again.
    this.others = new BroadcastChannel(`steelyard-outbox ${this.log} ${this.person}`);
    this.others.addEventListener("message", ({ data: { kind, detail } }) => {
      if (kind === "saved") this.numbers.set(detail.entry.item, detail.said.answer);
      if (this.database) this.read();
      this.say(kind, detail);
    });
  }

  async open() {
    const request = indexedDB.open("steelyard-outbox", 1);
    request.onupgradeneeded = () => {
      const store = request.result.createObjectStore(STORE, { keyPath: "n", autoIncrement: true });
      store.createIndex("owner", ["log", "person"]);
    };
    this.database = await done(request);
    await this.read();
    this.flush();
  }

  store(mode = "readwrite") {
    return this.database.transaction(STORE, mode, { durability: "strict" }).objectStore(STORE);
  }

  async read() {
    this.waiting = await done(this.store("readonly").index("owner").getAll([this.log, this.person]));
    this.say("changed");
  }

  say(kind, detail = {}) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }

  // The same in every tab of this person.
  tell(kind, detail) {
    this.others.postMessage({ kind, detail });
    this.say(kind, detail);
  }

  // How many answers outlast this page.
  get kept() {
    return this.waiting.filter((entry) => entry.n).length;
  }

  // What is waiting to be answered must not be asked again.
  holds(item) {
    return this.waiting.some((entry) => entry.item === item && entry.kind === "answer");
  }

  async add(entry, store = this.store()) {
    const made = { key: newKey(), log: this.log, person: this.person, tried: false, ...entry };
    this.waiting.push(made);
    this.say("changed");
    try {
      [made.n] = await Promise.all([done(store.add({ ...made })), whole(store.transaction)]);
    } catch (error) {
      this.waiting = this.waiting.filter((other) => other !== made);
      throw error;
    }
    this.say("changed");
    this.flush();
    return made;
  }

  answer(item, label, seconds) {
    this.others.postMessage({ kind: "elsewhere", detail: { item } });
    return this.add({ kind: "answer", item, label, seconds });
  }

  // Take an answer back: one that was never sent just goes; else the service is asked, after the answer itself.
  async undo(item, answer = null) {
    const store = this.store();
    const all = await done(store.index("owner").getAll([this.log, this.person]));
    const last = all.filter((entry) => entry.item === item && entry.kind === "answer").pop();
    if (last && !last.tried) {
      await done(store.delete(last.n));
      return this.read();
    }
    // In this transaction: one of its own would come behind an answer that was given anew in the meantime.
    await this.add({ kind: "retract", item, answer: answer || this.numbers.get(item) || null }, store);
  }

  async flush() {
    if (!this.database || this.stopped) return;
    this.again = true; // what is added while the last one ends must not be left behind
    if (this.flushing) return;
    this.flushing = true;
    clearTimeout(this.timer);
    const work = async () => {
      while (this.again) {
        this.again = false;
        await this.read();
        while (this.waiting.length && (await this.sendFirst(this.waiting[0]))) await this.read();
      }
    };
    try {
      if (navigator.locks) await navigator.locks.request(`steelyard-outbox ${this.log} ${this.person}`, work);
      else await work();
    } finally {
      this.flushing = false;
      this.say("changed");
    }
    if ((this.waiting.length || this.again) && !this.stopped) {
      const pause = this.failures ? Math.min(LONGEST_WAIT, 500 * 2 ** this.failures) : 0;
      this.timer = setTimeout(() => this.flush(), pause * (0.5 + Math.random()));
    }
  }

  // Whether to go on with the next one.
  async sendFirst(entry) {
    if (!entry.tried) {
      const store = this.store();
      const kept = await done(store.get(entry.n));
      if (!kept) return true; // taken back a moment ago
      await done(store.put({ ...kept, tried: true }));
    }
    try {
      const reply = await this.post(entry);
      this.failures = 0;
      this.trouble = "";
      await this.settle(entry, reply);
    } catch (error) {
      if (!(error instanceof Refused) || [429, 502, 503, 504, 507].includes(error.status)) return this.later(error);
      if ([401, 403, 404, 421].includes(error.status)) return this.stop(error);
      await this.refused(entry, error);
    }
    return true;
  }

  later(error) {
    this.failures += 1;
    this.trouble = error instanceof Refused ? "the service is busy" : "sending when online";
    return false;
  }

  // The session has ended, or the role was taken: nothing is lost, somebody has to log in.
  stop(error) {
    this.stopped = true;
    this.trouble = "";
    this.say("stopped", { error });
    return false;
  }

  post(entry) {
    const key = { "Idempotency-Key": entry.key };
    if (entry.kind === "retract") {
      const answer = entry.answer || this.numbers.get(entry.item);
      if (!answer) throw new Refused(409, { message: "the answer it takes back was not saved." });
      return send("POST", `${this.path}/answers/${answer}/retract`, undefined, key, PATIENCE);
    }
    const { item, label, seconds } = entry;
    return send("POST", `${this.path}/answers`, [{ item, label, seconds }], key, PATIENCE);
  }

  // Confirmed: it may go. What takes it back learns the number of the answer in the same step.
  async settle(entry, reply) {
    const said = entry.kind === "answer" ? reply.answers[0] : reply;
    if (entry.kind === "answer") this.numbers.set(entry.item, said.answer);
    const store = this.store();
    if (entry.kind === "answer") {
      const all = await done(store.index("owner").getAll([this.log, this.person]));
      const back = all.find((other) => other.kind === "retract" && other.item === entry.item && other.n > entry.n);
      if (back && !back.answer) store.put({ ...back, answer: said.answer });
    }
    await done(store.delete(entry.n));
    this.waiting = this.waiting.filter((other) => other.n !== entry.n);
    this.tell(entry.kind === "answer" ? "saved" : "retracted", { entry, said });
  }

  // Refused for good: said, then gone, with what waited to take it back or to answer again.
  async refused(entry, error) {
    const store = this.store();
    const all = await done(store.index("owner").getAll([this.log, this.person]));
    for (const other of all) if (other.item === entry.item && other.n >= entry.n) await done(store.delete(other.n));
    this.others.postMessage({ kind: "changed", detail: {} });
    this.say("refused", { entry, error });
  }
}
