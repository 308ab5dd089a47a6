// The critical-difference diagram of a test over all algorithms; the server draws it.

import { chart } from "../chart.js";
import { behind } from "../diagrams.js";
import { h, put } from "../dom.js";

/** Show the answer of `significance` in an element. */
export function drawDifference(element, answer) {
  if (!answer.figure) return put(element, h("h2", {}, "Critical difference"), h("p", { class: "hint" }, answer.note));
  const plot = h("div", { class: "plot" });
  put(
    element,
    h("h2", {}, "Critical difference"),
    plot,
    h(
      "p",
      { class: "caption" },
      `${answer.note} `,
      `Bars join algorithms that Nemenyi's test at α = ${answer.alpha} does not tell apart.`,
    ),
    behind(
      ["algorithm", "average rank"],
      answer.algorithms.map((name, index) => [name, answer.average_rank[index]]),
    ),
  );
  return chart(plot, answer.figure, { label: "Critical-difference diagram" });
}
