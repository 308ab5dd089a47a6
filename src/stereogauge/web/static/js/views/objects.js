// Scores by object: the planes, fine structures and foreground objects of a scene.

import { button, figureCell, h, headed, put, table } from "../dom.js";
import { whole } from "../format.js";

const KINDS = { plane: "Planes", structure: "Fine structures", object: "Foreground objects" };

/** Draw the objects with the scores of one algorithm; `show` is called with the object that was chosen. */
export function drawObjects(box, answer, algorithm, show) {
  const kinds = Map.groupBy(answer, (one) => one.kind);
  return put(
    box,
    h("h2.section", "By object"),
    h("p.caption", `Scores of ${algorithm}; choose an object to see it.`),
    answer.length === 0 && h("p.hint", "This scene has no planes, fine structures or discontinuities."),
    Object.entries(KINDS).map(([kind, title]) => kinds.has(kind) && kindTable(title, kinds.get(kind), show)),
  );
}

function kindTable(title, objects, show) {
  const measured = objects.flatMap((one) => one.scores);
  const metrics = [...new Map(measured.map((one) => [one.metric, one.unit]))];
  return h(
    "details",
    h("summary", `${title} (${objects.length})`),
    table(
      ["object", "pixels", ...metrics.map(([metric, unit]) => headed(metric, unit))],
      objects
        .toSorted((one, other) => other.pixels - one.pixels)
        .map((one) => [
          button(one.region, () => show(one), { title: `at ${one.x}, ${one.y}` }),
          whole(one.pixels),
          ...metrics.map(([metric]) => {
            const score = one.scores.find((candidate) => candidate.metric === metric);
            return figureCell(score?.value, score?.note ? { title: score.note } : {});
          }),
        ]),
      { class: "objects" },
    ),
  );
}
