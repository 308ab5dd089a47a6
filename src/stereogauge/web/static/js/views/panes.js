// Panes that pan and zoom together: one transform for all, pixels stay pixels when enlarged.

import { h } from "../dom.js";
import { drawing } from "../drawing.js";
import { digits } from "../format.js";
import { show } from "../pictures.js";
import { isolated } from "../words.js";

const MOST_ZOOM = 64;
const KEEP = 24;
const OVERLAY = 0.75; // seen on every colour map, and the map below stays readable
const pictures = new Map();

/** A picture by its address, kept while it is among the last ones used. */
export function picture(address) {
  if (!pictures.has(address)) {
    const loaded = new Promise((resolve, reject) => {
      const image = new Image();
      image.onload = () => resolve(image);
      image.onerror = () => reject(new Error("This picture cannot be shown."));
      show(image, address);
    });
    pictures.set(address, loaded);
    loaded.catch(() => pictures.delete(address));
    if (pictures.size > KEEP) pictures.delete(pictures.keys().next().value);
  }
  return drawing(pictures.get(address));
}

/** Where all panes look: centre in pixels of the scene and zoom relative to fitting. */
export class Look {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.fit();
  }

  /** Screen pixels per scene pixel on a canvas of this width. */
  scale(canvas) {
    return this.zoom * Math.min(canvas.clientWidth / this.width, canvas.clientHeight / this.height);
  }

  /** The scene's pixel under a point of a canvas, fractional. */
  at(canvas, left, top) {
    const scale = this.scale(canvas);
    return [this.x + (left - canvas.clientWidth / 2) / scale, this.y + (top - canvas.clientHeight / 2) / scale];
  }

  move(canvas, dx, dy) {
    const scale = this.scale(canvas);
    this.centre(this.x - dx / scale, this.y - dy / scale);
  }

  centre(x, y) {
    this.x = Math.max(0, Math.min(this.width, x));
    this.y = Math.max(0, Math.min(this.height, y));
  }

  /** Zoom about a point of a canvas, which stays where it is. */
  zoomAt(canvas, left, top, factor) {
    const [x, y] = this.at(canvas, left, top);
    this.zoom = Math.max(1, Math.min(MOST_ZOOM, this.zoom * factor));
    const [nx, ny] = this.at(canvas, left, top);
    this.centre(this.x + x - nx, this.y + y - ny);
    if (this.zoom === 1) this.fit();
  }

  fit() {
    this.zoom = 1;
    this.centre(this.width / 2, this.height / 2);
  }

  /** Look at a box, with some of what is around it. */
  show({ x, y, width, height }, around = 1, most = MOST_ZOOM) {
    this.zoom = Math.max(1, Math.min(most, this.width / (around * width), this.height / (around * height)));
    this.centre(x + width / 2, y + height / 2);
  }

  /** Centre and zoom, as the address writes them. */
  text(decimals = 1) {
    return [this.x.toFixed(decimals), this.y.toFixed(decimals), this.zoom.toFixed(3)].join();
  }
}

/**
 * Draw a picture, an overlay and the pointer's pixel; with `other` and a `swipe` between 0 and 1, two pictures side by
 * side.
 */
export function paint(canvas, look, { image, other, swipe, overlay, pointer, block }) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across || canvas.height !== down) Object.assign(canvas, { width: across, height: down });
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  if (!image || !width) return;
  const scale = look.scale(canvas);
  pen.imageSmoothingEnabled = scale * ratio < 1;
  const left = width / 2 - look.x * scale;
  const top = height / 2 - look.y * scale;
  const area = [left, top, look.width * scale, look.height * scale];
  pen.drawImage(image, ...area);
  if (other) {
    pen.save();
    pen.beginPath();
    pen.rect(width * swipe, 0, width, height);
    pen.clip();
    pen.drawImage(other, ...area);
    pen.restore();
    pen.fillStyle = "rgba(255,255,255,.9)";
    pen.fillRect(width * swipe - 1, 0, 2, height);
    pen.fillStyle = "rgba(0,0,0,.7)";
    pen.fillRect(width * swipe - 4, height / 2 - 12, 8, 24);
  }
  if (overlay) {
    pen.globalAlpha = OVERLAY;
    pen.drawImage(overlay, ...area);
    pen.globalAlpha = 1;
  }
  /** A square in black on white, which is seen on every picture. */
  const frame = (x, y, side) => {
    for (const [colour, breadth] of [
      ["#ffffff", 3],
      ["#000000", 1],
    ]) {
      pen.strokeStyle = colour;
      pen.lineWidth = breadth;
      pen.strokeRect(left + x * scale, top + y * scale, side, side);
    }
  };
  if (block) frame(block.x, block.y, block.size * scale);
  if (pointer) frame(...pointer, Math.max(scale, 3));
}

/** Wheel, drag, pinch, double click and keys on a canvas; `changed(kind)` follows every movement. */
export function steer(canvas, look, { changed, hover, swipeTo }) {
  const fingers = new Map();
  let spread = 0;
  const position = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener(
    "wheel",
    (event) => {
      // Over a pane that nobody uses the wheel still scrolls the page.
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault();
      look().zoomAt(canvas, ...position(event), Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)));
      changed("zoom");
    },
    { passive: false },
  );
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.focus({ preventScroll: true });
    fingers.set(event.pointerId, position(event));
    canvas.dataset.swiping = swipeTo?.near(position(event)[0] / canvas.clientWidth) ? "yes" : "";
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = position(event);
    const before = fingers.get(event.pointerId);
    if (before && canvas.dataset.swiping) swipeTo.set(Math.max(0, Math.min(1, now[0] / canvas.clientWidth)));
    else if (before && fingers.size === 1) {
      look().move(canvas, now[0] - before[0], now[1] - before[1]);
      changed("pan");
    } else if (before && fingers.size === 2) {
      fingers.set(event.pointerId, now);
      const [[ax, ay], [bx, by]] = [...fingers.values()];
      const distance = Math.hypot(ax - bx, ay - by);
      if (spread) look().zoomAt(canvas, (ax + bx) / 2, (ay + by) / 2, distance / spread);
      spread = distance;
      changed("zoom");
    }
    if (before) fingers.set(event.pointerId, now);
    hover(
      look()
        .at(canvas, ...now)
        .map(Math.floor),
    );
  });
  const lift = (event) => {
    fingers.delete(event.pointerId);
    spread = 0;
    canvas.dataset.swiping = "";
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => fingers.size || hover(null));
  canvas.addEventListener("dblclick", () => {
    look().fit();
    changed("zoom");
  });
  canvas.addEventListener("keydown", (event) => {
    const step = 40;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    const middle = [canvas.clientWidth / 2, canvas.clientHeight / 2];
    if (moves[event.key]) look().move(canvas, ...moves[event.key]);
    else if (event.key === "+" || event.key === "=") look().zoomAt(canvas, ...middle, 1.4);
    else if (event.key === "-") look().zoomAt(canvas, ...middle, 1 / 1.4);
    else if (event.key === "0") look().fit();
    else if (swipeTo.on() && (event.key === "[" || event.key === "]")) swipeTo.by(event.key === "[" ? -0.05 : 0.05);
    else return;
    event.preventDefault();
    changed("zoom");
    hover([Math.floor(look().x), Math.floor(look().y)]);
  });
}

/** The words and colours under a pane. */
export function legend(context, info) {
  return [
    h("span", isolated(context, info.title)),
    info.limits && info.bar.length
      ? h(
          "span.row",
          digits(info.limits[0]),
          h("span", { class: "bar-colours", style: { background: `linear-gradient(90deg, ${info.bar.join()})` } }),
          `${digits(info.limits[1])} ${info.unit}`,
        )
      : null,
    info.legend.map((one) =>
      h(
        "span",
        one.colour === "hatched" ? h("i.swatch.hatch") : h("i.swatch", { style: { background: one.colour } }),
        isolated(context, one.text),
      ),
    ),
    info.note ? h("strong", info.note) : null,
  ];
}
