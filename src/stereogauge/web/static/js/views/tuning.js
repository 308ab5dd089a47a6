// Tuning studies of this store: what was gained, the trade-off, which parameters matter; without any, how to make one.

import { ask } from "../api.js";
import { behind } from "../diagrams.js";
import { choose, h, put } from "../dom.js";
import { digits, full } from "../format.js";
import { plain, plot } from "../plots.js";
import * as state from "../state.js";
import { lacking } from "../states.js";
import { ink } from "../theme.js";

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
    return draw(studies, await ask(`tuning/${encodeURIComponent(name)}`));
  }

  async function draw(studies, study) {
    const chart = h("div", { class: "plot", id: "trials" });
    const weights = h("div", { class: "plot", id: "importance" });
    const counts = Object.entries(study.states)
      .filter(([, count]) => count)
      .map(([name, count]) => `${count} ${name}`)
      .join(", ");
    put(
      root,
      h(
        "div",
        { class: "row" },
        h("h1", {}, "Tuning study"),
        choose(
          studies.map((one) => one.name),
          study.name,
          (value) => state.update({ study: value }),
          { "aria-label": "Study", id: "study" },
        ),
        h(
          "span",
          { class: "hint" },
          `${study.matcher} on ${study.dataset || "scenes of its own"}, ${study.scenes.length} scenes · `,
          `${counts} · sampler ${study.sampler}, seed ${study.seed}`,
        ),
      ),
      study.matcher_text &&
        h(
          "div",
          {},
          h("h2", { class: "section" }, "Recommended setting"),
          h("pre", { id: "recommended" }, study.matcher_text),
          study.best === study.baseline &&
            h("p", { class: "hint" }, "That is the default: no trial was better on the scenes used for the search."),
        ),
      gains("On the scenes used for the search", study.seen),
      gains("On held-out scenes", study.held_out),
      study.seen?.length > 0 &&
        h(
          "p",
          { class: "caption" },
          "Better by: the difference in the goal's own unit, positive where the tuned setting is the better one; ",
          "its interval comes from drawing the scenes again at random.",
        ),
      h(
        "div",
        { class: "split section" },
        h("div", {}, h("h2", {}, study.objectives.length > 1 ? "Trade-off" : "Trials"), chart),
        h(
          "div",
          {},
          h(
            "h2",
            {},
            "Which parameters matter",
            h("span", { class: "hint" }, ` for ${Object.keys(study.importance)[0] ?? study.objectives[0].name}`),
          ),
          weights,
          behind(["parameter", ...Object.keys(study.importance).map((name) => `share for ${name}`)], () =>
            shares(study),
          ),
        ),
      ),
      behind(
        [
          "trial",
          "state",
          ...study.objectives.map((one) => one.name),
          ...Object.keys(study.trials[0]?.parameters ?? {}),
        ],
        study.trials.map((one) => [
          String(one.number),
          one.state,
          ...study.objectives.map((_, place) => one.values?.[place] ?? null),
          ...Object.values(one.parameters).map(String),
        ]),
      ),
    );
    await Promise.all([drawTrials(chart, study), drawImportance(weights, study)]);
  }

  const gains = (title, rows) =>
    rows?.length
      ? h(
          "div",
          { class: "section" },
          h("h2", {}, title),
          h(
            "div",
            { class: "scroll" },
            h(
              "table",
              {},
              h(
                "thead",
                {},
                h(
                  "tr",
                  {},
                  [
                    "goal",
                    "default",
                    "tuned",
                    "better by",
                    "95 % interval of the difference",
                    "relative",
                    "better on",
                  ].map((one, place) => h("th", { class: place ? null : "text", scope: "col" }, one)),
                ),
              ),
              h(
                "tbody",
                {},
                rows.map((row) =>
                  h(
                    "tr",
                    {},
                    h("td", { class: "text" }, `${row.goal}${row.unit ? ` [${row.unit}]` : ""}`),
                    h("td", { title: full(row.default) }, digits(row.default)),
                    h("td", { class: row.difference > 0 ? "best" : null, title: full(row.tuned) }, digits(row.tuned)),
                    h("td", { title: full(row.difference) }, digits(row.difference)),
                    h("td", {}, `${digits(row.low)} … ${digits(row.high)}`),
                    h("td", {}, row.percent === null ? "–" : `${digits(row.percent)} %`),
                    h("td", {}, `${row.better} of ${row.compared} scenes`),
                  ),
                ),
              ),
            ),
          ),
        )
      : null;

  const shares = (study) =>
    [...new Set(Object.values(study.importance).flatMap((own) => Object.keys(own)))].map((name) => [
      name,
      ...Object.values(study.importance).map((own) => own[name] ?? null),
    ]);

  function drawTrials(element, study) {
    const done = study.trials.filter((one) => one.state === "complete" && one.values?.length);
    const front = new Set(study.front);
    const two = study.objectives.length > 1;
    const title = (place) =>
      `${study.objectives[place].name}${study.objectives[place].unit ? ` [${study.objectives[place].unit}]` : ""}`;
    const place = (one) => (two ? [one.values[0], one.values[1]] : [one.number, one.values[0]]);
    const series = (trials, colour, symbol, name) => ({
      type: "scatter",
      mode: "markers",
      x: trials.map((one) => place(one)[0]),
      y: trials.map((one) => place(one)[1]),
      name,
      marker: { color: colour, symbol, size: 8 },
      hovertemplate: trials.map(
        (one) =>
          `trial ${one.number}<br>${plain(
            Object.entries(one.parameters)
              .map(([key, value]) => `${key} = ${value}`)
              .join("\n"),
          ).replaceAll("\n", "<br>")}<extra></extra>`,
      ),
    });
    element.style.height = "340px";
    return plot(
      element,
      [
        series(
          done.filter((one) => !front.has(one.number)),
          ink("muted"),
          "circle",
          "trials",
        ),
        series(
          done.filter((one) => front.has(one.number)),
          ink("accent"),
          "diamond",
          "no other trial is better",
        ),
        {
          ...series(
            done.filter((one) => one.number === study.baseline),
            ink("ink"),
            "circle-open",
            "default",
          ),
          marker: { color: ink("ink"), symbol: "circle-open", size: 15, line: { width: 1.5 } },
        },
      ],
      {
        showlegend: true,
        legend: { orientation: "h", y: -0.22 },
        xaxis: { title: { text: two ? plain(title(0)) : "trial" } },
        yaxis: { title: { text: plain(title(two ? 1 : 0)) } },
      },
    );
  }

  function drawImportance(element, study) {
    const rows = Object.entries(study.importance[Object.keys(study.importance)[0]] ?? {}).sort((a, b) => a[1] - b[1]);
    if (!rows.length) {
      element.classList.remove("plot");
      return put(element, h("p", { class: "hint" }, "Too few complete trials to tell."));
    }
    element.style.height = `${90 + 26 * rows.length}px`;
    return plot(
      element,
      [
        {
          type: "bar",
          orientation: "h",
          x: rows.map(([, share]) => share),
          y: rows.map(([name]) => plain(name)),
          marker: { color: ink("accent") },
          hovertemplate: "%{y}: %{x:.2f}<extra></extra>",
        },
      ],
      {
        xaxis: { title: { text: "share of the variation" }, rangemode: "tozero" },
        margin: { l: 110, r: 10, t: 6, b: 40 },
      },
    );
  }

  return { refresh, restyle: refresh };
}
