// Two ways to the screen with one contract: `load(pixels)`, then `draw(view)` onto `canvas`, view being
// {x, y, sx, sy, low, span, invert}: screen position of the image's corner and device pixels per image pixel.

// Largest side of a texture. Every WebGL2 device has 2048; larger ones are used up to this, by judgement: larger //
// textures are one long upload, smaller ones many draws.
const LARGEST_TILE = 4096;

// Pixels that neighbouring tiles share, so that interpolation finds its neighbours: two for a footprint of two.
const SHARED = 2;

const VERTEX = `#version 300 es
in vec2 corner;
uniform vec4 part;    // of the level: left, top, right, bottom
uniform vec4 placed;  // clip coordinates of the level's origin, clip units per level pixel
out vec2 place;
void main() {
  place = mix(part.xy, part.zw, corner);
  gl_Position = vec4(placed.xy + place * placed.zw, 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
uniform usampler2D values;
uniform ivec2 origin;     // level pixel of the texture's first texel
uniform ivec2 limit;      // last pixel of the level
uniform float low, span;  // window
uniform vec2 footprint;   // level pixels under a pixel of the screen
uniform bool invert, colour;
in vec2 place;
out vec4 shade;
vec3 value(ivec2 p) {
  uvec4 texel = texelFetch(values, clamp(p, ivec2(0), limit) - origin, 0);
  return colour ? vec3(texel.rgb) : vec3(texel.r);
}
vec3 between(vec2 p) {
  p -= 0.5;
  ivec2 i = ivec2(floor(p));
  vec2 f = p - vec2(i);
  return mix(mix(value(i), value(i + ivec2(1, 0)), f.x), mix(value(i + ivec2(0, 1)), value(i + ivec2(1)), f.x), f.y);
}
void main() {
  vec2 d = footprint / 4.0, across = vec2(1.0, -1.0);
  vec3 v = max(footprint.x, footprint.y) < 1.01  // one to one is exact
    ? between(place)
    : (between(place + d) + between(place - d) + between(place + d * across) + between(place - d * across)) / 4.0;
  vec3 grey = clamp((v - low) / span, 0.0, 1.0);
  shade = vec4(invert ? 1.0 - grey : grey, 1.0);
}`;

/** Level to read at a scale: the smallest one that still has a pixel for each pixel of the screen. */
function levelAt(scale) {
  return Math.max(0, Math.floor(Math.log2(1 / scale) + 1e-6));
}

/** Renderer on the graphics card: integer textures of the stored values, the window applied in the shader. */
export class WebGLRenderer {
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false });
    if (!this.gl) throw new Error("no WebGL2");
    this.prepare();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.prepare();
      canvas.dispatchEvent(new Event("restored"));
    });
  }

  prepare() {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(gl.getProgramInfoLog(program));
    }
    gl.useProgram(program);
    const names = ["part", "placed", "values", "origin", "limit", "low", "span", "footprint", "invert", "colour"];
    this.uniforms = Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(program, name)]));
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
    const corner = gl.getAttribLocation(program, "corner");
    gl.enableVertexAttribArray(corner);
    gl.vertexAttribPointer(corner, 2, gl.FLOAT, false, 0, 0);
    this.largest = Math.min(LARGEST_TILE, gl.getParameter(gl.MAX_TEXTURE_SIZE) ?? LARGEST_TILE);
    this.tiles = new Map();
  }

  load(pixels) {
    for (const tile of [...this.tiles.values()].flat()) this.gl.deleteTexture(tile.texture);
    this.tiles.clear();
    this.pixels = pixels;
  }

  draw({ x, y, sx, sy, low, span, invert }) {
    const { gl, uniforms, canvas, pixels } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!pixels) return;
    const level = pixels.level(levelAt(Math.min(sx, sy)));
    const wide = 2 ** level.index;
    gl.uniform1f(uniforms.low, low);
    gl.uniform1f(uniforms.span, Math.max(span, 1e-6));
    gl.uniform1i(uniforms.invert, invert ? 1 : 0);
    gl.uniform1i(uniforms.colour, pixels.channels === 4 ? 1 : 0);
    gl.uniform2i(uniforms.limit, level.width - 1, level.height - 1);
    gl.uniform2f(uniforms.footprint, 1 / (sx * wide), 1 / (sy * wide));
    gl.uniform4f(
      uniforms.placed, (2 * x) / canvas.width - 1, 1 - (2 * y) / canvas.height,
      (2 * sx * wide) / canvas.width, (-2 * sy * wide) / canvas.height,
    );
    // A pixel at the odd edge of a level reaches beyond the picture: only the picture is drawn.
    const right = pixels.width / wide, bottom = pixels.height / wide;
    for (const tile of this.tilesOf(level)) {
      gl.bindTexture(gl.TEXTURE_2D, tile.texture);
      gl.uniform2i(uniforms.origin, tile.left, tile.top);
      gl.uniform4f(uniforms.part, tile.from.x, tile.from.y, Math.min(tile.to.x, right), Math.min(tile.to.y, bottom));
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
  }

  tilesOf(level) {
    if (!this.tiles.has(level.index)) {
      const step = this.largest - 2 * SHARED, tiles = [];
      for (let y = 0; y < level.height; y += step) {
        for (let x = 0; x < level.width; x += step) tiles.push(this.tile(level, x, y, step));
      }
      this.tiles.set(level.index, tiles);
    }
    return this.tiles.get(level.index);
  }

  tile(level, x, y, step) {
    const { gl, pixels } = this;
    const to = { x: Math.min(x + step, level.width), y: Math.min(y + step, level.height) };
    const left = Math.max(x - SHARED, 0), top = Math.max(y - SHARED, 0);
    const width = Math.min(to.x + SHARED, level.width) - left, height = Math.min(to.y + SHARED, level.height) - top;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const kind of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, kind, gl.NEAREST);
    }
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.pixelStorei(gl.UNPACK_ROW_LENGTH, level.width);
    gl.pixelStorei(gl.UNPACK_SKIP_PIXELS, left);
    gl.pixelStorei(gl.UNPACK_SKIP_ROWS, top);
    const [inner, outer, type] = pixels.channels === 4
      ? [gl.RGBA8UI, gl.RGBA_INTEGER, gl.UNSIGNED_BYTE]
      : [gl.R16UI, gl.RED_INTEGER, gl.UNSIGNED_SHORT];
    gl.texImage2D(gl.TEXTURE_2D, 0, inner, width, height, 0, outer, type, level.data);
    return { texture, left, top, from: { x, y }, to };
  }
}

/** Renderer for machines without WebGL2: the window is applied to the stored values of the visible part. */
export class CanvasRenderer {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.part = document.createElement("canvas").getContext("2d");
  }

  load(pixels) {
    this.pixels = pixels;
  }

  draw({ x, y, sx, sy, low, span, invert }) {
    const { context, canvas, pixels } = this;
    context.fillStyle = "#000";
    context.fillRect(0, 0, canvas.width, canvas.height);
    if (!pixels) return;
    const level = pixels.level(levelAt(Math.min(sx, sy)));
    const wide = 2 ** level.index, tx = sx * wide, ty = sy * wide;
    const left = Math.max(0, Math.floor(-x / tx) - 1), top = Math.max(0, Math.floor(-y / ty) - 1);
    const width = Math.min(level.width, Math.ceil((canvas.width - x) / tx) + 1) - left;
    const height = Math.min(level.height, Math.ceil((canvas.height - y) / ty) + 1) - top;
    if (width <= 0 || height <= 0) return;
    this.part.canvas.width = width;
    this.part.canvas.height = height;
    this.part.putImageData(this.greys(level, { left, top, width, height }, { low, span, invert }), 0, 0);
    context.imageSmoothingQuality = "high";
    context.drawImage(this.part.canvas, x + left * tx, y + top * ty, width * tx, height * ty);
  }

  greys(level, { left, top, width, height }, { low, span, invert }) {
    const image = new ImageData(width, height), { channels } = this.pixels;
    const scale = 255 / Math.max(span, 1e-6);
    for (let row = 0, to = 0; row < height; row++) {
      let from = ((top + row) * level.width + left) * channels;
      for (let column = 0; column < width; column++, from += channels, to += 4) {
        for (let c = 0; c < 3; c++) {
          const grey = (level.data[channels === 1 ? from : from + c] - low) * scale;
          image.data[to + c] = invert ? 255 - grey : grey; // the array clamps
        }
        image.data[to + 3] = 255;
      }
    }
    return image;
  }
}

/** The better renderer that this browser has. */
export function makeRenderer(canvas) {
  try {
    return new WebGLRenderer(canvas);
  } catch {
    // A canvas that was asked for one kind of context gives no other.
    const plain = canvas.cloneNode();
    canvas.replaceWith(plain);
    return new CanvasRenderer(plain);
  }
}
