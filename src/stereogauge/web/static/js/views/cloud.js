// Points in space, drawn here into an image with a depth buffer: no graphics card is needed, and it looks the same
// everywhere.

import { isStatic, latest } from "../api.js";
import { stated } from "../choices.js";
import { h, put } from "../dom.js";
import { mapParams, scenePath } from "../scope.js";
import * as state from "../state.js";
import { orSaid } from "../states.js";

const FILL = 1.25; // of the box, at the first distance
/** How far the view may turn and go, and what the keys do to it. */
const LIMITS = { yaw: [-Infinity, Infinity], pitch: [-1.4, 1.4], distance: [0.3, 8] };
const KEYS = {
  ArrowLeft: ["yaw", -0.1],
  ArrowRight: ["yaw", 0.1],
  ArrowUp: ["pitch", -0.1],
  ArrowDown: ["pitch", 0.1],
  "+": ["distance", -0.15],
  "-": ["distance", 0.15],
};
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** A viewer on a canvas; `show(answer)` takes the server's points. */
function cloudViewer(canvas) {
  let points = null;
  let colours = null;
  let centre = [0, 0, 0];
  let size = 1;
  let spread = [1, 1];
  const view = { yaw: 0.35, pitch: 0.18, distance: 1.25 };

  function show(answer) {
    points = new Float32Array(bytes(answer.positions).buffer);
    colours = bytes(answer.colours);
    const middle = [0, 1, 2].map((axis) => {
      const values = points.filter((_, at) => at % (3 * 7) === axis).sort();
      return [0.5, 0.04, 0.96].map((share) => values[Math.floor(values.length * share)]);
    });
    centre = middle.map(([one]) => one);
    size = Math.max(...middle.map(([, low, high]) => high - low), 1e-6);
    // The nearer the camera, the larger the points: seen from in front, width or height fills the box.
    spread = middle.slice(0, 2).map(([, low, high]) => Math.max((high - low) / size, 0.05));
    draw();
  }

  function draw() {
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!points || !width) return;
    canvas.width = width;
    canvas.height = height;
    const pen = canvas.getContext("2d");
    const image = pen.createImageData(width, height);
    const depth = new Float32Array(width * height).fill(Infinity);
    const [cy, sy, cp, sp] = [Math.cos(view.yaw), Math.sin(view.yaw), Math.cos(view.pitch), Math.sin(view.pitch)];
    const focal = FILL * Math.min(width / spread[0], height / spread[1]);
    const dot = Math.max(1, Math.round(1.6 / view.distance + 0.6));
    for (let index = 0, shade = 0; index < points.length; index += 3, shade += 3) {
      const x = (points[index] - centre[0]) / size;
      const y = (points[index + 1] - centre[1]) / size;
      const z = (points[index + 2] - centre[2]) / size;
      const turned = cy * x + sy * z;
      const away = -sy * x + cy * z;
      const lifted = cp * y - sp * away;
      const far = sp * y + cp * away + view.distance;
      if (far <= 0.05) continue;
      const left = Math.round(width / 2 + (focal * turned) / far);
      const top = Math.round(height / 2 + (focal * lifted) / far);
      for (let dy = 0; dy < dot; dy += 1) {
        for (let dx = 0; dx < dot; dx += 1) {
          const [px, py] = [left + dx, top + dy];
          if (px < 0 || py < 0 || px >= width || py >= height) continue;
          const at = py * width + px;
          if (far >= depth[at]) continue;
          depth[at] = far;
          for (let part = 0; part < 3; part += 1) image.data[4 * at + part] = colours[shade + part];
          image.data[4 * at + 3] = 255;
        }
      }
    }
    pen.putImageData(image, 0, 0);
    canvas.dataset.points = String(points.length / 3);
  }

  function turn(part, step) {
    const [least, most] = LIMITS[part];
    view[part] = Math.max(least, Math.min(most, view[part] + step));
    requestAnimationFrame(draw);
  }
  canvas.addEventListener("pointerdown", (event) => canvas.setPointerCapture(event.pointerId));
  canvas.addEventListener("pointermove", (event) => {
    if (!canvas.hasPointerCapture(event.pointerId)) return;
    turn("yaw", event.movementX * 0.006);
    turn("pitch", -event.movementY * 0.006);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      turn("distance", view.distance * Math.expm1(event.deltaY * 0.001));
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    if (!KEYS[event.key]) return;
    event.preventDefault();
    turn(...KEYS[event.key]);
  });
  return { show, draw };
}

/** The point cloud below the panes: a choice of maps and a canvas. */
export function createCloud() {
  const label = "Point cloud: drag to turn, wheel to come closer, arrow keys turn";
  const canvas = h("canvas#cloud", { tabindex: 0, "aria-label": label });
  const head = h("div.row");
  const box = h("div.section", head, canvas);
  const viewer = cloudViewer(canvas);
  const points = latest();

  async function show(scene, context) {
    const name = isStatic ? null : state.get("cloud");
    const sources = [["", "off"], scene.layers.includes("truth") && ["truth", "ground truth"], ...scene.algorithms];
    const unit = h("span.hint#cloud-unit");
    put(
      head,
      h("h2", "Point cloud"),
      isStatic
        ? h("span.hint", "Points in space need the server.")
        : [
            stated("cloud", "Point cloud of", sources.filter(Boolean), name, { id: "cloud-choice" }),
            h("span.hint", "drag to turn, wheel to come closer"),
            unit,
          ],
    );
    canvas.hidden = name === null;
    if (name === null) return;
    const own = mapParams(context, { points: 60000, algorithm: name === "truth" ? null : name });
    const answer = await orSaid(head, points(scenePath(scene.name, "cloud"), own));
    if (!answer) return;
    viewer.show(answer);
    unit.textContent = answer.unit === "m" ? "in metres" : "without calibration: columns, rows and disparities in px";
  }

  return { box, head, show, draw: viewer.draw };
}
