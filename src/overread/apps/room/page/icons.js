// Outlines of 24 x 24 for the tools.

import { svg } from "./dom.js";

const PATHS = {
  select: "M6 3l12 9-6 1 3.5 6.5-2.6 1.4L9.5 14 6 18z",
  ellipse: "M5.5 17.5C3 14 6 8 11 5.5s9-2 8 2.5-5.5 9-9.5 10.5-3.5.5-4-1zM12 10v4M10 12h4",
  three: "M6.2 15.8C5 13 8 8.5 12 6.5s6.5-1 5.8 1.7-4.3 7.3-7.8 8.5-3.3.3-3.8-.9M4 19.5h.01M19.5 4.5h.01M16.5 15.5h.01",
  pan: "M8 12V6.5a1.5 1.5 0 013 0V11m0-5.5v-1a1.5 1.5 0 013 0V11m0-5a1.5 1.5 0 013 0v6m0-3a1.5 1.5 0 013 0v5"
    + "c0 4-2.5 7-6.5 7-3 0-4.5-1-6-3.5L4.5 14a1.6 1.6 0 012.6-1.8L8 13.5",
  window: "M12 4a8 8 0 100 16 8 8 0 000-16zM12 4v16M12 8h5M12 12h8M12 16h5.5",
  lens: "M10.5 4a6.5 6.5 0 100 13 6.5 6.5 0 000-13zM15.5 15.5L20 20M10.5 8v5M8 10.5h5",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5M9 9h6v6H9z",
  actual: "M5 8l2-1.5V17M12 9.5v.01M12 14.5v.01M16 8l2-1.5V17",
  invert: "M4 5h16v14H4zM4 19L20 5M15 14v4M13 16h4M7 8.5h4",
  undo: "M9 7L5 11l4 4M5 11h9a5 5 0 010 10h-3",
  redo: "M15 7l4 4-4 4M19 11h-9a5 5 0 000 10h3",
  help: "M9 9a3 3 0 116 0c0 2-3 2.2-3 4.5M12 17.5v.01M12 3a9 9 0 100 18 9 9 0 000-18z",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  copy: "M8 8h11v11H8zM5 15V5h10",
  bin: "M5 7h14M10 4h4M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5",
  tick: "M5 12.5l4.5 4.5L19 7",
  cross: "M6 6l12 12M18 6L6 18",
};

export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: PATHS[name] }));
}
