// Items and their pictures; the next one is loaded ahead.

import { Unreachable, get, getPixels } from "./api.js";
import { Pixels } from "./pixels.js";

// Pictures kept in memory: the one on the stage, the next and the last; 16 bits of 4000 x 4000 take 32 MB each.
const MOST_PICTURES = 3;

export class Loader {
  constructor() {
    this.items = new Map();
    this.pictures = new Map();
  }

  /** An item from the server with its picture; the last known state if the server does not answer. */
  async open(id, ahead = false) {
    const item = await this.item(id, ahead);
    return { item, pixels: await this.picture(`items/${id}`, item) };
  }

  /** An item from the server; `ahead` marks a prefetch that does not open it. */
  async item(id, ahead = false) {
    try {
      const item = await get(`items/${id}${ahead ? "?ahead=1" : ""}`);
      this.items.set(id, item);
      return item;
    } catch (error) {
      if (error instanceof Unreachable && this.items.has(id)) return this.items.get(id);
      throw error;
    }
  }

  /** Prefetches an item and its picture; failures are ignored. */
  preload(id) {
    this.open(id, true).then(({ pixels }) => pixels.level(2)).catch(() => {});
  }

  picture(path, shape) {
    if (!this.pictures.has(path)) {
      const coming = getPixels(`${path}/pixels`).then((buffer) => new Pixels(buffer, shape));
      coming.catch(() => this.pictures.delete(path));
      this.pictures.set(path, coming);
    } else {
      // To the end, so that the most recent is dropped last.
      const known = this.pictures.get(path);
      this.pictures.delete(path);
      this.pictures.set(path, known);
    }
    while (this.pictures.size > MOST_PICTURES) this.pictures.delete(this.pictures.keys().next().value);
    return this.pictures.get(path);
  }
}
