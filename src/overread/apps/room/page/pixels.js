// Stored pixel values from the server, with halved copies for small views. Nothing is reduced to 8 bits.

/** Values of one picture: `channels` numbers per pixel (1: uint16, 4: uint8 with an unused last), level 0 first. */
export class Pixels {
  constructor(buffer, { width, height, channels }) {
    const size = width * height;
    const expected = channels === 3 ? 3 * size : 2 * size;
    if (buffer.byteLength !== expected) {
      throw new Error(`the picture has ${buffer.byteLength} bytes where ${expected} were expected`);
    }
    this.width = width;
    this.height = height;
    this.channels = channels === 3 ? 4 : 1;
    // Values are little-endian, like all machines that run a browser.
    const data = channels === 3 ? withFourthChannel(new Uint8Array(buffer), size) : new Uint16Array(buffer);
    this.levels = [{ width, height, data }];
  }

  /** Level whose pixels are 2^k pixels wide; made when first asked for, never smaller than one pixel. */
  level(k) {
    while (this.levels.length <= k) {
      const last = this.levels.at(-1);
      if (last.width === 1 && last.height === 1) break;
      this.levels.push(halved(last, this.channels));
    }
    const index = Math.min(k, this.levels.length - 1);
    return { ...this.levels[index], index };
  }

  /** Value at a pixel, or null outside; an array of three for colour. */
  at(column, row) {
    if (column < 0 || row < 0 || column >= this.width || row >= this.height) return null;
    const place = (row * this.width + column) * this.channels, { data } = this.levels[0];
    return this.channels === 1 ? data[place] : [...data.subarray(place, place + 3)];
  }
}

function withFourthChannel(data, size) {
  const wide = new Uint8Array(4 * size);
  for (let i = 0; i < size; i++) {
    wide[4 * i] = data[3 * i];
    wide[4 * i + 1] = data[3 * i + 1];
    wide[4 * i + 2] = data[3 * i + 2];
  }
  return wide;
}

// Means of 2 x 2 pixels. Pixel i of the half covers pixels 2i and 2i + 1, the last one alone where the size is odd.
function halved({ width, height, data }, channels) {
  const w = (width + 1) >> 1, h = (height + 1) >> 1;
  const half = new data.constructor(w * h * channels);
  for (let row = 0; row < h; row++) {
    const top = 2 * row * width * channels;
    const bottom = Math.min(2 * row + 1, height - 1) * width * channels;
    for (let column = 0; column < w; column++) {
      const left = 2 * column * channels, right = Math.min(2 * column + 1, width - 1) * channels;
      const to = (row * w + column) * channels;
      for (let c = 0; c < channels; c++) {
        half[to + c] = (data[top + left + c] + data[top + right + c] + data[bottom + left + c]
          + data[bottom + right + c] + 2) >> 2;
      }
    }
  }
  return { width: w, height: h, data: half };
}
