// Charts and maps to take away: as SVG, as PNG, and their data as CSV, each with a caption that says what it shows.

import { asOwner, isStatic, url } from "./api.js";
import { scopeCaption } from "./bar.js";
import { chart, saved } from "./chart.js";
import { button, h, s, save } from "./dom.js";
import { digits } from "./format.js";
import { scenePath } from "./scope.js";

const MAP_WIDTH = 720; // px that a saved map has at least
const LINE = 16;

const quoted = (value) =>
  /[",\n\r]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? "");

/** Rows as CSV with one column per name; the caption is a comment before it. */
function csvOf(rows, caption) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const line = (values) => values.map(quoted).join(",");
  return [`# ${caption}`, line(names), ...rows.map((row) => line(names.map((name) => row[name])))].join("\n");
}

/** What a saved figure says of itself: what it shows, the scope of its numbers, and the link that shows it again. */
const captionOf = (context, label, over) => `${label} · ${scopeCaption(context, over)} · ${location.href}`;

/** The buttons that save a figure; `make` gives the content of each kind of file. */
const buttons = (name, make) =>
  Object.entries({ svg: "image/svg+xml", png: "image/png", csv: "text/csv" })
    .filter(([kind]) => make[kind])
    .map(([kind, type]) => button(kind.toUpperCase(), async () => save(`${name}.${kind}`, await make[kind](), type)));

/** The buttons that save a chart, with its caption; `name` is that of the files, `over` how scenes become one number. */
export function takeAway(declared, context, { name, label, hidden, over }) {
  const caption = captionOf(context, label, over);
  const picture = (form) => saved(declared, form, { title: label, caption, hidden });
  return h(
    "p",
    { class: "take", "data-take": name },
    buttons(name, {
      svg: () => picture("svg"),
      png: () => picture("png"),
      csv: () => csvOf(declared.data.values, caption),
    }),
    h("span.caption", scopeCaption(context, over)),
  );
}

/** Draw a chart that can be taken away; the options are those of `chart`, and `name` for files. */
export async function figure(element, declared, context, options) {
  const view = await chart(element, declared, options);
  if (view) element.append(takeAway(declared, context, options));
  return view;
}

const dataAddress = (blob) =>
  new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(blob);
  });

/** The legend of a map as shapes and texts from (0, 0) on. */
function legendShapes(info) {
  const scaled = info.limits && info.bar.length > 0;
  const stops = info.bar.map((colour, at) => s("stop", { offset: at / (info.bar.length - 1), "stop-color": colour }));
  const shapes = scaled
    ? [
        s("linearGradient", { id: "bar" }, stops),
        s("text", { x: 0, y: 11 }, digits(info.limits[0])),
        s("rect", { x: 60, y: 1, width: 150, height: 11, fill: "url(#bar)" }),
        s("text", { x: 216, y: 11 }, `${digits(info.limits[1])} ${info.unit}`),
      ]
    : [];
  let x = scaled ? 300 : 0;
  for (const { colour, text } of info.legend) {
    const fill = colour === "hatched" ? "#bbbbbb" : colour;
    shapes.push(
      s("rect", { x, y: 1, width: 11, height: 11, fill, stroke: "#888888" }),
      s("text", { x: x + 16, y: 11 }, colour === "hatched" ? `${text} (hatched)` : text),
    );
    x += 40 + 6.2 * text.length;
  }
  return shapes;
}

/** A map with its title, legend and caption as one SVG document. */
async function mapDocument({ address, info, label }, context) {
  const picture = await dataAddress(await (await asOwner(address)).blob());
  const scale = Math.max(1, Math.ceil(MAP_WIDTH / info.width));
  const [width, height] = [scale * info.width, scale * info.height];
  const lines = captionOf(context, label).match(new RegExp(`.{1,${Math.floor(width / 6)}}(\\s|$)|\\S+`, "gu"));
  const whole = height + LINE * (lines.length + 3);
  const style = { "image-rendering": "pixelated" };
  const root = s(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width, height: whole, "font-family": "sans-serif", "font-size": 11 },
    s("rect", { width: "100%", height: "100%", fill: "#ffffff" }),
    s("text", { x: 0, y: 13, "font-size": 13, "font-weight": "bold" }, label),
    s("image", { y: LINE + 4, width, height, href: picture, style }),
    s("g", { transform: `translate(0 ${height + LINE + 12})` }, legendShapes(info)),
    lines.map((line, at) => s("text", { x: 0, y: height + LINE * (at + 3.6), fill: "#555555" }, line.trim())),
  );
  return { text: new XMLSerializer().serializeToString(root), width, height: whole };
}

async function drawn({ text, width, height }) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = h("canvas", { width, height });
  canvas.getContext("2d").drawImage(image, 0, 0);
  URL.revokeObjectURL(image.src);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** The buttons that save a layer of a scene, with the legend `info`; the parameters are those of its picture. */
export function takeMap(context, scene, layer, params, info) {
  if (isStatic) return null;
  const address = (form) => url(scenePath(scene, `layers/${layer}.${form}`), params);
  const names = ["algorithm", "other"].map((one) => params.get(one)).filter((one) => one && !info.title.includes(one));
  const label = [info.title, ...names, scene].join(", ");
  const map = { address: address("png"), info, label };
  const numbers = async () => `# ${captionOf(context, label)}\n${await (await asOwner(address("csv"))).text()}`;
  return h(
    "span",
    { class: "take", "data-take": layer },
    buttons(`${scene}-${layer}`, {
      svg: async () => (await mapDocument(map, context)).text,
      png: async () => drawn(await mapDocument(map, context)),
      csv: ["left", "right"].includes(layer) ? null : numbers,
    }),
  );
}
