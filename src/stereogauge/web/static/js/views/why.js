// Why one algorithm is above another: the terms of the difference as bars that sum to it.

import { h, put } from "../dom.js";
import { digits, full, percent } from "../format.js";
import * as state from "../state.js";

const LEFT = "#0072B2";
const RIGHT = "#D55E00";
const ALL_WEIGHT = 0.9; // of a term that would leave nothing for the others

/** One bar around a middle line: to the left it speaks for the first algorithm. */
function bar(amount, largest, label) {
  const share = largest > 0 ? (50 * Math.abs(amount)) / largest : 0;
  return h(
    "td",
    { class: "contest text" },
    h(
      "div",
      { class: "axis", title: label },
      amount !== 0 &&
        h("i", {
          style: {
            width: `${share}%`,
            [amount < 0 ? "right" : "left"]: "50%",
            background: amount < 0 ? LEFT : RIGHT,
          },
        }),
    ),
    h("span", { class: "unseen" }, label),
  );
}

/** Which side of the middle speaks for whom. */
const sides = (explanation) => [
  h("i", { class: "swatch", style: { background: LEFT } }),
  `◂ ${explanation.first} better · ${explanation.second} ▸ `,
  h("i", { class: "swatch", style: { background: RIGHT } }),
];

const speaksFor = (explanation, amount) => (amount < 0 ? explanation.first : explanation.second);
const label = (explanation, amount) =>
  amount === 0 ? "no difference" : `${digits(Math.abs(amount))} for ${speaksFor(explanation, amount)}`;

/** The words of a term and its id, small beside them. */
const named = (reason) => [reason.name, h("span", { class: "id" }, ` ${reason.term}`)];

/** The difference by metric with both scores. */
export function termsTable(explanation, most = Number.POSITIVE_INFINITY) {
  const bySize = [...explanation.terms].sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount));
  const terms = bySize.slice(0, most).sort((a, b) => a.amount - b.amount);
  const others = bySize.slice(most);
  const rest = others.reduce((sum, one) => sum + one.amount, 0);
  const largest = Math.max(...terms.map((one) => Math.abs(one.amount)), Math.abs(rest));
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" },
    h(
      "table",
      { class: "duel why terms" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { class: "text", scope: "col" }, "what counts"),
          h("th", { scope: "col" }, "weight"),
          h("th", { scope: "col" }, explanation.first),
          h("th", { scope: "col" }, explanation.second),
          h("th", { class: "text contest", scope: "col" }, sides(explanation)),
        ),
      ),
      h(
        "tbody",
        {},
        terms.map((one) =>
          h(
            "tr",
            { "data-term": one.term, "data-amount": one.amount },
            h("td", { class: "text wrap" }, named(one)),
            h("td", {}, percent(one.weight)),
            h("td", { title: full(one.first) }, digits(one.first)),
            h("td", { title: full(one.second) }, digits(one.second)),
            bar(one.amount, largest, label(explanation, one.amount)),
          ),
        ),
      ),
      others.length > 0 &&
        h(
          "tbody",
          {},
          h(
            "tr",
            { "data-amount": rest },
            h("td", { class: "text hint" }, `${others.length} other terms`),
            h("td", {}, percent(others.reduce((sum, one) => sum + one.weight, 0))),
            h("td", {}),
            h("td", {}),
            bar(rest, largest, label(explanation, rest)),
          ),
        ),
      h(
        "tfoot",
        {},
        h(
          "tr",
          {},
          h("th", { class: "text", scope: "row" }, "score, their sum"),
          h("td", {}, ""),
          h("td", { title: full(explanation.scores[0]) }, digits(explanation.scores[0])),
          h("td", { title: full(explanation.scores[1]) }, digits(explanation.scores[1])),
          h("td", { class: "text" }, label(explanation, explanation.difference)),
        ),
      ),
    ),
  );
}

/** Parts of the difference by name: scenes or regions. */
export function piecesTable(explanation, title, pieces, link = null) {
  const shown = pieces.filter((one) => one.amount !== 0 || one.attributed);
  const largest = Math.max(...shown.map((one) => Math.abs(one.amount)), 0);
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" },
    h(
      "table",
      { class: "duel why" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { class: "text", scope: "col" }, title),
          h("th", { scope: "col" }, "share"),
          h("th", { class: "text contest", scope: "col" }, sides(explanation)),
        ),
      ),
      h(
        "tbody",
        {},
        [...shown]
          .sort((a, b) => a.amount - b.amount)
          .map((one) =>
            h(
              "tr",
              {},
              h("td", { class: "text wrap" }, link?.(one.name) ? h("a", { href: link(one.name) }, one.name) : one.name),
              h("td", {}, explanation.difference ? percent(one.amount / explanation.difference) : "–"),
              bar(one.amount, largest, label(explanation, one.amount)),
            ),
          ),
      ),
    ),
  );
}

/** The sentence of what would change the order. */
function changes(explanation, ties) {
  const near = ties
    .filter((one) => one.weight > 0 && one.tie < ALL_WEIGHT)
    .sort((a, b) => Math.abs(Math.log(a.tie / a.weight)) - Math.abs(Math.log(b.tie / b.weight)))[0];
  if (!near) return `No other weight of one term or property alone would put ${ties[0].rival} first.`;
  const words = explanation.terms.find((one) => one.term === near.of)?.words ?? near.of;
  return (
    `It would change if ${words} weighed ${percent(near.tie)} instead of ${percent(near.weight)}: ` +
    `then ${near.rival} would lead.`
  );
}

/** Show an explanation in an element. */
export function why(element, explanation, { title, more, ties = [], most }) {
  return put(
    element,
    h("h2", {}, title),
    termsTable(explanation, most),
    explanation.terms.some((one) => one.first === null || one.second === null) &&
      h(
        "p",
        { class: "caption" },
        "–: no score over all scenes; on those where a map covers too little of the pixels, it takes the last place.",
      ),
    h("p", { id: "in-words" }, explanation.text),
    ties.length > 0 && h("p", { id: "break-even" }, changes(explanation, ties)),
    more &&
      h(
        "p",
        { class: "links" },
        h("a", { href: more }, "by scene and region"),
        h("a", { href: state.address({ first: explanation.first, second: explanation.second }, "compare") }, "test it"),
      ),
  );
}
