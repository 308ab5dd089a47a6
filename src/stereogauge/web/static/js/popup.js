// The definition behind a header: name, formula, unit, source, from the declarations.

import { url } from "./api.js";
import { button, h, placeBeside, put } from "./dom.js";

const box = () => document.getElementById("popup");

/** Close the pop-up; the browser gives the focus back. */
export const close = () => box().hidePopover();

/** Show content beside the element that asked for it. */
export function open(anchor, title, ...content) {
  put(box(), button("✕", close, { class: "close quiet", "aria-label": "Close" }), h("h3", title), content);
  box().togglePopover(true);
  placeBeside(box(), anchor, { x: scrollX, y: scrollY });
  box().querySelector("button").focus();
}

const limit = (value) => ({ inf: "∞", "-inf": "−∞" })[value] ?? String(value);
const bound = (pair) => (pair ? `${limit(pair[0])} … ${limit(pair[1])}` : null);
const pairs = (entries) => {
  const known = Object.entries(entries).filter(([, value]) => value);
  return h(
    "dl",
    known.map(([name, value]) => [h("dt", name), h("dd", value)]),
  );
};

function formula(kind, id) {
  const src = url(`catalogue/${kind}/${encodeURIComponent(id)}.svg`);
  return src && h("img.formula", { src, alt: `formula of ${id}` });
}

/** The definition of a column such as bad@1:nonocc. */
export function defineColumn(anchor, catalogue, metric, region) {
  const declared = catalogue.metrics.find((one) => one.id === metric.split("@")[0]);
  if (!declared) return;
  const pixels = catalogue.regions.find((one) => one.id === region);
  const parameter = (one) => [one.name, one.unit, one.description].filter(Boolean).join(", ");
  const facts = pairs({
    region: pixels ? `${region} — ${pixels.name}` : region,
    better: { lower: "lower", higher: "higher", zero: "nearer to 0" }[declared.direction],
    unit: declared.unit || "none",
    range: bound(declared.range),
    "range of real algorithms": bound(declared.heuristic_range),
    parameter: declared.parameters.map(parameter).join("; "),
    "a missing estimate is": declared.missing,
    "the value is": declared.scaling,
    "its count is a number of": declared.counts,
    pooled: declared.pools ? "over the pixels of several scenes" : "no, only averaged over scenes",
    source: declared.source,
  });
  const title = `${metric} · ${declared.name}`;
  open(anchor, title, formula("metrics", declared.id), h("div", declared.description), facts);
}

/** The definition of a region. */
export function defineRegion(anchor, catalogue, region) {
  const declared = catalogue.regions.find((one) => one.id === region);
  if (!declared) return open(anchor, region, h("div", "A mask that comes with the scenes."));
  const { name, description, source } = declared;
  open(anchor, `${region} · ${name}`, formula("regions", region), h("div", description), pairs({ source }));
}

/** The definition of a model. */
export function defineModel(anchor, { name, definition, options, source }) {
  open(anchor, name, h("div", definition), pairs({ ...options, source }));
}
