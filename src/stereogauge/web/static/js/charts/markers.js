// The shapes that tell algorithms apart, as paths around a centre.

const POLYGONS = {
  square: "-.9,-.9 .9,-.9 .9,.9 -.9,.9",
  diamond: "0,-1.25 1.25,0 0,1.25 -1.25,0",
  "triangle-up": "0,-1.2 1.1,.8 -1.1,.8",
  "triangle-down": "0,1.2 1.1,-.8 -1.1,-.8",
  "triangle-left": "-1.2,0 .8,1.1 .8,-1.1",
  "triangle-right": "1.2,0 -.8,1.1 -.8,-1.1",
  cross: "-.4,-1.1 .4,-1.1 .4,-.4 1.1,-.4 1.1,.4 .4,.4 .4,1.1 -.4,1.1 -.4,.4 -1.1,.4 -1.1,-.4 -.4,-.4",
  x: "-1.1,-.7 -.7,-1.1 0,-.4 .7,-1.1 1.1,-.7 .4,0 1.1,.7 .7,1.1 0,.4 -.7,1.1 -1.1,.7 -.4,0",
  star: "0,-1.3 .35,-.4 1.25,-.4 .55,.2 .8,1.1 0,.55 -.8,1.1 -.55,.2 -1.25,-.4 -.35,-.4",
  pentagon: "0,-1.2 1.15,-.35 .7,1 -.7,1 -1.15,-.35",
  "line-ns": "-.15,-1.2 .15,-1.2 .15,1.2 -.15,1.2",
};
const made = new Map();
const tenths = (value) => Math.round(10 * value) / 10;

/** The outline of a shape (Plotly's name) from its centre, in relative steps; an unknown one is a circle. */
function outline(shape, size) {
  const key = `${shape} ${size}`;
  if (!made.has(key)) {
    const corners = POLYGONS[shape.replace("-open", "")]?.split(" ").map((one) => one.split(",").map(Number));
    const r = tenths(size);
    let [x, y] = [0, 0];
    const steps = corners?.map(([a, b], at) => {
      const [dx, dy] = [tenths(a * size) - x, tenths(b * size) - y];
      [x, y] = [x + dx, y + dy];
      return `${at ? "l" : "m"}${tenths(dx)},${tenths(dy)}`;
    });
    made.set(key, steps ? `${steps.join("")}z` : `m${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`);
  }
  return made.get(key);
}

/** A marker as a path: "M", its centre, and the outline around it. `size` is about its radius, px. */
export const markerPath = (shape, x, y, size) => `M${tenths(x)},${tenths(y)}${outline(shape ?? "circle", size)}`;
