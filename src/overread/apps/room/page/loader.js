// Items and their pictures, the next one before it is asked for.

import { Unreachable, get, getPixels } from "./api.js";
import { Pixels } from "./pixels.js";

// Pictures kept in memory: the one on the stage, the next and the last; 16 bits of 4000 x 4000 take 32 MB each.
const MOST_PICTURES = 3;

export class Loader {
  constructor() {
    this.items = new Map();
    this.pictures = new Map();
  }

  /** An item as the server has it, with its picture; as it was last seen where the server does not answer. */
  async open(id, ahead = false) {
    const item = await this.item(id, ahead);
    return { item, pixels: await this.picture(`items/${id}`, item) };
  }

  /** An item as the server has it now; `ahead` tells the server that nobody looks at it yet. */
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

  /** Brings an item and its picture, without a word where that fails. */
  preload(id) {
    this.open(id, true).then(({ pixels }) => pixels.level(2)).catch(() => {});
  }

  picture(path, shape) {
    if (!this.pictures.has(path)) {
      const coming = getPixels(`${path}/pixels`).then((buffer) => new Pixels(buffer, shape));
      coming.catch(() => this.pictures.delete(path));
      this.pictures.set(path, coming);
    } else {
      // To the end: what was used last goes last.
      const known = this.pictures.get(path);
      this.pictures.delete(path);
      this.pictures.set(path, known);
    }
    while (this.pictures.size > MOST_PICTURES) this.pictures.delete(this.pictures.keys().next().value);
    return this.pictures.get(path);
  }
}
