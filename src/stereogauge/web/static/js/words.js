// Words before ids: what a metric, a region and a column are called.

import { h } from "./dom.js";

/** The text with a small first letter, unless its first word has capitals or digits inside. */
export function lowerFirst(text) {
  const [first] = text.split(" ");
  return /[A-Z0-9]/.test(first.slice(1)) ? text : text.charAt(0).toLowerCase() + text.slice(1);
}

/** A metric in words with its parameters: "bad pixels (1 px)"; an unknown one by its id. */
export function metricWords(context, metric) {
  const [id, stated] = metric.split("@");
  const declared = context.catalogue.metrics.find((one) => one.id === id);
  if (!declared) return metric;
  const values = stated?.split(",").map((value, at) => `${value} ${declared.parameters[at]?.unit ?? ""}`.trim());
  return `${lowerFirst(declared.name)}${values ? ` (${values.join(", ")})` : ""}`;
}

/** A region in words; a mask that comes with the scenes by its name. */
export function regionWords(context, region) {
  const declared = context.catalogue.regions.find((one) => one.id === region);
  return declared ? lowerFirst(declared.name) : region;
}

/** A column in words: the metric, and its region where it was chosen and does not belong to the metric. */
export function columnWords(context, column) {
  const own = column.label === column.metric;
  const words = metricWords(context, column.metric);
  return own ? words : `${words}, ${regionWords(context, column.region)}`;
}

/** A term of weights, which is a metric or a column's id, in words. */
export function termWords(context, term) {
  const [metric, region] = term.split(":");
  return region ? `${metricWords(context, metric)}, ${regionWords(context, region)}` : metricWords(context, metric);
}

/** An option of a list of columns: words first, the id second. */
export const columnOption = (context, column) => [column.id, `${columnWords(context, column)} · ${column.label}`];

/** An id, small beside its words. */
export const idMark = (id) => h("span", { class: "id" }, id);
