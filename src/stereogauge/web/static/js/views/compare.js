// Compare: weighted bars that reorder as a weight is dragged, radar, parallel coordinates, critical difference, head
// to head.

import { ask, isStatic, latest, Problem } from "../api.js";
import { badge, chart } from "../chart.js";
import { behind } from "../diagrams.js";
import { h, put } from "../dom.js";
import { digits, drawable, full, listed, percent } from "../format.js";
import { onWeights, reweighted } from "../reweighted.js";
import * as state from "../state.js";
import { refused } from "../states.js";
import { idMark, termWords } from "../words.js";
import { drawDensity, offerDensity, waitForDensity } from "./density.js";
import { drawDifference } from "./difference.js";
import { createHeadToHead } from "./duel.js";
import { followingBars } from "./following.js";
import { testParams } from "./leaderboard.js";

const SEGMENTS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"];
const MOST_LINES = 12;
const FIRST_FEW = 3;

export function create(root, context) {
  const mine = (name) => context.styles.get(name)?.own === true;
  const bars = h("div", { id: "bars" });
  const shapes = h("div", { class: "split" });
  const tests = h("div", {});
  const duel = h("div", { id: "duel" });
  const steady = h("div", { id: "steady" });
  const density = h("div", { class: "section", id: "density" });
  put(
    root,
    bars,
    steady,
    h("div", { class: "section" }, shapes),
    h("div", { class: "section" }, tests),
    h("div", { class: "section" }, duel),
    density,
  );
  const weighted = latest();
  const table = latest();
  const significance = latest();
  const moved = latest();
  const cut = latest();
  const last = {};
  let follow = null; // while a weight is dragged: what moves the bars
  const headToHead = createHeadToHead(duel, context, () => last.bars?.rows.map((row) => row.algorithm));

  async function guarded(target, work, draw) {
    try {
      const answer = await work();
      if (answer !== undefined) draw(answer);
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.allowed.length) throw problem;
      put(target, refused(problem));
    }
  }

  // Measuring maps takes a while, so it waits until somebody needs it.
  function refreshDensity(sure) {
    if (isStatic) return put(density);
    if (!sure && state.get("density") !== "open") return offerDensity(density);
    const params = state.selection();
    if (state.get("curve")) params.set("column", state.get("curve"));
    if (!density.querySelector("#density-chart")) waitForDensity(density);
    return guarded(
      density,
      () => cut((signal) => ask("density", params, { signal })),
      (answer) => drawDensity(density, answer, context),
    );
  }

  // Nothing but equal density makes an order where values are needed only where they are sure.
  function withoutOrder() {
    put(
      bars,
      h("h1", {}, "Only where it is sure"),
      h(
        "p",
        { class: "caption", id: "only-equal" },
        "Values are needed only where an algorithm is sure. Scores at different densities make no order, since ",
        "leaving pixels out would win it; the view Leaderboard shows them with what they cover, and below they are ",
        "compared at equal density.",
      ),
    );
    for (const part of [steady, shapes, tests, duel]) put(part);
  }

  async function refresh() {
    const sure = state.get("need") === "sure";
    for (const part of root.querySelectorAll(".section")) part.hidden = sure && part !== density;
    const measured = refreshDensity(sure);
    if (sure) {
      withoutOrder();
      return measured;
    }
    last.shapes = null;
    const params = state.selection(["profile", "normalisation", "weights"]);
    params.set("model", "weighted");
    if (state.get("normalisation") === null) params.delete("normalisation");
    await Promise.all([
      guarded(
        bars,
        () => weighted((signal) => ask("rank", params, { signal })),
        (answer) => {
          last.bars = answer;
          drawBars(answer);
        },
      ),
      guarded(
        shapes,
        () =>
          table(async (signal) => {
            const [found, figures] = await Promise.all(
              ["table", "shapes"].map((name) => ask(name, state.selection(), { signal })),
            );
            return { table: found, figures };
          }),
        (answer) => {
          last.shapes = answer;
        },
      ),
    ]);
    if (last.shapes) drawShapes(last.shapes);
    guarded(
      tests,
      () => significance((signal) => ask("significance", testParams(last.bars ?? {}), { signal })),
      (answer) => drawDifference(tests, answer),
    );
    guarded(duel, headToHead.ask, headToHead.draw);
    guarded(
      steady,
      () => moved((signal) => ask("stability", state.selection(["profile", "normalisation", "weights"]), { signal })),
      drawSteady,
    );
    return undefined;
  }

  // What each weight means: its share of the differences between algorithms, and where the second would lead.
  function weightTable(answer) {
    if (!answer.effective_weights || answer.rows.length < 2) return null;
    const [first, second] = answer.rows.map((row) => row.algorithm);
    const ties = answer.break_even?.[1] ?? [];
    const near = ties
      .map((value, at) => ({ at, value, away: value === null ? Infinity : Math.abs(value - answer.weights[at]) }))
      .sort((a, b) => a.away - b.away)[0];
    return h(
      "div",
      { id: "weights-mean" },
      h(
        "p",
        { class: "caption" },
        answer.notes.map((note) => `${note} `),
        Number.isFinite(near?.away)
          ? `${second} would tie with ${first} if ${termWords(context, answer.terms[near.at])} ` +
              `weighed ${percent(near.value)} instead of ${percent(answer.weights[near.at])}, ` +
              "the other weights scaled to fit."
          : `No single weight, however changed, makes ${second} tie with ${first}.`,
      ),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "What each weight means" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["metric", "weight", "share of the differences", `weight at which ${second} ties`].map((text, at) =>
                h("th", { class: at ? null : "text", scope: "col" }, text),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            answer.terms.map((term, at) =>
              h(
                "tr",
                { "data-term": term },
                h("td", { class: "text" }, termWords(context, term), " ", idMark(term)),
                h("td", {}, percent(answer.weights[at])),
                h(
                  "td",
                  { class: answer.effective_weights[at] > 2 * answer.weights[at] ? "best" : null },
                  percent(answer.effective_weights[at]),
                ),
                h("td", {}, percent(ties[at])),
              ),
            ),
          ),
        ),
      ),
    );
  }

  // While a weight is dragged the bars move; what the server says replaces this once the finger rests.
  const still = onWeights((weights) => {
    if (!weights && follow) drawBars(last.bars);
    const answer = weights && last.bars && reweighted(last.bars, weights);
    if (!answer) return;
    follow ??= followingBars(bars);
    follow(answer);
  });

  function drawBars(answer) {
    follow = null;
    const colours = new Map(answer.terms.map((term, index) => [term, SEGMENTS[index % SEGMENTS.length]]));
    const longest = Math.max(...answer.rows.map((row) => drawable(row.value) ?? 0), 1e-12);
    const profile = context.catalogue.profiles.find((one) => one.id === state.get("profile"));
    const texture = (index) => {
      if (index < SEGMENTS.length) return {};
      const angle = `${45 * Math.floor(index / SEGMENTS.length)}deg`;
      const stripes = `repeating-linear-gradient(${angle}, transparent 0 3px, rgba(255,255,255,.45) 3px 5px)`;
      return { "background-image": stripes };
    };
    const contribution = (index, column) =>
      [
        digits(answer.contributions[index][column]),
        "of",
        digits(answer.rows[index].value),
        `(${answer.scales[column]})`,
      ].join(" ");
    put(
      bars,
      h(
        "div",
        { class: "row" },
        h("h1", {}, "Weighted combination"),
        h(
          "span",
          { class: "hint" },
          profile
            ? `${profile.name} — ${profile.description}`
            : isStatic
              ? "Choose a profile in the panel."
              : "Drag the weights in the panel; the order follows.",
        ),
      ),
      h(
        "div",
        { class: "key" },
        answer.terms.map((term, index) =>
          h(
            "span",
            {},
            h("i", { class: "swatch", style: { background: colours.get(term), ...texture(index) } }),
            `${termWords(context, term)} `,
            h("span", { class: "share", "data-share": term }, `${Math.round(100 * answer.weights[index])} %`),
          ),
        ),
      ),
      h(
        "div",
        { class: "bars", role: "group", "aria-label": "Weighted scores, shortest first" },
        answer.rows.map((row, index) => [
          h(
            "div",
            { class: "name", "data-bar": row.algorithm },
            badge(context.styles.get(row.algorithm)),
            row.algorithm,
          ),
          h(
            "div",
            { class: "track" },
            answer.terms.map((term, column) =>
              h("div", {
                class: "piece",
                title: `${termWords(context, term)} (${term}): ${contribution(index, column)}`,
                style: {
                  width: `${(100 * Math.max(0, answer.contributions[index][column])) / longest}%`,
                  background: colours.get(term),
                  ...texture(column),
                },
              }),
            ),
          ),
          h("div", { class: "total", title: full(row.value) }, digits(row.value)),
        ]),
      ),
      weightTable(answer),
      answer.dropped.length > 0 &&
        h(
          "p",
          { class: "caption" },
          h("strong", {}, "Left out: "),
          listed(
            answer.dropped.map((one) => `${one.kind} ${one.name} (${one.reason})`),
            3,
          ),
          ".",
        ),
      behind(
        ["algorithm", "score", ...answer.terms],
        answer.rows.map((row, index) => [row.algorithm, row.value, ...answer.contributions[index]]),
      ),
    );
  }

  // How much of the order is owed to these very weights.
  function drawSteady(answer) {
    const rows = answer.algorithms.map((name, index) => ({
      name,
      first: answer.first[index],
      low: answer.rank_low[index],
      high: answer.rank_high[index],
    }));
    const winners = rows.filter((row) => row.first >= 0.005).sort((a, b) => b.first - a.first);
    put(
      steady,
      winners.length > 0 && [
        h(
          "p",
          { class: "caption", id: "steadiness" },
          h("strong", {}, "If the weights were a little different: "),
          listed(
            winners.map((row) => `${row.name} ranks first in ${percent(row.first)}`),
            4,
          ),
          " of 2000 random variations of them.",
        ),
        behind(
          ["algorithm", "ranked first in", "95 % interval of the rank"],
          rows.map((row) => [
            row.name,
            percent(row.first),
            row.low === row.high ? `${row.low}` : `${row.low} – ${row.high}`,
          ]),
        ),
      ],
    );
  }

  function highlighted(table) {
    const wanted = state.all("lines").filter((name) => table.algorithms.includes(name));
    if (wanted.length) return wanted;
    if (table.algorithms.length <= MOST_LINES) return table.algorithms;
    // Sixty lines cannot be read: the first three of the order are drawn, others as they are ticked.
    const order = last.bars?.rows.map((row) => row.algorithm) ?? table.algorithms;
    return [...new Set([...table.algorithms.filter(mine), ...order.slice(0, FIRST_FEW)])];
  }

  async function drawShapes({ table, figures }) {
    const names = highlighted(table);
    const hidden = table.algorithms.filter((name) => !names.includes(name));
    const rows = names.map((name) => table.algorithms.indexOf(name));
    const by = state.get("radar", "rank");
    const mode = (name, text) =>
      h(
        "button",
        { type: "button", "aria-pressed": String(by === name), onclick: () => state.update({ radar: name }) },
        text,
      );
    const more =
      figures.usable > figures.columns.length
        ? ` The first ${figures.columns.length} of ${figures.usable} columns are drawn; select fewer to see the others.`
        : "";
    const numbers = (part) =>
      behind(["algorithm", ...figures.columns], () => {
        const places = figures.columns.map((id) => table.columns.findIndex((one) => one.id === id));
        return rows.map((row) => [table.algorithms[row], ...places.map((at) => part[row][at])]);
      });
    const [star, lines] = [h("div", { class: "plot" }), h("div", { class: "plot" })];
    put(
      shapes,
      h(
        "div",
        {},
        h(
          "div",
          { class: "row" },
          h("h2", {}, "Radar"),
          mode("rank", "rank"),
          mode("score", "absolute"),
          h("span", { class: "hint" }, "centre = best"),
        ),
        figures.radar[by]
          ? star
          : h("p", { class: "hint" }, "A radar chart needs at least three columns; select more metrics or regions."),
        h(
          "p",
          { class: "caption" },
          by === "rank"
            ? "Rank among the selected algorithms; the rings are ranks, the outermost is the last place."
            : "Score divided by what the worst real algorithms reach; △ lies beyond the rim.",
          more,
          figures.empty.length > 0 && ` No axis, for lack of scores: ${listed(figures.empty)}.`,
        ),
        numbers(by === "rank" ? table.ranks : table.shares),
      ),
      h(
        "div",
        {},
        h("div", { class: "row" }, h("h2", {}, "Parallel coordinates"), h("span", { class: "hint" }, "best on top")),
        figures.parallel ? lines : h("p", { class: "hint" }, "Parallel coordinates need at least two columns."),
        h(
          "div",
          { class: "key" },
          table.algorithms.map((name) =>
            h(
              "label",
              {},
              h("input", {
                type: "checkbox",
                checked: names.includes(name),
                "data-line": name,
                onchange: (event) => toggle(table, name, event.target.checked),
              }),
              " ",
              badge(context.styles.get(name)),
              name,
            ),
          ),
        ),
        numbers(table.values),
      ),
    );
    // The algorithm under the pointer is emphasised in both charts.
    const drawn = [];
    const onHover = (row) => {
      for (const view of drawn) view?.signal("emphasis", row?.algorithm ?? null).runAsync();
    };
    if (figures.radar[by]) drawn.push(await chart(star, figures.radar[by], { label: "Radar chart", hidden, onHover }));
    if (figures.parallel)
      drawn.push(await chart(lines, figures.parallel, { label: "Parallel coordinates", hidden, onHover }));
  }

  function toggle(table, name, on) {
    const now = new Set(highlighted(table));
    on ? now.add(name) : now.delete(name);
    state.update({ lines: now.size ? [...now] : null });
  }

  return {
    refresh,
    leave: still,
    restyle: () => {
      if (last.shapes) {
        drawBars(last.bars);
        drawShapes(last.shapes);
      }
      refresh();
    },
  };
}
