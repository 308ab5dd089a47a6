// Tuning studies of this store; without any, how to make one.

import { ask, isStatic } from "../api.js";
import { h, put } from "../dom.js";
import { lacking } from "../states.js";

export function create(root) {
  async function refresh() {
    const studies = isStatic ? [] : await ask("tuning");
    if (!studies.length) {
      return put(root, lacking("There is no tuning study in this store",
        "A study searches the parameters of a matcher against a profile: the best settings, how much each parameter matters, and the trade-off between two aims. It appears here once it has run:",
        "stereogauge tune DATASET:ROOT --matcher sgm --profile balanced --store scores.sqlite"));
    }
    return put(root, h("h1", {}, "Studies"), h("ul", {}, studies.map((name) => h("li", {}, name))));
  }
  return { refresh };
}
