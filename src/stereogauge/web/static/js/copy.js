// The panel of a static copy of the site.

import { shipped } from "./api.js";
import { choose, h } from "./dom.js";
import * as state from "./state.js";

/** The selections and models that a copy on a plain web host has answers for. */
export function shippedPart(context, view) {
  const sorted = (params) => {
    const own = new URLSearchParams(params);
    own.sort();
    return own.toString();
  };
  const now = sorted(state.selection());
  const parted = shipped().map((one) => ({
    ...one,
    group: one.title.includes(": ") ? one.title.split(": ")[0] : null,
  }));
  const models = context.catalogue.models.filter(
    (one) => one.id !== "middlebury" || new Set(state.all("metrics")).size === 1,
  );
  const go = (params) =>
    state.update({
      ...Object.fromEntries([...state.SELECTION, "sort", "column"].map((name) => [name, null])),
      ...Object.fromEntries(
        params.map(([name]) => [name, params.filter(([other]) => other === name).map(([, value]) => value)]),
      ),
    });
  return [
    view !== "compare" &&
      h(
        "fieldset",
        {},
        h("legend", {}, h("span", {}, "Model")),
        choose(
          models.map((one) => [one.id, one.name]),
          state.model(),
          (value) => state.update({ model: value, profile: null }),
          { "aria-label": "Model", id: "model" },
        ),
      ),
    (view === "compare" || state.model() === "weighted") &&
      h(
        "fieldset",
        {},
        h("legend", {}, h("span", {}, "Profile")),
        choose(
          [["", "equal weights"], ...context.catalogue.profiles.map((one) => [one.id, one.name])],
          state.get("profile", ""),
          (value) => state.update({ profile: value || null }),
          { "aria-label": "Profile" },
        ),
      ),
    h(
      "fieldset",
      {},
      h("legend", {}, h("span", {}, "Selections in this copy")),
      h(
        "div",
        { class: "choices endless" },
        parted.map((one, index) => [
          one.group && one.group !== parted[index - 1]?.group ? h("div", { class: "group-name" }, one.group) : null,
          h(
            "label",
            { class: "choice", title: one.title },
            h("input", {
              type: "radio",
              name: "shipped",
              checked: sorted(one.params) === now,
              onchange: () => go(one.params),
            }),
            h("span", { class: "name" }, one.group ? one.title.slice(one.group.length + 2) : one.title),
          ),
        ]),
      ),
    ),
    h(
      "p",
      { class: "hint" },
      "This is a fixed copy of the site. To select scenes, regions, metrics, algorithms and weights freely, ",
      "run the server: stereogauge serve STORE.",
    ),
  ];
}
