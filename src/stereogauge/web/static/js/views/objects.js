// Scores by object: the planes, fine structures and foreground objects of a scene.

import { h, put } from "../dom.js";
import { digits, full, whole } from "../format.js";

const KINDS = { plane: "Planes", structure: "Fine structures", object: "Foreground objects" };

/** Draw the objects with the scores of one algorithm; `show` is called with the object that was chosen. */
export function drawObjects(box, answer, algorithm, show) {
  return put(
    box,
    h("h2", { class: "section" }, "By object"),
    h("p", { class: "caption" }, `Scores of ${algorithm}; choose an object to see it.`),
    answer.length === 0 && h("p", { class: "hint" }, "This scene has no planes, fine structures or discontinuities."),
    Object.entries(KINDS).map(([kind, title]) => {
      const own = answer.filter((one) => one.kind === kind).sort((one, other) => other.pixels - one.pixels);
      return own.length > 0 && kindTable(title, own, show);
    }),
  );
}

function kindTable(title, objects, show) {
  const measured = objects.flatMap((one) => one.scores);
  const metrics = [...new Map(measured.map((one) => [one.metric, one.unit]))];
  return h(
    "details",
    {},
    h("summary", {}, `${title} (${objects.length})`),
    h(
      "table",
      { class: "objects" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { class: "text" }, "object"),
          h("th", {}, "pixels"),
          metrics.map(([metric, unit]) => h("th", {}, metric, unit && h("span", { class: "unit" }, unit))),
        ),
      ),
      h(
        "tbody",
        {},
        objects.map((one) => row(one, metrics, show)),
      ),
    ),
  );
}

const row = (one, metrics, show) =>
  h(
    "tr",
    {},
    h(
      "td",
      { class: "text" },
      h("button", { type: "button", title: `at ${one.x}, ${one.y}`, onclick: () => show(one) }, one.region),
    ),
    h("td", {}, whole(one.pixels)),
    metrics.map(([metric]) => {
      const score = one.scores.find((candidate) => candidate.metric === metric);
      return h("td", { title: score?.note || full(score?.value) }, digits(score?.value));
    }),
  );
