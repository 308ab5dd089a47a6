// The sliders of weights in the panel.

import { calm, choose, field, h, put } from "./dom.js";
import { announce } from "./reweighted.js";
import { metrics, weights } from "./selection.js";
import * as state from "./state.js";
import { termWords } from "./words.js";

/** Sliders: the order follows in the page, frame by frame; the address and the server follow once the finger rests. */
export function weightPart(context) {
  const { catalogue } = context;
  const now = weights(context);
  const total = Object.values(now).reduce((sum, one) => sum + one, 0) || 1;
  const top = Math.max(...Object.values(now), 1e-9);
  const follow = calm((changes) => state.update(changes, { quietly: true }) || announce(null), 200);
  const list = h("div", { class: "weights" });
  const values = { ...now };
  const move = (name, input) => {
    values[name] = (Number(input.value) / 100) * top;
    const sum = Object.values(values).reduce((a, b) => a + b, 0) || 1;
    for (const other of list.querySelectorAll("[data-weight]"))
      other.parentElement.querySelector("output").textContent =
        `${Math.round((100 * values[other.dataset.weight]) / sum)} %`;
    announce({ ...values });
    if (sum > 1e-9)
      follow({
        weights: Object.entries(values).map(([key, value]) => `${key}=${Number(value.toPrecision(4))}`),
        profile: null,
      });
  };
  put(
    list,
    Object.entries(now).map(([name, value]) =>
      h(
        "div",
        { class: "weight" },
        h("span", { class: "name", title: `${termWords(context, name)} (${name})` }, termWords(context, name)),
        h("input", {
          type: "range",
          min: 0,
          max: 100,
          step: 1,
          value: Math.round((100 * value) / top),
          "data-weight": name,
          "aria-label": `Weight of ${termWords(context, name)} (${name})`,
          oninput: (event) => move(name, event.target),
        }),
        h("output", {}, `${Math.round((100 * value) / total)} %`),
      ),
    ),
  );
  const available = new Set(metrics(context));
  return h(
    "div",
    { "data-part": "weights" },
    field(
      "profile",
      choose(
        [
          ["", state.has("weights") ? "your own weights" : "equal weights"],
          ...catalogue.profiles.map((one) => [one.id, one.name]),
        ],
        state.get("profile", ""),
        (value) => state.update({ profile: value || null, weights: null }),
        { "aria-label": "Profile", id: "profile" },
      ),
    ),
    field(
      "scale",
      choose(
        catalogue.normalisations,
        state.get("normalisation", "heuristic"),
        (value) => state.update({ normalisation: value }),
        { "aria-label": "Normalisation" },
      ),
    ),
    list,
    Object.keys(now).some((name) => !available.has(name.split(":")[0])) &&
      h("p", { class: "hint" }, "The weight of a metric without scores is shared among the others."),
  );
}
