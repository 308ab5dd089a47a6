// The leaderboard: the order that the chosen model gives, with the scores behind it.

import { ask, asOwner, isOwn, isStatic, latest, Problem, url } from "../api.js";
import { button, choose, field, h, hintOfMore, put, save } from "../dom.js";
import { listed, plural } from "../format.js";
import { defineModel } from "../popup.js";
import { onWeights, reweighted } from "../reweighted.js";
import { chosenColumns, PRESETS, regions, testBed } from "../scope.js";
import * as state from "../state.js";
import { refused } from "../states.js";
import { refocused } from "../weights.js";
import { columnWords, isolated } from "../words.js";
import { otherRules } from "./answer.js";
import { boardTable, italicsNote } from "./board.js";
import { drawDifference } from "./difference.js";
import { following } from "./following.js";
import { weightSliders } from "./sliders.js";

const DRAWS = 1000;

/** The parameters of the ranking that the address means. */
function rankParams(extra = {}) {
  const model = state.model();
  const params = model === "weighted" ? state.weighed(extra) : state.scope(extra);
  params.set("model", model);
  for (const name of state.MODEL.slice(1)) if (state.has(name)) params.set(name, state.get(name));
  return params;
}

/** The order under the other rule for missing pixels, where it differs. */
const missingPixelsLink = (rank) =>
  h(
    "a",
    {
      id: "changed-if",
      href: state.address({ missing_pixels: rank.changed_if === "charged" ? null : rank.changed_if.replace(" ", "-") }),
    },
    `Show the order with missing pixels ${rank.changed_if}`,
  );

/** The order on regions that share no pixel, where those of a ranking do and there are scores on the others. */
const exclusiveLink = (context, rank) =>
  rank.shared_regions?.length > 0 &&
  PRESETS.partition.every((one) => regions(context).includes(one)) &&
  h(
    "p",
    h(
      "a",
      { id: "exclusive", href: state.address({ regions: PRESETS.partition }) },
      "Show the order on exclusive regions",
    ),
  );

/** The columns of a ranking that had nothing to compare, and who was left out, by reason. */
export function leftOut(context, dropped) {
  const reasons = new Map();
  for (const one of dropped) {
    const key = `${one.kind} ${one.reason}`;
    reasons.set(key, { ...one, names: [...(reasons.get(key)?.names ?? []), one.name] });
  }
  const said = [...reasons.values()].map(
    ({ kind, names, reason }) => `${plural(names.length, kind)} (${listed(names, 3)}): ${reason}`,
  );
  return said.length > 0 && h("p.caption", h("strong", "Left out: "), isolated(context, listed(said, 6)), ".");
}

export function create(root, context) {
  const head = h("div.row#headline");
  const options = h("div.row#model-options");
  const sliders = h("div");
  const board = h("div", {
    class: "scroll board",
    id: "board",
    tabindex: 0,
    role: "region",
    "aria-label": "Leaderboard",
  });
  const more = h("p", { class: "hint more-columns", hidden: true });
  const lacking = h("div");
  const lack = h("div#no-order");
  const notes = h("div#notes");
  const below = h("div.section.beside");
  put(root, head, options, sliders, lacking, lack, more, board, notes, below);
  const main = latest();
  const bootstrap = latest();
  const test = latest();
  let data = null;
  let follow = null; // while a weight is dragged: what moves the rows
  const showMore = hintOfMore(board, more, "column");

  // Where a model cannot order a selection, its scores and gaps are still shown.
  function withoutOrder(problem) {
    if (!(problem instanceof Problem) || problem.allowed.length || problem.status !== (isStatic ? 404 : 422))
      throw problem;
    const model = context.catalogue.models.find((one) => one.id === state.model());
    return {
      model: model?.id,
      name: model?.name ?? "",
      value_name: model?.value_name ?? "value",
      rows: [],
      dropped: [],
      facts: [],
      gaps: problem.reason === "gaps",
      reason: isStatic
        ? "This copy holds no ranking by this model; on the server another rule for missing scores may give one."
        : problem.message,
    };
  }

  async function refresh() {
    const columns = chosenColumns(context);
    const detail = columns.find((one) => one.id === state.get("column"))?.id ?? columns[0]?.id;
    const params = state.scope({ column: detail });
    try {
      data =
        (await main(async (signal) => {
          const [table, rank] = await Promise.all([
            ask("table", params, { signal }),
            ask("rank", rankParams(), { signal }).catch(withoutOrder),
          ]);
          return { rank, table: await compared(table, rank, params, signal), whole: table, intervals: null };
        })) ?? data;
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.allowed.length) throw problem;
      for (const part of [head, lacking, lack, notes, below]) put(part);
      put(board, refused(problem));
      return;
    }
    draw();
    later();
  }

  // Where an order compares fewer scenes than were selected, its scores are those of the same scenes.
  async function compared(table, rank, params, signal) {
    if (!rank.scene_names?.length || rank.scene_names.length >= table.scenes.length) return table;
    for (const name of ["scenes", "column"]) params.delete(name);
    for (const scene of rank.scene_names) params.append("scenes", scene);
    return ask("table", params, { signal }).catch((problem) => {
      if (!(problem instanceof Problem)) throw problem;
      return table; // not in this copy, or some of the scenes are hidden and shown together only
    });
  }

  // Who lacks which scenes, and what that does to the order.
  function lacks() {
    const { whole, table, rank } = data;
    if (!whole.lacking.length) return null;
    const few = table.scenes.length < whole.scenes.length;
    return h(
      "p.caption#lacking",
      few &&
        `Compared on ${table.scenes.length} of ${whole.scenes.length} scenes, which all ranked algorithms have: ` +
          `${listed(table.scenes)}. `,
      rank.scenes < whole.scenes.length && !few && `The order compares ${plural(rank.scenes, "scene")}. `,
      h("strong", "Without a score: "),
      whole.lacking.map((one) => `${listed(one.algorithms, 3)} on ${listed(one.scenes, 3)}`).join("; "),
      ".",
    );
  }

  // Intervals and tests take longer than the order itself, so they come after it and never hold it up.
  function later() {
    const own = data;
    const quietly = (problem) => {
      if (!(problem instanceof Problem)) throw problem;
    };
    if (!own.rank.reason)
      bootstrap("rank", rankParams({ draws: DRAWS }))
        .then((answer) => {
          if (!answer || own !== data) return;
          data.intervals = new Map((answer.intervals ?? []).map((one) => [one.algorithm, one]));
          data.note = answer.intervals_note;
          if (!follow) draw();
        })
        .catch(quietly);
    const params = own.rank.model === "weighted" ? state.weighed() : state.scope();
    test("significance", params)
      .then((answer) => answer && drawBelow(answer))
      .catch(quietly);
  }

  function draw() {
    const { rank } = data;
    drawHead();
    drawOptions();
    const weighted = rank.model === "weighted" && !rank.reason && !isStatic;
    refocused(sliders, () => put(sliders, weighted && weightSliders(context, rank)));
    put(lacking, lacks());
    put(
      lack,
      rank.reason && [
        refused({ message: rank.reason }),
        rank.gaps && otherRules(context, "Scores are missing; a ranking needs another rule for them:"),
        state.get("need") === "sure" &&
          h(
            "a",
            { href: state.address({ density: "open" }, "compare") },
            "Compare at equal density: error over density",
          ),
      ],
    );
    const scroll = [board.scrollLeft, board.scrollTop];
    put(board, boardTable(data, context));
    follow = null;
    board.scrollTo(...scroll);
    showMore();
    const empty = data.table.columns.filter((one) => !one.scenes);
    const words = empty.map((one) => columnWords(context, one));
    put(
      notes,
      leftOut(context, rank.dropped),
      rank.dropped.some((one) => one.kind !== "score") &&
        !rank.reason &&
        otherRules(context, "Where a score is missing, also possible:"),
      empty.length > 0 && h("p.caption", h("strong", "Without any score here: "), `${listed(words, 6)}.`),
      italicsNote(data.table.faint.flat()),
      !rank.reason &&
        h(
          "p.caption",
          rank.definition,
          " ",
          rank.caption,
          isolated(context, rank.notes.map((note) => ` · ${note}`).join("")),
          data.note ? ` · intervals: ${data.note}` : "",
        ),
      !isStatic && exclusiveLink(context, rank),
      !isStatic && rank.changed_if && h("p", {}, missingPixelsLink(rank)),
    );
  }

  function drawHead() {
    const { rank, table } = data;
    const regions = new Set(table.columns.filter((one) => one.label !== one.metric).map((one) => one.region)).size;
    const metrics = new Set(table.columns.map((one) => one.metric)).size;
    const all = data.whole.requested;
    const counts = [
      table.scenes.length < all ? `${table.scenes.length} of ${all} scenes` : plural(all, "scene"),
      regions && plural(regions, "region"),
      plural(metrics, "metric"),
    ];
    put(
      head,
      h("h1", `${testBed(context).text}: ${rank.name}`),
      h(
        "span.hint",
        counts.filter(Boolean).join(" × "),
        ` · ${plural((rank.reason ? table.algorithms : rank.rows).length, "algorithm")} · lower is better`,
      ),
      h(
        "span.end.row",
        button("CSV", () => download("csv", "text/csv"), { id: "csv" }),
        button("LaTeX", () => download("tex", "application/x-tex"), { id: "latex" }),
        button("JSON", () => save("ranking.json", JSON.stringify(data.rank, null, 1), "application/json"), {
          id: "json",
        }),
      ),
    );
  }

  // The model is the protocol's own unless another one is chosen; its options are beside it.
  function drawOptions() {
    const { models, ties, normalisations } = context.catalogue;
    const model = models.find((one) => one.id === state.model()) ?? models[0];
    const set = (name) => (value) => state.update({ [name]: value || null });
    const able = models.filter(
      (one) => !isStatic || one.id !== "middlebury" || new Set(state.all("metrics")).size === 1,
    );
    const own = context.protocol.model;
    put(
      options,
      field(
        "order by",
        choose(
          able.map((one) => [one.id, one.id === own ? `${one.name} (the protocol's own)` : one.name]),
          model.id,
          (value) => state.update({ model: value === state.impliedModel() ? null : value }),
          { "aria-label": "Model", id: "model" },
        ),
      ),
      button("i", (event) => defineModel(event.currentTarget, model), {
        class: "about",
        "aria-label": "What is this model?",
      }),
      !isStatic &&
        "ties" in model.options &&
        field("ties", choose(ties, state.get("ties", "min"), set("ties"), { "aria-label": "Rule for ties" })),
      !isStatic &&
        "tau" in model.options &&
        field(
          "τ",
          h("input", {
            type: "number",
            min: 0.5,
            step: 0.5,
            value: state.get("tau", ""),
            placeholder: "number of metrics",
            "aria-label": "Threshold tau",
            onchange: (event) => set("tau")(event.target.value),
          }),
        ),
      !isStatic &&
        "normalisation" in model.options &&
        field(
          "scale",
          choose(normalisations, state.get("normalisation", "heuristic"), set("normalisation"), {
            "aria-label": "Normalisation",
          }),
        ),
    );
  }

  async function download(form, kind) {
    const address = url(`rank.${form}`, rankParams());
    const response = address && (await (isOwn(address) ? asOwner(address) : fetch(address)));
    if (response?.ok) save(`leaderboard.${form}`, await response.text(), kind);
    else if (isStatic) put(notes, h("p.caption", "This selection was not exported as a file."));
  }

  function drawBelow(answer) {
    const difference = h("div");
    const detail = data.whole.scene_column;
    const spread = detail?.spread ?? [];
    const link = (scene) => h("a", { href: state.address({ scene, pane: null }, "scene") }, scene);
    put(
      below,
      difference,
      h(
        "div",
        h("h2", "Where the algorithms differ most"),
        spread.length
          ? [
              h("p.links", spread.map(link)),
              h("p.caption", `Scenes with the largest standard deviation of ${detail.column} over the algorithms.`),
            ]
          : h("p.hint", "The algorithms do not differ on any scene."),
      ),
    );
    drawDifference(difference, answer, context);
  }

  // While a weight is dragged the rows move; what the server says replaces this once the finger rests.
  const still = onWeights((weights) => {
    if (!weights && follow) draw();
    if (!weights || data?.rank.model !== "weighted" || data.rank.reason || state.get("sort")) return;
    const answer = reweighted(data.rank, weights);
    if (!answer) return;
    follow ??= following(board);
    follow(answer);
  });

  function restyle() {
    if (!data) return;
    draw();
    later();
  }

  return { refresh, restyle, leave: still };
}
