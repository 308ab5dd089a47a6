// The layers of a scene, how the address names them, and the controls above a pane.

import { isStatic } from "../api.js";
import { button, choose, h } from "../dom.js";
import { digits, full } from "../format.js";
import { declared } from "../scope.js";

const LAYERS = {
  left: "left image",
  right: "right image",
  truth: "ground truth",
  estimate: "estimate",
  error: "absolute error",
  signed: "signed error",
  metric: "metric",
  region: "region",
  set: "geometry",
  confidence: "confidence",
  hard: "share of algorithms that are wrong",
};
export const OF_ALGORITHM = ["estimate", "error", "signed", "metric", "confidence"];

/** The layer, algorithm and metric (or region) of a pane from its text in the address, and back. */
export const parse = (text) => {
  const [layer, algorithm, metric] = text.split("~").map(decodeURIComponent);
  return { layer, algorithm, metric };
};
export const write = ({ layer, algorithm, metric }) =>
  [layer, algorithm, metric]
    .filter((one) => one !== undefined && one !== "")
    .map(encodeURIComponent)
    .join("~");

/** The layers that a scene has. */
export const layerChoices = (scene) =>
  Object.keys(LAYERS).filter((one) => {
    if (one === "set" && isStatic) return false;
    return one === "confidence" ? scene.confidence.length : scene.layers.includes(one);
  });

/** What can be chosen within a layer: its label, and the names. */
const variants = (scene, pictured) => ({
  metric: ["Metric", pictured],
  region: ["Region", scene.regions],
  set: ["Geometry set", scene.sets],
});

/** The controls above a pane; `change(parts)` and `close()` follow them. */
export function paneHead(scene, { layer, algorithm, metric }, pictured, { change, close }) {
  const layers = layerChoices(scene).map((one, index) => [one, `${index + 1} ${LAYERS[one]}`]);
  const [label, names] = variants(scene, pictured)[layer] ?? [];
  const owners = layer === "confidence" ? scene.confidence : scene.algorithms;
  return [
    choose("Layer", layers, layer, (next) => change({ layer: next }), { "data-role": "layer" }),
    OF_ALGORITHM.includes(layer) &&
      choose("Algorithm", owners, algorithm, (next) => change({ algorithm: next }), { "data-role": "algorithm" }),
    names && choose(label, names, metric ?? names[0], (next) => change({ metric: next }), { "data-role": layer }),
    button("✕", close || null, { class: "quiet close-pane", "aria-label": "Close this pane", disabled: !close }),
  ];
}

/** The score of a metric's picture, and its rank among the `shown` ones of the same metric: { metric, score }. */
export function scoreWords(context, { metric, score }, shown) {
  if (score === null || score === undefined) return null;
  const { direction } = declared(context, metric) ?? {};
  const cost = (value) => (direction === "higher" ? -value : direction === "zero" ? Math.abs(value) : value);
  const rivals = shown.filter((one) => one.metric === metric && Number.isFinite(one.score));
  const rank = 1 + rivals.filter((one) => cost(one.score) < cost(score)).length;
  const unit = context.columns.find((one) => one.metric === metric)?.unit ?? "";
  return h(
    "strong.score",
    { title: full(score), "data-score": full(score) },
    `${metric} ${digits(score)} ${unit}`.trim(),
    rivals.length > 1 && `, rank ${rank} of ${rivals.length} shown`,
  );
}

/** The crops of a small set of pixels; `picture(crop)` draws one and `jump(crop)` leads there. */
export const cropRow = (crops, picture, jump) =>
  crops.length > 0 &&
  h(
    "span.set-crops",
    crops.map((one) => button([picture(one), `${one.pixels} px`], () => jump(one), { title: `at ${one.x}, ${one.y}` })),
  );
