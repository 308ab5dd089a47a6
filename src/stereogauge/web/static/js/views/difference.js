// The critical-difference diagram of a test over all algorithms; the server draws it.

import { behind } from "../diagrams.js";
import { h, put } from "../dom.js";
import { draw } from "../plots.js";

const ROW = 19; // px
const LETTER = 6.5; // px

const shortened = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

/** Show the answer of `significance` in an element. */
export function drawDifference(element, answer) {
  if (!answer.figure) return put(element, h("h2", {}, "Critical difference"), h("p", { class: "hint" }, answer.note));
  const chart = h("div", { class: "plot" });
  put(
    element,
    h("h2", {}, "Critical difference"),
    chart,
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
  const most = Math.max(8, Math.floor((0.3 * chart.clientWidth) / LETTER));
  const ranks = answer.average_rank;
  return draw(
    chart,
    answer.figure,
    {
      // The bars stand to the right of the last rank, a quarter apart.
      xaxis: { range: [ranks[0] - 0.3, ranks.at(-1) + 0.5 + 0.25 * answer.cliques.length] },
      yaxis: { ticktext: answer.algorithms.map((name) => shortened(name, most)) },
      height: 90 + ROW * answer.algorithms.length,
    },
    { label: "Critical-difference diagram" },
  );
}
