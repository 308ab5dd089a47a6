// The weights of a weighted order as sliders: one per property, and one per term below it.

import { h } from "../dom.js";
import { plural } from "../format.js";
import { grouped, weightControl, weightless } from "../weights.js";
import { termWords } from "../words.js";

let unfolded = false;

/** The sliders of the terms of a ranking; the order follows them. */
export function weightSliders(context, rank) {
  const control = weightControl(context, Object.fromEntries(rank.terms.map((term, at) => [term, rank.weights[at]])));
  const groups = grouped([
    ...rank.terms.map((term, at) => ({ term, property: rank.properties[at] })),
    ...weightless(context, rank.terms).map((term) => ({ term, property: "without weight" })),
  ]);
  const row = (names, key, words, kind) =>
    h(
      "div",
      { class: kind },
      h("span.name", words),
      control.slider(names, key, words),
      kind === "weight-group" && groups.length > 1 && control.only(names, key),
    );
  const part = ([property, members]) => {
    const names = members.map((one) => one.term);
    return h(
      "div.weight-part",
      row(names, property, property, "weight-group"),
      names.map((term) => row([term], term, termWords(context, term), "weight-term")),
    );
  };
  const ontoggle = (event) => {
    unfolded = event.target.open;
  };
  return h(
    "details.weights",
    { "data-part": "weights", open: unfolded, ontoggle },
    h("summary", `Weights of ${plural(rank.terms.length, "term")}: drag them, the order follows`),
    groups.map(part),
  );
}
