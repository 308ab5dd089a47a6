// Charts and maps to take away: as SVG, as PNG, and their data as CSV, each with a caption that says what it shows.

import { asOwner, isStatic, url } from "./api.js";
import { scopeCaption } from "./bar.js";
import { chart, saved } from "./chart.js";
import { behind } from "./diagrams.js";
import { button, h, save } from "./dom.js";
import { scenePath } from "./scope.js";

const SHARP = 2; // px of a saved map per px of its document

const quoted = (value) =>
  /[",\n\r]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? "");

/** The rows of a chart as a table with one column per name, the head first. */
function tableOf({ data: { values } }) {
  const names = [...new Set(values.flatMap(Object.keys))];
  return [names, ...values.map((row) => names.map((name) => row[name] ?? null))];
}

/** A table as CSV; the caption is a comment before it. */
const csvOf = (rows, caption) => [`# ${caption}`, ...rows.map((row) => row.map(quoted).join(","))].join("\n");

/** What a saved figure says of itself: what it shows, the scope of its numbers, and the link that shows it again. */
const captionOf = (context, label, over) => `${label} · ${scopeCaption(context, over)} · ${location.href}`;

/** The buttons that save a figure; `make` gives the content of each kind of file. */
const buttons = (name, make) =>
  Object.entries({ svg: "image/svg+xml", png: "image/png", csv: "text/csv" })
    .filter(([kind]) => make[kind])
    .map(([kind, type]) => button(kind.toUpperCase(), async () => save(`${name}.${kind}`, await make[kind](), type)));

/**
 * The buttons that save a chart with its caption, and the table of its rows; `name` is that of the files, `over` how
 * scenes become a number.
 */
export function takeAway(declared, context, { name, label, hidden, over }) {
  const caption = captionOf(context, label, over);
  const picture = (form) => saved(declared, form, { title: label, caption, hidden });
  return [
    h(
      "p",
      { class: "take", "data-take": name },
      buttons(name, {
        svg: () => picture("svg"),
        png: () => picture("png"),
        csv: () => csvOf(tableOf(declared), caption),
      }),
      h("span.caption", scopeCaption(context, over)),
    ),
    behind(tableOf(declared)[0], () => tableOf(declared).slice(1)),
  ];
}

/** Draw a chart that can be taken away; the options are those of `chart`, and `name` for files. */
export async function figure(element, declared, context, options) {
  const view = await chart(element, declared, options);
  if (view) element.append(...takeAway(declared, context, options));
  return view;
}

/** An SVG document as the bytes of a PNG. */
async function drawn(text) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  const [width, height] = [SHARP * image.naturalWidth, SHARP * image.naturalHeight];
  const canvas = h("canvas", { width, height });
  canvas.getContext("2d").drawImage(image, 0, 0, width, height);
  URL.revokeObjectURL(image.src);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** The buttons that save a layer of a scene, with the legend `info`; the parameters are those of its picture. */
export function takeMap(context, scene, layer, params, info) {
  if (isStatic) return null;
  const names = ["algorithm", "other"].map((one) => params.get(one)).filter((one) => one && !info.title.includes(one));
  const title = [info.title, ...names, scene].join(", ");
  const content = async (form, more = {}) => {
    const own = new URLSearchParams([...params, ...Object.entries(more)]);
    return (await asOwner(url(scenePath(scene, `layers/${layer}.${form}`), own))).text();
  };
  const svg = () => content("svg", { title, caption: captionOf(context, title) });
  const csv = async () => `# ${captionOf(context, title)}\n${await content("csv")}`;
  const forms = { svg, png: async () => drawn(await svg()), csv: ["left", "right"].includes(layer) ? null : csv };
  return h("span.take", { "data-take": layer }, buttons(`${scene}-${layer}`, forms));
}
