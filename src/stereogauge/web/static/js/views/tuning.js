// Tuning studies of this store: what was gained, the trade-off, which parameters matter; without any, how to make one.

import { ask } from "../api.js";
import { chart } from "../chart.js";
import { stated } from "../choices.js";
import { behind } from "../diagrams.js";
import { figureCell, h, put, table } from "../dom.js";
import { digits } from "../format.js";
import { namesOf } from "../scope.js";
import * as state from "../state.js";
import { lacking } from "../states.js";

export function create(root) {
  async function refresh() {
    const studies = await ask("tuning");
    if (!studies.length) {
      return put(
        root,
        lacking(
          "There is no tuning study in this store",
          "A study searches the parameters of a matcher against a profile: the best settings, " +
            "how much each parameter matters, and the trade-off between two aims. It appears here once it has run:",
          "stereogauge tune --matcher sgm --dataset DATASET:ROOT --profile balanced --store scores.sqlite",
        ),
      );
    }
    const name = studies.find((one) => one.name === state.get("study"))?.name ?? studies[0].name;
    const path = `tuning/${encodeURIComponent(name)}`;
    const [study, figures] = await Promise.all([ask(path), ask(`${path}/figures`)]);
    return show(studies, study, figures);
  }

  function show(studies, study, figures) {
    const trials = h("div.plot#trials");
    const weights = h("div.plot#importance");
    const states = Object.entries(study.states).filter(([, count]) => count);
    const counts = states.map(([name, count]) => `${count} ${name}`).join(", ");
    const title = study.objectives.length > 1 ? "Trade-off" : "Trials";
    const goals = Object.keys(study.importance);
    put(
      root,
      h(
        "div.row",
        h("h1", "Tuning study"),
        stated("study", "Study", namesOf(studies), study.name, { id: "study" }),
        h(
          "span.hint",
          `${study.matcher} on ${study.dataset || "scenes of its own"}, ${study.scenes.length} scenes · `,
          `${counts} · sampler ${study.sampler}, seed ${study.seed}`,
        ),
      ),
      study.matcher_text &&
        h(
          "div",
          h("h2.section", "Recommended setting"),
          h("pre#recommended", study.matcher_text),
          study.best === study.baseline &&
            h("p.hint", "That is the default: no trial was better on the scenes used for the search."),
        ),
      gains("On the scenes used for the search", study.seen),
      gains("On held-out scenes", study.held_out),
      study.seen?.length > 0 &&
        h(
          "p.caption",
          "Better by: the difference in the goal's own unit, positive where the tuned setting is the better one; ",
          "its interval comes from drawing the scenes again at random.",
        ),
      h(
        "div.split.section",
        h("div", h("h2", title), trials),
        h(
          "div",
          h("h2", "Which parameters matter"),
          weights,
          behind(["parameter", ...goals.map((name) => `share for ${name}`)], () => shares(study)),
        ),
      ),
      behind(
        ["trial", "state", ...namesOf(study.objectives), ...Object.keys(study.trials[0]?.parameters ?? {})],
        study.trials.map((one) => [
          String(one.number),
          one.state,
          ...study.objectives.map((_, index) => one.values?.[index] ?? null),
          ...Object.values(one.parameters).map(String),
        ]),
      ),
    );
    drawn(trials, figures.trials, { height: 340, named: true, label: title });
    drawn(weights, figures.importance, { named: goals.length > 1, label: "Importance of the parameters" });
  }

  const gains = (title, rows) =>
    rows?.length > 0 &&
    h(
      "div.section",
      h("h2", title),
      table(
        ["goal", "default", "tuned", "better by", "95 % interval of the difference", "relative", "better on"],
        rows.map((row) => [
          `${row.goal}${row.unit ? ` [${row.unit}]` : ""}`,
          figureCell(row.default),
          figureCell(row.tuned, { class: row.difference > 0 ? "best" : null }),
          figureCell(row.difference),
          `${digits(row.low)} … ${digits(row.high)}`,
          row.percent === null ? "–" : `${digits(row.percent)} %`,
          `${row.better} of ${row.compared} scenes`,
        ]),
        { label: title },
      ),
    );

  function shares({ importance }) {
    const owns = Object.values(importance);
    const names = [...new Set(owns.flatMap(Object.keys))];
    return names.map((name) => [name, ...owns.map((own) => own[name] ?? null)]);
  }

  function drawn(element, figure, options) {
    if (figure) return chart(element, figure, options);
    element.classList.remove("plot");
    return put(element, h("p.hint", "Too few complete trials to tell."));
  }

  return { refresh };
}
