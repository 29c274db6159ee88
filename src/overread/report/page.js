"use strict";
// The menu closes after a choice; in print, all folded parts are open.
document.querySelectorAll("nav a").forEach((link) =>
  link.addEventListener("click", () => { document.getElementById("menu").checked = false; }));
const folded = [];
addEventListener("beforeprint", () => {
  document.querySelectorAll("details:not([open])").forEach((part) => { part.open = true; folded.push(part); });
});
addEventListener("afterprint", () => { folded.splice(0).forEach((part) => { part.open = false; }); });
