"use strict";
// Moves the operating point of every FROC explorer on the page; all numbers are in its JSON.
document.querySelectorAll(".explorer").forEach((box) => {
  const data = JSON.parse(box.querySelector("script[type='application/json']").textContent);
  const slider = box.querySelector("input[type=range]");
  const percent = (value) => (value === null ? "–" : (100 * value).toFixed(1) + " %");
  const withInterval = (part, measure, i) =>
    percent(part[measure][i]) + (part[measure + "_lower"][i] === null ? ""
      : " (" + percent(part[measure + "_lower"][i]) + " to " + percent(part[measure + "_upper"][i]) + ")");
  const show = () => {
    const i = Number(slider.value);
    const fp = data.fp_targets[i];
    box.querySelector("output").textContent = fp.toFixed(2);
    const x = data.left + (data.right - data.left) * fp / data.max_fp;
    box.querySelectorAll(".cursor").forEach((cursor) => {
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    });
    data.models.forEach((part, number) => {
      const cells = box.querySelectorAll("tbody tr")[number].querySelectorAll("td");
      cells[1].textContent = part.threshold[i] === null ? "none" : part.threshold[i].toPrecision(4);
      cells[2].textContent = part.fp_per_image[i] === null ? "–" : part.fp_per_image[i].toFixed(2);
      cells[3].textContent = withInterval(part, "gt_sensitivity", i);
      cells[4].textContent = withInterval(part, "image_sensitivity", i);
    });
  };
  const follow = (event) => {
    const svg = event.currentTarget;
    const at = svg.createSVGPoint();
    at.x = event.clientX;
    at.y = event.clientY;
    const x = at.matrixTransform(svg.getScreenCTM().inverse()).x;
    const fp = (x - data.left) / (data.right - data.left) * data.max_fp;
    const distances = data.fp_targets.map((target) => Math.abs(target - fp));
    slider.value = String(distances.indexOf(Math.min(...distances)));
    show();
  };
  slider.addEventListener("input", show);
  box.querySelectorAll("svg.panel").forEach((svg) => {
    svg.addEventListener("pointermove", follow);
    svg.addEventListener("pointerdown", follow);
  });
  show();
});
