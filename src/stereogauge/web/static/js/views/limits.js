// Requirements instead of weights: a form with the tables of a requirements.toml, and who meets them, limit by limit.

import { isStatic } from "../api.js";
import { cell, h, headed, put, table } from "../dom.js";
import { digits, percent } from "../format.js";
import * as state from "../state.js";
import { grouped } from "../weights.js";
import { linked } from "../words.js";

const START = {
  "camera.focal": 1000,
  "camera.baseline": 0.12,
  "camera.width": 1280,
  "camera.height": 960,
  "distances.near": 1,
  "distances.far": 10,
  "completeness.share": 0.8,
};

/** The form, filled with what the address says; its fields are those that the server declares. */
function requirementsForm(context) {
  const stated = readRequirements();
  const send = (event) => {
    event.preventDefault();
    const tables = {};
    for (const [name, value] of new FormData(event.target)) {
      const [part, key] = name.split(".");
      if (value.trim()) tables[part] = { ...tables[part], [key]: Number(value) };
    }
    state.update({ requirements: JSON.stringify(tables), profile: null, weights: null, form: null });
  };
  const entry = ({ table: part, name, help, unit }) => {
    const key = `${part}.${name}`;
    const value = stated ? stated[part]?.[name] : START[key];
    const input = h("input", { type: "number", step: "any", min: 0, name: key, value: String(value ?? "") });
    return h("label", h("span", help), input, h("span.unit", unit || "0 to 1"));
  };
  return h(
    "form.requirements#requirements",
    { onsubmit: send },
    grouped(context.catalogue.requirements, (one) => one.table).map(([part, entries]) =>
      h("fieldset", h("legend", part), entries.map(entry)),
    ),
    h("button.primary", { type: "submit" }, "Who meets this?"),
  );
}

/** The requirements of the address; null without any. */
function readRequirements() {
  try {
    return JSON.parse(state.get("requirements"));
  } catch {
    return {};
  }
}

/** Algorithms × requirements: the measured value, and how far it is below its limit. */
function matrix(context, found) {
  const limit = (one) => `≤ ${digits(one.limit)} ${one.unit}`;
  const rows = found.algorithms.map((one) => ({
    "data-limits": one.algorithm,
    cells: [
      linked(context, one.algorithm),
      ...found.requirements.map((required, at) => {
        const value = one.values[at];
        if (value === null) return cell({ class: "gap", "data-label": required.words }, "not measured");
        const met = value <= required.limit;
        return cell(
          { class: met ? "met" : "missed", "data-label": required.words },
          met ? "✓ " : "✗ ",
          `${digits(value)} ${required.unit}`,
          h("span.unit", met ? `${percent(one.margins[at])} below the limit` : `limit ${digits(required.limit)}`),
        );
      }),
      cell({ "data-label": "all of them" }, one.meets_all === null ? "?" : one.meets_all ? "✓" : "✗"),
    ],
  }));
  const heads = found.requirements.map((one) =>
    headed(one.words, limit(one), { class: "words", title: one.arithmetic }),
  );
  return table(["algorithm", ...heads, "all"], rows, { class: "limits", label: "Limits" });
}

/** Show the limits of an answer; `stating` opens the form. */
export function drawLimits(element, context, found, { stating }) {
  const href = state.address({ form: "requirements" });
  const words = "State camera, distances, tolerance, run time and completeness";
  return put(
    element,
    h("h2", "Your limits"),
    !found && !stating && h("p.hint", "None are stated. ", !isStatic && h("a#state-limits", { href }, words)),
    stating && requirementsForm(context),
    found && [
      matrix(context, found),
      found.requirements.map((one) => h("p.caption", `${one.words}: ${one.arithmetic}.`)),
      h("p.caption#geometry", h("strong", "What your camera allows: "), found.geometry.join(" ")),
    ],
  );
}
