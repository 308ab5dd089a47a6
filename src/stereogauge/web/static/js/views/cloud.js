// Points in space, drawn here into an image with a depth buffer: no graphics card is needed, and it looks the same
// everywhere.

import { isStatic, latest, Problem } from "../api.js";
import { choose, h, put } from "../dom.js";
import { mapParams, scenePath } from "../scope.js";
import * as state from "../state.js";

const FILL = 1.25; // of the box, at the first distance
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
      const values = [];
      for (let index = axis; index < points.length; index += 3 * 7) values.push(points[index]);
      values.sort((a, b) => a - b);
      return [
        values[Math.floor(values.length * 0.5)],
        values[Math.floor(values.length * 0.04)],
        values[Math.floor(values.length * 0.96)],
      ];
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
          image.data[4 * at] = colours[shade];
          image.data[4 * at + 1] = colours[shade + 1];
          image.data[4 * at + 2] = colours[shade + 2];
          image.data[4 * at + 3] = 255;
        }
      }
    }
    pen.putImageData(image, 0, 0);
    canvas.dataset.points = String(points.length / 3);
  }

  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held = [event.clientX, event.clientY];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    view.yaw += (event.clientX - held[0]) * 0.006;
    view.pitch = Math.max(-1.4, Math.min(1.4, view.pitch - (event.clientY - held[1]) * 0.006));
    held = [event.clientX, event.clientY];
    requestAnimationFrame(draw);
  });
  canvas.addEventListener("pointerup", () => (held = null));
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      view.distance = Math.max(0.3, Math.min(8, view.distance * Math.exp(event.deltaY * 0.001)));
      requestAnimationFrame(draw);
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    const turns = {
      ArrowLeft: ["yaw", -0.1],
      ArrowRight: ["yaw", 0.1],
      ArrowUp: ["pitch", -0.1],
      ArrowDown: ["pitch", 0.1],
      "+": ["distance", -0.15],
      "-": ["distance", 0.15],
    };
    if (!turns[event.key]) return;
    event.preventDefault();
    const [part, step] = turns[event.key];
    const [least, most] = { yaw: [-Infinity, Infinity], pitch: [-1.4, 1.4], distance: [0.3, 8] }[part];
    view[part] = Math.max(least, Math.min(most, view[part] + step));
    draw();
  });
  return { show, draw };
}

/** The point cloud below the panes: a choice of maps and a canvas. */
export function createCloud() {
  const canvas = h("canvas", {
    id: "cloud",
    tabindex: 0,
    "aria-label": "Point cloud: drag to turn, wheel to come closer, arrow keys turn",
  });
  const head = h("div.row");
  const box = h("div.section", head, canvas);
  const viewer = cloudViewer(canvas);
  const points = latest();

  function show(scene, context) {
    const sources = [
      ...(scene.layers.includes("truth") ? [["", "ground truth"]] : []),
      ...scene.algorithms.map((name) => [name, name]),
    ];
    const name = isStatic ? null : state.get("cloud");
    if (isStatic) put(head, h("h2", "Point cloud"), h("span.hint", "Points in space need the server."));
    else
      put(
        head,
        h("h2", "Point cloud"),
        choose(
          [["-", "off"], ...sources],
          name === null ? "-" : name === "truth" ? "" : name,
          (value) => state.update({ cloud: value === "-" ? null : value === "" ? "truth" : value }),
          { "aria-label": "Point cloud of", id: "cloud-choice" },
        ),
        h("span.hint", "drag to turn, wheel to come closer"),
        h("span.hint#cloud-unit"),
      );
    canvas.hidden = name === null;
    canvas.style.display = name === null ? "none" : "";
    if (name === null) return;
    const own = mapParams(context, { points: 60000 }, [name]);
    if (name !== "truth") own.set("algorithm", name);
    points(scenePath(scene.name, "cloud"), own)
      .then((answer) => {
        if (!answer) return;
        viewer.show(answer);
        head.querySelector("#cloud-unit").textContent =
          answer.unit === "m" ? "in metres" : "without calibration: columns, rows and disparities in px";
      })
      .catch((problem) => {
        if (!(problem instanceof Problem)) throw problem;
        put(head, h("p.hint", problem.message));
      });
  }

  return { box, show, draw: viewer.draw, clear: () => put(head) };
}
