// Empty and failed states: what is missing, and the command that mends it.

import { h, put } from "./dom.js";
import * as state from "./state.js";

/** A store without scores. */
export function emptyStore() {
  return h(
    "div.empty",
    h("h1", "There are no scores yet"),
    h(
      "p",
      "A store is filled by evaluating results, or by the demonstration, which runs real matchers on a real pair:",
    ),
    h("pre", "stereogauge demo --out demo-output\nstereogauge serve demo-output/demo.sqlite"),
    h("p", "With results of your own, one folder per algorithm and one map per scene:"),
    h("pre", "stereogauge evaluate middlebury-v3:PATH results/ --store scores.sqlite\nstereogauge serve scores.sqlite"),
    h("p.hint", "Reload this page once the store has scores."),
  );
}

/** Something that a view needs and the store does not have. */
export const lacking = (title, text, command, ...more) =>
  h("div.empty", h("h1", title), h("p", text), command && h("pre", command), more);

/** A question that the server refused. */
export function explain(root, problem) {
  const unknown = problem.allowed?.length > 0;
  put(
    root,
    h(
      "div",
      { class: "problem", role: "alert" },
      h("strong", unknown ? "This link names something that is not here. " : "This cannot be shown. "),
      problem.message,
      h(
        "div.row",
        problem.status === 404 &&
          state.has("submission") &&
          h("a", { href: state.address({}, "submit") }, "Give your token"),
        h("a", { href: `#${state.view()}` }, "Start from the whole selection"),
      ),
    ),
  );
}

/** The same, beside what is still good. */
export const refused = (problem) => h("div", { class: "problem", role: "alert" }, problem.message);
