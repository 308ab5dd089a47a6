// Which differences are significant: the critical-difference diagram of a few algorithms, a ranked list of many or of
// long names.

import { SCENEWISE } from "../bar.js";
import { h, put } from "../dom.js";
import { figure } from "../figure.js";

const MOST_JOINED = 15; // algorithms from which bars that join them cannot be read
const LETTER = 7; // px of a letter of a name, about

/** Show the answer of `significance` in an element. */
export function drawDifference(element, answer, context) {
  const title = h("h2", "Critical difference ", h("span.hint", `of the ${answer.of}`));
  if (!answer.figure) return put(element, title, h("p.hint", answer.note));
  // Names that leave the diagram no room are shortened in the list.
  const longest = Math.max(...answer.algorithms.map((name) => name.length));
  const many = answer.algorithms.length > MOST_JOINED || longest * LETTER > element.clientWidth;
  const plot = h("div.plot");
  put(
    element,
    title,
    plot,
    h(
      "p.caption",
      `${answer.note} `,
      many
        ? "Intervals that overlap are not distinguished."
        : `Bars join algorithms that Nemenyi's test at α = ${answer.alpha} does not tell apart.`,
    ),
  );
  const options = { label: "Critical-difference diagram", name: "critical-difference", over: SCENEWISE };
  return figure(plot, many ? answer.list : answer.figure, context, options);
}
