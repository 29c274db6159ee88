// Bindings of the reading screen.

import { normalized } from "./geometry.js";
import { viewKeys } from "./keys.js";

// CSS pixels of one step of a mark; held down, a key goes faster. By judgement.
const STEP = 1;
const HELD = 4;
const PAN = 60;

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function readingKeys(screen) {
  const { viewer, tools, bar, app } = screen;
  const step = () => (STEP * (screen.repeated ? HELD : 1)) / viewer.view.zoom;
  const chosen = () => screen.overlay.chosen;
  const ownChosen = () => (chosen()?.own && screen.state.open ? chosen().id : null);

  function moveOrPan(stroke) {
    const [dx, dy] = DIRECTIONS[stroke];
    const moved = screen.stroke((e) => ({ ...e, x: e.x + dx * step(), y: e.y + dy * step() }));
    if (!moved) viewer.pan(-dx * PAN, -dy * PAN);
  }

  function resize(stroke) {
    const [dx, dy] = DIRECTIONS[stroke.split("+")[1]];
    screen.stroke((e) => ({ ...e, rx: e.rx + dx * step(), ry: e.ry - dy * step() }));
  }

  function rotate(stroke) {
    const [dx] = DIRECTIONS[stroke.split("+")[1]];
    screen.stroke((e) => normalized({ ...e, angle: e.angle + dx * (screen.repeated ? HELD : 1) }));
  }

  function onOwn(act) {
    const id = ownChosen();
    if (id) act(id);
    else if (screen.state.open) app.toast("None of your marks is selected (J selects the next).");
  }

  function setConfidence(stroke) {
    onOwn((id) => screen.rate(id, stroke === "0" ? 100 : 10 * Number(stroke)));
  }

  function focusField(name) {
    onOwn(() => {
      screen.toggleSheet(true);
      screen.markPanel.focus(name);
    });
  }

  function onDetection(act) {
    const { detections, open } = screen.state;
    const found = detections.find((one) => one.id === screen.overlay.selected);
    if (found && open) act(found.id);
    else if (detections.length && open) app.toast("None of the detector's marks is selected (J selects the next).");
  }

  function stepAway(stroke) {
    app.step(screen.id, stroke === "PageDown" ? 1 : -1);
  }

  function escape() {
    if (!tools.forget()) screen.choose(null);
  }

  const tool = (key, name, says) => ({ group: "Tools", strokes: [key], run: () => bar.use(name), says });
  const mark = (strokes, run, says, shows) => ({ group: "Marks", strokes, run, says, shows });
  const image = (strokes, run, says) => ({ group: "Reading", strokes, run, says });
  return [
    tool("e", "ellipse", "draw from the centre to the edge"),
    tool("t", "three", "draw by three clicks: both ends, then the width"),
    tool("v", "select", "select and move"),
    tool("h", "pan", "pan"),
    tool("w", "window", "window"),
    mark(["n"], () => screen.createInMiddle(), "new mark in the middle"),
    mark(["j", "J"], (stroke) => screen.chooseNext(stroke === "j" ? 1 : -1), "next, previous mark"),
    mark(Object.keys(DIRECTIONS), moveOrPan, "move the selected mark; without one, pan"),
    mark(["Shift+ArrowLeft", "Shift+ArrowRight"], resize, "first axis shorter, longer"),
    mark(["Shift+ArrowDown", "Shift+ArrowUp"], resize, "second axis shorter, longer"),
    mark(["Ctrl+ArrowLeft", "Ctrl+ArrowRight"], rotate, "rotate by one degree"),
    mark([..."1234567890"], setConfidence, "confidence 10, 20, ... 90; 0 is 100", ["1", "2", "9", "0"]),
    mark(["k"], () => focusField("confidence"), "type the confidence"),
    mark(["l"], () => focusField("label"), "choose the label"),
    mark(["y", "Ctrl+d"], () => screen.copy(ownChosen()), "copy"),
    mark(["Delete", "Backspace"], () => screen.remove(ownChosen()), "delete", ["Delete"]),
    mark(["u", "Ctrl+z"], () => screen.undo(), "undo"),
    mark(["U", "Ctrl+y", "Ctrl+Z"], () => screen.redo(), "redo", ["U", "Ctrl+y"]),
    mark(["Escape"], escape, "deselect"),
    ...viewKeys(viewer, () => bar.refresh()),
    image(["o"], () => screen.toggleNothing(), "nothing suspicious"),
    image(["a"], () => onDetection((id) => screen.decide(id, "accept", "")), "accept the detector's mark"),
    image(["d"], () => onDetection((id) => screen.detectionPanel.dismiss(id)), "dismiss the detector's mark"),
    image(["Enter"], () => screen.leave(), "finish; next image"),
    image(["PageDown", "PageUp"], stepAway, "next, previous image, without finishing"),
    image(["g"], () => app.go("#/"), "list of images"),
    image(["?"], () => screen.help(), "this help"),
  ];
}
