// Small builders of elements. Text is never parsed as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...present(children));
  return element;
}

/** Children without those that are missing. */
export function present(children) {
  return children.flat().filter((child) => child !== null && child !== undefined);
}

/** HTML element; attributes that start with `on` are listeners, false and null ones are left out. */
export function html(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Random uuid, also if `crypto.randomUUID` is missing, as on a page without TLS from another machine. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Whether the element takes key strokes: a field to type in, or a slider with arrow keys. */
export function takesKeys(element) {
  return element instanceof HTMLElement && element.matches("input, select, textarea");
}

/**
 * A list of which one text is chosen, or none. With the mouse, choosing gives the keys back to the page; with the keys,
 * which may go on to the next text, Enter does.
 */
export function choice(texts, chosen, none, attributes) {
  const option = (text) => html("option", { value: text, selected: (chosen ?? "") === text }, text || none);
  const field = html("select", {}, ["", ...texts].map(option));
  let typed = false;
  field.addEventListener("keydown", () => { typed = true; });
  field.addEventListener("blur", () => { typed = false; });
  field.addEventListener("change", () => { if (!typed) field.blur(); });
  return fill(field, attributes, []);
}

/** Announces a text to screen readers without showing it. */
export function announce(text) {
  const place = document.getElementById("announcements");
  place.textContent = "";
  // A change in the same turn would not be read out if the text stays the same.
  setTimeout(() => { place.textContent = text; }, 50);
}

/** A question over the page with one button for each answer; resolves to the answer's value, null on Escape. */
export function ask(title, body, answers) {
  return new Promise((resolve) => {
    const dialog = html("dialog", { class: "ask", "aria-labelledby": "ask-title" });
    const close = (value) => { dialog.remove(); resolve(value); };
    dialog.append(
      html("h2", { id: "ask-title" }, title),
      ...[body].flat().map((part) => (typeof part === "string" ? html("p", {}, part) : part)),
      html("div", { class: "answers" }, answers.map(({ text, value, main }) =>
        html("button", { class: main ? "main" : "", onclick: () => close(value) }, text))),
    );
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); close(null); });
    document.body.append(dialog);
    dialog.showModal();
    dialog.querySelector("button.main")?.focus();
  });
}
