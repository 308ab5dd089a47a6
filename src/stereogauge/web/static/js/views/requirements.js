// Requirements instead of weights: a form with the tables of a requirements.toml.

import { h } from "../dom.js";
import * as state from "../state.js";

const FIELDS = [
  ["camera", "focal", "focal length", "px", 1000],
  ["camera", "baseline", "baseline", "m", 0.12],
  ["camera", "width", "image width", "px", 1280],
  ["camera", "height", "image height", "px", 960],
  ["distances", "near", "nearest distance", "m", 1],
  ["distances", "far", "farthest distance", "m", 10],
  ["tolerance", "depth", "depth error that still is right", "m", 0.2],
  ["tolerance", "at", "… up to the distance", "m", ""],
  ["object", "size", "smallest object, width", "m", ""],
  ["object", "at", "… at the distance", "m", ""],
  ["time", "seconds", "largest run time", "s", ""],
  ["completeness", "share", "share of pixels with a value", "0 to 1", ""],
];

/** The form, filled with what the address says. */
export function requirementsForm() {
  let stated = {};
  try {
    stated = JSON.parse(state.get("requirements") ?? "{}");
  } catch {
    stated = {};
  }
  const fresh = !state.has("requirements");
  const form = h(
    "form",
    {
      class: "requirements",
      id: "requirements",
      onsubmit: (event) => {
        event.preventDefault();
        const tables = {};
        for (const input of form.querySelectorAll("input")) {
          if (input.value.trim() === "") continue;
          const [table, key] = input.name.split(".");
          tables[table] = { ...tables[table], [key]: Number(input.value) };
        }
        state.update({ requirements: JSON.stringify(tables), profile: null, weights: null, form: null });
      },
    },
    FIELDS.map(([table, key, text, unit, start]) => {
      const name = `${table}.${key}`;
      const value = stated[table]?.[key] ?? (fresh ? start : "");
      return h(
        "label",
        {},
        h("span", {}, text),
        h("input", { type: "number", step: "any", min: 0, name, value: String(value) }),
        h("span", { class: "unit" }, unit),
      );
    }),
    h("button", { type: "submit", class: "primary" }, "Who meets this?"),
  );
  return form;
}
