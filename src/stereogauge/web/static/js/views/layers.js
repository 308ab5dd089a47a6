// The layers of a scene, how the address names them, and the controls above a pane.

import { isStatic } from "../api.js";
import { choose, h } from "../dom.js";
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

/** The controls above a pane; `change(parts)` and `close()` follow them. */
export function paneHead(scene, spec, pictured, { change, close }) {
  return [
    choose(
      layerChoices(scene).map((one, index) => [one, `${index + 1} ${LAYERS[one]}`]),
      spec.layer,
      (layer) => change({ layer }),
      { "aria-label": "Layer", "data-role": "layer" },
    ),
    OF_ALGORITHM.includes(spec.layer) &&
      choose(
        spec.layer === "confidence" ? scene.confidence : scene.algorithms,
        spec.algorithm,
        (algorithm) => change({ algorithm }),
        { "aria-label": "Algorithm", "data-role": "algorithm" },
      ),
    spec.layer === "metric" &&
      choose(pictured, spec.metric ?? pictured[0], (metric) => change({ metric }), {
        "aria-label": "Metric",
        "data-role": "metric",
      }),
    spec.layer === "region" &&
      choose(scene.regions, spec.metric ?? scene.regions[0], (metric) => change({ metric }), {
        "aria-label": "Region",
      }),
    spec.layer === "set" &&
      choose(scene.sets, spec.metric ?? scene.sets[0], (metric) => change({ metric }), {
        "aria-label": "Geometry set",
      }),
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        style: { "margin-left": "auto" },
        "aria-label": "Close this pane",
        disabled: !close,
        onclick: close || null,
      },
      "✕",
    ),
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
    "strong",
    { class: "score", title: full(score), "data-score": full(score) },
    `${metric} ${digits(score)} ${unit}`.trim(),
    rivals.length > 1 && `, rank ${rank} of ${rivals.length} shown`,
  );
}

/** The crops of a small set of pixels; `picture(crop)` draws one and `jump(crop)` leads there. */
export const cropRow = (crops, picture, jump) =>
  crops.length > 0 &&
  h(
    "span.set-crops",
    crops.map((one) =>
      h(
        "button",
        { type: "button", title: `at ${one.x}, ${one.y}`, onclick: () => jump(one) },
        picture(one),
        `${one.pixels} px`,
      ),
    ),
  );
