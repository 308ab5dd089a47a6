// Requirements instead of weights: a form with the tables of a requirements.toml, and who meets them, limit by limit.

import { isStatic } from "../api.js";
import { cell, h, put, scroll, table } from "../dom.js";
import { digits, percent } from "../format.js";
import * as state from "../state.js";
import { grouped } from "../weights.js";
import { named } from "../words.js";

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
  let stated = {};
  try {
    stated = JSON.parse(state.get("requirements") ?? "{}");
  } catch {
    stated = {};
  }
  const fresh = !state.has("requirements");
  const send = (event) => {
    event.preventDefault();
    const tables = {};
    for (const input of form.querySelectorAll("input")) {
      if (input.value.trim() === "") continue;
      const [part, key] = input.name.split(".");
      tables[part] = { ...tables[part], [key]: Number(input.value) };
    }
    state.update({ requirements: JSON.stringify(tables), profile: null, weights: null, form: null });
  };
  const form = h(
    "form",
    { class: "requirements", id: "requirements", onsubmit: send },
    grouped(context.catalogue.requirements, (one) => one.table).map(([part, entries]) =>
      h(
        "fieldset",
        h("legend", part),
        entries.map(({ name, help, unit }) => {
          const key = `${part}.${name}`;
          const value = stated[part]?.[name] ?? (fresh ? (START[key] ?? "") : "");
          return h(
            "label",
            h("span", help),
            h("input", { type: "number", step: "any", min: 0, name: key, value: String(value) }),
            h("span.unit", unit || "0 to 1"),
          );
        }),
      ),
    ),
    h("button", { type: "submit", class: "primary" }, "Who meets this?"),
  );
  return form;
}

/** Algorithms × requirements: the measured value, and how far it is below its limit. */
function matrix(context, found) {
  const limit = (one) => `≤ ${digits(one.limit)} ${one.unit}`;
  const rows = found.algorithms.map((one) => ({
    "data-limits": one.algorithm,
    cells: [
      named(context, one.algorithm, state.address({ name: one.algorithm }, "algorithm")),
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
  return scroll(
    "Limits",
    table(
      [
        "algorithm",
        ...found.requirements.map((one) =>
          cell({ class: "words", title: one.arithmetic }, one.words, h("span.unit", limit(one))),
        ),
        "all",
      ],
      rows,
      { class: "limits" },
    ),
  );
}

/** Show the limits of an answer; `stating` opens the form. */
export function drawLimits(element, context, found, { stating }) {
  return put(
    element,
    h("h2", "Your limits"),
    !found &&
      !stating &&
      h(
        "p.hint",
        "None are stated. ",
        !isStatic &&
          h(
            "a",
            { id: "state-limits", href: state.address({ form: "requirements" }) },
            "State camera, distances, tolerance, run time and completeness",
          ),
      ),
    stating && requirementsForm(context),
    found && [
      matrix(context, found),
      found.requirements.map((one) => h("p.caption", `${one.words}: ${one.arithmetic}.`)),
      h("p.caption#geometry", h("strong", "What your camera allows: "), found.geometry.join(" ")),
    ],
  );
}
