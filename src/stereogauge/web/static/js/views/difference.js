// Which differences are significant: the critical-difference diagram of a few algorithms, a ranked list of many or of
// long names.

import { SCENEWISE } from "../bar.js";
import { shortened } from "../choices.js";
import { behind } from "../diagrams.js";
import { h, put } from "../dom.js";
import { figure } from "../figure.js";
import { strip } from "./strip.js";

const MOST_JOINED = 15; // algorithms from which bars that join them cannot be read
const MOST_LISTED = 20;
const LETTER = 7; // px of a letter of a name, about

/** Show the answer of `significance` in an element. */
export function drawDifference(element, answer, context) {
  const title = h("h2", "Critical difference ", h("span.hint", `of the ${answer.of}`));
  if (!answer.figure) return put(element, title, h("p.hint", answer.note));
  const average = (name, index) => ({
    name,
    value: answer.average_rank[index],
    low: Math.max(1, answer.average_rank[index] - answer.critical_distance / 2),
    high: Math.min(answer.algorithms.length, answer.average_rank[index] + answer.critical_distance / 2),
  });
  // Names that leave the diagram no room are shortened in the list.
  const longest = Math.max(...answer.algorithms.map((name) => name.length));
  const many = answer.algorithms.length > MOST_JOINED || longest * LETTER > element.clientWidth;
  const rows = answer.algorithms.map(average);
  const [listed, rest] = shortened(rows, MOST_LISTED);
  const plot = h("div.plot");
  const options = { name: "critical-difference", over: SCENEWISE };
  const axis = "average rank with half the critical distance on either side; overlapping ones are not distinguished";
  put(
    element,
    title,
    plot,
    h(
      "p.caption",
      `${answer.note} `,
      !many && `Bars join algorithms that Nemenyi's test at α = ${answer.alpha} does not tell apart.`,
    ),
    behind(
      ["algorithm", "average rank"],
      rows.map((one) => [one.name, one.value]),
    ),
  );
  if (many) return put(plot, strip(context, listed, { axis, ...options }), rest);
  return figure(plot, answer.figure, context, { label: "Critical-difference diagram", ...options });
}
