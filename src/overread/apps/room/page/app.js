// The page's frame: entrance, screens, and the permanent header.

import { AdjudicationList, AdjudicationScreen } from "./adjudication.js";
import { Refused, Unreachable, get, send, useToken } from "./api.js";
import { html } from "./dom.js";
import { icon } from "./icons.js";
import { Loader } from "./loader.js";
import { OwnerScreen } from "./owner.js";
import { Queue } from "./queue.js";
import { ReadingScreen } from "./reading.js";
import { WorklistScreen } from "./worklist.js";

const CHIPS = { training: "training", second: "with the detector" };
const HOMES = { reader: "#/", chair: "#/adjudicate", owner: "#/owner" };

// How long a message stays; by judgement.
const TOAST_MS = 6000;

const BAD_LINK = "This link is not valid. It may have been revoked or copied incompletely. "
  + "Ask the owner of the study for a new one.";
const NO_LINK = "Open the personal link that the owner of the study gave you. "
  + "If you have worked here before, your marks are kept.";

class App {
  constructor() {
    this.loader = new Loader();
    this.worklist = [];
    this.main = document.getElementById("screen");
    this.place = document.getElementById("place");
    this.saved = document.getElementById("saved");
    document.getElementById("home").addEventListener("click", () => this.go(this.home));
    document.getElementById("help").addEventListener("click", () => this.screen?.help?.());
    document.getElementById("home").append(icon("list"));
    document.getElementById("help").append(icon("help"));
  }

  async start() {
    const secret = /^#s=(.+)$/.exec(location.hash)?.[1];
    try {
      if (secret) {
        await send("POST", "enter", { secret });
        // The secret is removed from the address bar and the history.
        history.replaceState(null, "", location.pathname + location.search);
      }
      this.me = await get("me");
    } catch (error) {
      this.turnAway(error);
      return;
    }
    useToken(this.me.csrf);
    this.queue = await Queue.open(personOf(this.me), () => this.renew());
    this.queue.addEventListener("state", () => this.tellSaved());
    this.tellSaved();
    document.getElementById("who").textContent = this.me.name;
    document.title = `${this.me.study} – reading room`;
    addEventListener("hashchange", () => this.route());
    addEventListener("beforeunload", (event) => {
      if (!this.queue.durable && this.queue.state.pending) event.preventDefault();
    });
    // Pending changes of an earlier visit are sent before anything is shown.
    await this.queue.settle();
    await this.route();
  }

  /** Whether this browser's session is still the same person's; a newer session of theirs is adopted. */
  async renew() {
    const now = await get("me").catch(() => null);
    if (!now || personOf(now) !== personOf(this.me)) return false;
    useToken(now.csrf);
    return true;
  }

  get home() {
    return HOMES[this.me.role] ?? "#/";
  }

  go(hash) {
    if (location.hash === hash) this.route();
    else location.hash = hash;
  }

  async route() {
    const [, kind, name] = (location.hash || this.home).split("/");
    const id = name && encodeURIComponent(name); // it becomes part of addresses
    this.screen?.close();
    const screen = (this.screen = this.make(kind, id));
    this.main.replaceChildren(screen.element);
    this.tellPlace(kind, id);
    try {
      await screen.start();
    } catch (error) {
      if (this.screen === screen) this.fail(error);
      return;
    }
    if (this.screen === screen) this.tellPlace(kind, id);
  }

  make(kind, id) {
    if (kind === "read") return new ReadingScreen(this, id);
    if (kind === "adjudicate") return id ? new AdjudicationScreen(this, id) : new AdjudicationList(this);
    if (kind === "owner" || this.me.role === "owner") return new OwnerScreen(this);
    return this.me.role === "chair" ? new AdjudicationList(this) : new WorklistScreen(this);
  }

  async fetchWorklist() {
    try {
      await this.queue.settle();
      this.worklist = await get("worklist");
      const ending = await this.queue.ending();
      for (const row of this.worklist) if (ending.has(row.item)) row.state = "done";
    } catch (error) {
      if (!(error instanceof Unreachable && this.worklist.length)) throw error;
    }
  }

  async fetchObjects() {
    await this.queue.settle();
    const ending = await this.queue.ending();
    this.objects = (await get("adjudication")).map((row) => (ending.has(row.object) ? { ...row, state: "done" } : row));
  }

  tellPlace(kind, id) {
    const rows = kind === "read" ? this.worklist : kind === "adjudicate" ? this.objects ?? [] : [];
    const row = rows.find((one) => (one.item ?? one.object) === id);
    const of = kind === "read" ? "Image" : "Object";
    const words = row ? `${of} ${row.position} of ${rows.length}` : this.me.study;
    const chip = CHIPS[row?.kind] ? html("span", { class: "chip" }, CHIPS[row.kind]) : "";
    this.place.replaceChildren(words, chip);
    document.getElementById("help").hidden = !this.screen.help;
    // There is no list yet if an image was opened by its address.
    if (kind === "read" && !rows.length) {
      this.fetchWorklist().then(() => { if (this.worklist.length) this.tellPlace(kind, id); }).catch(() => {});
    }
  }

  /** Whether an item belongs to the second session, with the detector's marks. */
  isSecond(id) {
    return this.worklist.find(({ item }) => item === id)?.kind === "second";
  }

  /** First unfinished item after the given one, else the first unfinished item. */
  after(id) {
    const at = this.worklist.findIndex(({ item }) => item === id);
    const open = (row) => row.state !== "done" && row.item !== id;
    return this.worklist.slice(at + 1).find(open) ?? this.worklist.find(open) ?? null;
  }

  /** From a finished item to the next open one, or to the list. */
  goOn(id) {
    const row = this.worklist.find(({ item }) => item === id);
    if (row) row.state = "done";
    const next = this.after(id);
    this.go(next ? `#/read/${next.item}` : "#/");
  }

  /** The neighbour in the list, finished or not. */
  step(id, by) {
    const at = this.worklist.findIndex(({ item }) => item === id), row = this.worklist[at + by];
    if (row) this.go(`#/read/${row.item}`);
    else this.toast(by > 0 ? "This is the last image." : "This is the first image.");
  }

  tellSaved() {
    const { pending, online, ended, durable } = this.queue.state;
    const changes = `${pending} ${pending === 1 ? "change" : "changes"}`;
    const where = durable ? "kept in this browser" : "only in this window: do not close it";
    const [kind, words] = ended ? ["bad", "Session ended. Open your personal link again. Your changes are kept here."]
      : !online ? ["bad", `Offline – ${changes} ${where}`]
        : pending ? ["busy", `Saving ${changes}`] : ["good", "All saved"];
    if (this.saved.textContent !== words) this.saved.textContent = words;
    this.saved.className = kind;
    this.saved.dataset.pending = String(pending);
  }

  toast(words, kind = "") {
    const toast = html("div", { class: `toast ${kind}`, role: "alert" }, words);
    document.getElementById("toasts").replaceChildren(toast);
    setTimeout(() => toast.remove(), TOAST_MS);
  }

  fail(error) {
    const again = html("button", { class: "main", onclick: () => this.route() }, "Try again");
    const list = html("button", { onclick: () => this.go(this.home) }, "Back");
    if (error instanceof Refused && error.status === 401) {
      this.turnAway(error);
      return;
    }
    const words = error instanceof Unreachable
      ? "No connection to the server. Your marks are kept in this browser." : error.message;
    this.main.replaceChildren(notice("This page cannot be shown now", words, again, list));
    if (error instanceof Unreachable) setTimeout(() => { if (again.isConnected) this.route(); }, 3000);
  }

  turnAway(error) {
    const gone = error instanceof Unreachable;
    const linkFailed = location.hash.startsWith("#s=");
    const words = gone ? "The server does not answer. Is it running?" : linkFailed ? BAD_LINK : NO_LINK;
    const again = gone ? html("button", { class: "main", onclick: () => location.reload() }, "Try again") : "";
    this.main.replaceChildren(notice(gone ? "No connection" : "Reading room", words, again));
  }
}

function notice(title, words, ...buttons) {
  return html("main", { class: "page failed" }, html("h1", {}, title), html("p", { class: "lead" }, words), buttons);
}

function personOf({ study, role, name }) {
  return JSON.stringify([location.pathname, study, role, name]);
}

const app = new App();
addEventListener("hashchange", () => { if (location.hash.startsWith("#s=")) location.reload(); });
app.start();
