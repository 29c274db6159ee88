// Talk with the server. Addresses are relative to the page, so that it works under any path behind a proxy.

/** The server answered with an error. */
export class Refused extends Error {
  constructor(status, body, retryAfter) {
    super(body?.error ?? `the server answered ${status}`);
    this.status = status;
    this.body = body;
    this.retryAfter = retryAfter;
  }
}

/** The server did not answer. */
export class Unreachable extends Error {}

let csrf = "";

/** Header that shows the server that a change comes from this page. */
export function useToken(token) {
  csrf = token;
}

async function ask(path, options = {}) {
  try {
    return await fetch(`api/${path}`, { credentials: "same-origin", cache: "no-store", ...options });
  } catch {
    throw new Unreachable("no connection to the server");
  }
}

async function readAnswer(response) {
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  // A proxy answers for a server that is down; this counts as no answer.
  if ([502, 503, 504].includes(response.status)) throw new Unreachable("no connection to the server");
  throw new Refused(response.status, body, Number(response.headers.get("Retry-After")) || null);
}

export async function get(path) {
  return readAnswer(await ask(path));
}

/** Sends a change. */
export async function send(method, path, body) {
  const headers = { "Content-Type": "application/json", "X-CSRF": csrf };
  return readAnswer(await ask(path, { method, headers, body: JSON.stringify(body) }));
}

/** Stored values of a picture. The browser may keep them; it asks whether they are still the same. */
export async function getPixels(path) {
  const response = await ask(path, { cache: "no-cache" });
  if (!response.ok) return readAnswer(response);
  try {
    return await response.arrayBuffer();
  } catch {
    throw new Unreachable("the connection broke while the picture was loading");
  }
}
