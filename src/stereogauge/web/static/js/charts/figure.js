// What the server's figures hold, in Plotly's JSON: arrays, texts of hover boxes, titles.

import { digits } from "../format.js";

const KINDS = {
  f8: Float64Array,
  f4: Float32Array,
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
};

/** The values of an array of a trace, which may be packed; null where there is no number. */
export function values(given) {
  if (!given?.bdata) return given ?? [];
  const bytes = Uint8Array.from(atob(given.bdata), (one) => one.charCodeAt(0));
  return Array.from(new KINDS[given.dtype](bytes.buffer), (one) => (Number.isNaN(one) ? null : one));
}

const ENTITIES = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&#39;": "'", "&amp;": "&" };

/** Lines of a text in which the server wrote `<br>` and escaped what would be markup. */
export const lines = (text) =>
  String(text ?? "")
    .split("<br>")
    .map((line) => line.replace(/&(lt|gt|quot|amp|#x27|#39);/g, (one) => ENTITIES[one]));

/** A number as d3's short formats write it: .2f, .4g, .0%; a text as it is. */
function formatted(value, format) {
  if (typeof value !== "number" || !format) return typeof value === "number" ? digits(value) : String(value ?? "–");
  const [, places, kind] = /\.(\d+)~?([fg%])/.exec(format) ?? [];
  if (kind === "f") return value.toFixed(places);
  if (kind === "%") return `${(100 * value).toFixed(places)} %`;
  return kind === "g" ? String(Number(value.toPrecision(places))) : digits(value);
}

/** A template such as "%{text}: %{x:.2f}" with the values of a point put in. */
export const filled = (template, point) =>
  template.replace(/%\{(\w+)(?::([^}]+))?\}/g, (_, name, format) => formatted(point[name], format));

/** The lines that describe a point of a trace. */
export function described(trace, point) {
  if (trace.hoverinfo === "name") return [trace.name];
  if (!trace.hovertemplate) return [trace.name, `${formatted(point.x)}, ${formatted(point.y)}`].filter(Boolean);
  const [own, extra] = trace.hovertemplate.split("<extra>");
  const said = lines(own).map((line) => filled(line, point));
  return extra === undefined && trace.name ? [...said, trace.name] : said;
}
