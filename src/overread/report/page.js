"use strict";
// The menu closes when something in it was chosen; on paper everything that is folded away is open.
document.querySelectorAll("nav a").forEach((link) =>
  link.addEventListener("click", () => { document.getElementById("menu").checked = false; }));
const folded = [];
addEventListener("beforeprint", () => {
  document.querySelectorAll("details:not([open])").forEach((part) => { part.open = true; folded.push(part); });
});
addEventListener("afterprint", () => { folded.splice(0).forEach((part) => { part.open = false; }); });
