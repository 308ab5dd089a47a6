// The leaderboard: the order that the chosen model gives, with the scores behind it.

import { ask, asOwner, attempt, isStatic, latest, Problem, url } from "../api.js";
import { stated } from "../choices.js";
import { aboutButton, button, choose, field, h, hintOfMore, link, put, save, scroll } from "../dom.js";
import { listed, plural } from "../format.js";
import { defineModel } from "../popup.js";
import { onWeights, reweighted } from "../reweighted.js";
import { chosenColumns, PRESETS, regions, testBed } from "../scope.js";
import * as state from "../state.js";
import { orRefused, orSaid, refused } from "../states.js";
import { grouped, refocused } from "../weights.js";
import { columnWords, isolated, named } from "../words.js";
import { otherRules } from "./answer.js";
import { boardTable, italicsNote } from "./board.js";
import { drawDifference } from "./difference.js";
import { following } from "./following.js";
import { weightSliders } from "./sliders.js";

/** The parameters of the ranking that the address means. */
function rankParams(extra = {}) {
  const model = state.model();
  const own = Object.fromEntries(state.MODEL.map((name) => [name, state.get(name)]));
  return (model === "weighted" ? state.weighed : state.scope)({ ...own, model, ...extra });
}

/** The order under the other rule for missing pixels, where it differs. */
function missingPixelsLink({ changed_if: rule }) {
  const href = state.address({ missing_pixels: rule === "charged" ? null : rule.replace(" ", "-") });
  return h("p", h("a#changed-if", { href }, `Show the order with missing pixels ${rule}`));
}

/** The order on regions that share no pixel, where those of a ranking do and there are scores on the others. */
const exclusiveLink = (context, rank) =>
  rank.shared_regions?.length > 0 &&
  PRESETS.partition.every((one) => regions(context).includes(one)) &&
  h(
    "p",
    h("a#exclusive", { href: state.address({ regions: PRESETS.partition }) }, "Show the order on exclusive regions"),
  );

/** The columns of a ranking that had nothing to compare, and who was left out, by reason. */
export function leftOut(context, dropped) {
  const said = grouped(dropped, (one) => `${one.kind} ${one.reason}`).map(([, same]) => {
    const names = same.map((one) => one.name);
    return `${plural(names.length, same[0].kind)} (${listed(names, 3)}): ${same[0].reason}`;
  });
  return said.length > 0 && h("p.caption", h("strong", "Left out: "), isolated(context, listed(said, 6)), ".");
}

/** Who has a place here and none in the answer, which needs values at more pixels. */
function outsideAnswer(context, reasons) {
  const said = Object.entries(reasons).map(([name, reason], at) => [
    at > 0 && "; ",
    named(context, name),
    `: ${reason}`,
  ]);
  const rule = ". Here the pixels without a value are charged; the answer leaves such algorithms out.";
  return said.length > 0 && h("p.caption#not-considered", h("strong", "Rank in brackets: "), said, rule);
}

export function create(root, context) {
  const head = h("div.row#headline");
  const options = h("div.row#model-options");
  const sliders = h("div");
  const board = scroll("Leaderboard");
  board.id = "board";
  board.classList.add("board");
  const more = h("p.hint.more-columns", { hidden: true });
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
    const found = main(async (signal) => {
      const [table, rank] = await Promise.all([
        ask("table", params, { signal }),
        ask("rank", rankParams(), { signal }).catch(withoutOrder),
      ]);
      return { rank, table: await compared(table, rank, signal), whole: table, intervals: null };
    });
    const answer = await orRefused(board, found, head, lacking, lack, notes, below);
    if (!answer) return;
    data = answer;
    draw();
    later();
  }

  // Where an order compares fewer scenes than were selected, its scores are those of the same scenes.
  async function compared(table, { scene_names: scenes }, signal) {
    if (!scenes?.length || scenes.length >= table.scenes.length) return table;
    // A copy may lack them, and hidden scenes are shown together only.
    return attempt(ask("table", state.scope({ scenes }), { signal }), () => table);
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
    const shown = (answer) => {
      if (!answer || own !== data) return;
      data.intervals = new Map((answer.intervals ?? []).map((one) => [one.algorithm, one]));
      data.note = answer.intervals_note;
      if (!follow) draw();
    };
    const quietly = () => null;
    const { draws } = context.catalogue;
    if (!own.rank.reason) attempt(bootstrap("rank", rankParams({ draws })), quietly).then(shown);
    const params = own.rank.model === "weighted" ? state.weighed() : state.scope();
    attempt(test("significance", params), quietly).then((answer) => answer && drawBelow(answer));
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
        refused(rank.reason),
        rank.gaps && otherRules(context, "Scores are missing; a ranking needs another rule for them:"),
        state.get("need") === "sure" &&
          link(state.address({ density: "open" }, "compare"), "Compare at equal density: error over density"),
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
      outsideAnswer(context, rank.not_considered ?? {}),
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
      !isStatic && rank.changed_if && missingPixelsLink(rank),
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
    const able = models.filter(
      (one) => !isStatic || one.id !== "middlebury" || new Set(state.all("metrics")).size === 1,
    );
    const own = context.protocol.model;
    const has = (name) => !isStatic && name in model.options;
    const names = able.map((one) => [one.id, one.id === own ? `${one.name} (the protocol's own)` : one.name]);
    const order = (value) => state.update({ model: value === state.impliedModel() ? null : value });
    const tau = {
      type: "number",
      min: 0.5,
      step: 0.5,
      value: state.get("tau", ""),
      placeholder: "number of metrics",
      "aria-label": "Threshold tau",
      onchange: (event) => state.update({ tau: event.target.value }),
    };
    put(
      options,
      field("order by", choose("Model", names, model.id, order, { id: "model" })),
      aboutButton((anchor) => defineModel(anchor, model), "What is this model?"),
      has("ties") && field("ties", stated("ties", "Rule for ties", ties, state.get("ties", "min"))),
      has("tau") && field("τ", h("input", tau)),
      has("normalisation") &&
        field(
          "scale",
          stated("normalisation", "Normalisation", normalisations, state.get("normalisation", "heuristic")),
        ),
    );
  }

  async function download(form, kind) {
    const address = url(`rank.${form}`, rankParams());
    const file = address && (await orSaid(notes, asOwner(address)));
    if (file) save(`leaderboard.${form}`, await file.text(), kind);
    else if (!address) put(notes, h("p.caption", "This selection was not exported as a file."));
  }

  function drawBelow(answer) {
    const difference = h("div");
    const detail = data.whole.scene_column;
    const spread = detail?.spread ?? [];
    const open = (scene) => link(state.address({ scene, pane: null }, "scene"), scene);
    put(
      below,
      difference,
      h(
        "div",
        h("h2", "Where the algorithms differ most"),
        spread.length
          ? [
              h("p.links", spread.map(open)),
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

  return { refresh, leave: still };
}
