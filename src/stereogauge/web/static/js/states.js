// Empty and failed states: what is missing, and the command that fixes it.

import { attempt } from "./api.js";
import { h, link, put } from "./dom.js";
import * as state from "./state.js";

/** A store without scores. */
export const emptyStore = () =>
  lacking(
    "There are no scores yet",
    "A store is filled by evaluating results, or by the demonstration, which runs real matchers on a real pair:",
    "stereogauge demo --out demo-output\nstereogauge serve demo-output/demo.sqlite",
    h("p", "With results of your own, one folder per algorithm and one map per scene:"),
    h("pre", "stereogauge evaluate middlebury-v3:PATH results/ --store scores.sqlite\nstereogauge serve scores.sqlite"),
    h("p.hint", "Reload this page once the store has scores."),
  );

/** Something that a view needs and the store does not have. */
export const lacking = (title, text, command, ...more) =>
  h("div.empty", h("h1", title), h("p", text), h("pre", command), more);

/** What was refused, or went wrong. */
export const refused = (...text) => h("div.problem", { role: "alert" }, text);

/** A question that the server refused, in place of a whole page. */
export function explain(root, problem) {
  const unknown = problem.allowed?.length > 0;
  const mine = problem.status === 404 && state.has("submission");
  put(
    root,
    refused(
      h("strong", unknown ? "This link names something that is not here. " : "This cannot be shown. "),
      problem.message,
      h(
        "div.row",
        mine && link(state.address({}, "submit"), "Give your token"),
        link(`#${state.view()}`, "Start from the whole selection"),
      ),
    ),
  );
}

/** What a promise gives; a refusal takes the place of what an element holds, and the result is null. */
export const orSaid = (element, promise) =>
  attempt(promise, (problem) => {
    put(element, refused(problem.message));
    return null;
  });

/** The same for a question that a view depends on: a name that does not exist concerns the whole page. */
export const orRefused = (element, promise, ...others) =>
  attempt(promise, (problem) => {
    if (problem.allowed.length) throw problem;
    for (const one of others) put(one);
    put(element, refused(problem.message));
    return null;
  });
