// Queue of changes for the server. Each change is written to the browser's store before it is sent and removed after
// the // server has answered, so that a lost connection, a closed lid or a killed server loses nothing. The server
// performs // each id only once, so that sending it again changes nothing.

import { Refused, Unreachable, get, send } from "./api.js";
import { uuid } from "./dom.js";

// Seconds between attempts without an answer: short at first, then every few seconds; by judgement.
const WAITS = [0.5, 1, 2, 4];

// How long a screen waits for pending changes before it asks the server for the state; by judgement.
const SETTLE_MS = 1500;

// Times that a change is sent again after the server said that the item changed elsewhere.
const MOST_REBASES = 8;

function request(action) {
  return new Promise((resolve, reject) => {
    action.onsuccess = () => resolve(action.result);
    action.onerror = () => reject(action.error);
  });
}

/** Rows in IndexedDB in their order; in memory if the browser has none or no space left. */
class Rows {
  static async open(name) {
    const rows = new Rows();
    rows.memory = [];
    rows.spilled = 0;
    try {
      const opening = indexedDB.open(name, 1);
      opening.onupgradeneeded = () => {
        opening.result.createObjectStore("ops", { keyPath: "place", autoIncrement: true });
      };
      rows.base = await request(opening);
    } catch {
      rows.base = null; // some browsers' private windows
    }
    return rows;
  }

  /** Whether all rows survive the page. */
  get durable() {
    return this.base !== null && !this.memory.length;
  }

  store(mode) {
    return this.base.transaction("ops", mode, { durability: "strict" }).objectStore("ops");
  }

  async add(row) {
    try {
      await this.write(row);
    } catch {
      this.spilled += 1;
      this.memory.push({ ...row, place: -this.spilled });
    }
  }

  write(row) {
    const store = this.store("readwrite"), { transaction } = store;
    store.add(row);
    // Committed at once, because the page may be closing.
    transaction.commit?.();
    return new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
  }

  async all() {
    const kept = this.base ? await request(this.store("readonly").getAll()) : [];
    return [...kept, ...this.memory];
  }

  async remove(place) {
    if (place > 0) await request(this.store("readwrite").delete(place));
    else this.memory = this.memory.filter((row) => row.place !== place);
  }
}

export class Queue extends EventTarget {
  /**
   * Queue of one person; what another person left in this browser stays for them. `renew` says whether the browser's
   * session is still that person's.
   */
  static async open(person, renew) {
    const queue = new Queue();
    queue.person = person;
    queue.renew = renew;
    queue.rows = await Rows.open("overread reading room");
    queue.versions = new Map();
    queue.writing = 0;
    queue.online = true;
    queue.ended = false;
    queue.tries = 0;
    queue.channel = new BroadcastChannel("overread reading room");
    queue.channel.onmessage = ({ data }) => queue.hear(data);
    addEventListener("online", () => queue.flush());
    await queue.count();
    return queue;
  }

  get durable() {
    return this.rows.durable;
  }

  /** State: number of pending changes, whether the server answers, whether the session has ended. */
  get state() {
    return { pending: this.waiting + this.writing, online: this.online, ended: this.ended, durable: this.durable };
  }

  /**
   * Takes a change. It is safe when the promise resolves, and sent as soon as that is possible. `phase` is the one in
   * which the change was made and counts; null for what counts always.
   */
  async add(item, method, path, body = {}, phase = null) {
    this.writing += 1;
    this.tell("state");
    const row = { person: this.person, item, phase, method, path, body: { op: uuid(), ...body } };
    // Transactions are done in the order in which they begin, and this one begins here, before anything is waited for.
    this.last = this.rows.add(row);
    await this.last;
    this.writing -= 1;
    await this.count();
    this.flush();
    return row.body.op;
  }

  /** Waits a moment for pending changes, so that the server's answers include them. */
  settle() {
    return Promise.race([this.flush(), new Promise((resolve) => setTimeout(resolve, SETTLE_MS))]);
  }

  /** Waits until everything is on the server, as long as it answers. */
  async drain() {
    do await this.settle(); while (this.state.pending && this.state.online && !this.state.ended);
  }

  /** Changes of an item that the server does not have yet. */
  async waitingFor(item) {
    await this.last;
    return (await this.mine()).filter((row) => row.item === item);
  }

  /** Items that end with a change that the server does not have yet. */
  async ending() {
    const last = (await this.mine()).filter(({ path }) => /\/(lock|finish|decision)$/.test(path));
    return new Set(last.map(({ item }) => item));
  }

  async mine() {
    return (await this.rows.all()).filter((row) => row.person === this.person);
  }

  async count() {
    this.waiting = (await this.mine()).length;
    this.tell("state");
  }

  /** Sends all that waits, in order; one run at a time in this tab. Other tabs may send the same: that is harmless. */
  flush() {
    clearTimeout(this.timer);
    this.running ??= this.run().finally(() => { this.running = null; });
    return this.running;
  }

  async run() {
    for (;;) {
      const [row] = await this.mine();
      if (!row) break;
      if (!(await this.deliver(row))) return;
      await this.rows.remove(row.place);
      await this.count();
    }
    this.reached();
  }

  // True when the row is settled, one way or the other.
  async deliver(row) {
    try {
      const answer = await this.offer(row);
      this.reached();
      if (answer?.version !== undefined) this.versions.set(row.item, answer.version);
      this.tell("answer", { row, answer });
      this.channel.postMessage({ person: this.person, item: row.item });
      return true;
    } catch (error) {
      if (error instanceof Refused && [401, 403].includes(error.status)) return this.shutOut();
      if (error instanceof Refused && error.status !== 429 && error.status < 500) return this.turnedDown(row, error);
      this.later(error instanceof Refused, error.retryAfter);
      return false;
    }
  }

  // The version is the one that is known when the change is sent, not the one when it was made. When the item has
  // moved on meanwhile, say in another tab, the change is offered again: marks have ids of their own, so it adds to
  // what is there. It is given up when the item is in another phase.
  async offer(row) {
    for (let attempt = 0; ; attempt++) {
      // A change without a phase, such as time, fits any version.
      const version = row.phase ? await this.versionOf(row.item) : undefined;
      try {
        return await send(row.method, row.path, { ...row.body, version });
      } catch (error) {
        const state = error instanceof Refused && error.status === 409 ? error.body?.item : null;
        if (!state || attempt >= MOST_REBASES) throw error;
        this.versions.set(row.item, state.version);
        this.tell("moved", { item: row.item, state });
        if (state.version === version || state.phase !== row.phase) throw error;
      }
    }
  }

  async versionOf(item) {
    if (!this.versions.has(item)) {
      const state = await get(`items/${item}`).catch((error) => {
        if (error instanceof Unreachable) throw error;
        return {};
      });
      this.versions.set(item, state.version);
    }
    return this.versions.get(item);
  }

  turnedDown(row, error) {
    this.versions.delete(row.item);
    // If the mark to delete does not exist, the deletion is done.
    if (row.method !== "DELETE" || error.status !== 404) this.tell("refused", { row, error });
    return true;
  }

  // The session is over, or another one was begun in this browser. If it is the same person's, it serves as well;
  // if not, what waits is kept until the person comes in again.
  async shutOut() {
    this.ended = !(await this.renew());
    this.later(true);
    return false;
  }

  reached() {
    this.online = true;
    this.ended = false;
    this.tries = 0;
    this.tell("state");
  }

  later(online, wait = null) {
    this.online = online;
    this.tries += 1;
    this.tell("state");
    const seconds = wait ?? WAITS[Math.min(this.tries, WAITS.length) - 1];
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), 1000 * seconds);
  }

  // Another tab has sent something.
  async hear({ person, item }) {
    if (person !== this.person) return;
    this.versions.delete(item);
    await this.count();
    this.tell("elsewhere", { item });
  }

  tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
