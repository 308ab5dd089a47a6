// Compare: weighted bars that reorder as a weight is dragged, radar, parallel coordinates, critical difference, head
// to head.

import { ask, isStatic, latest } from "../api.js";
import { behind } from "../diagrams.js";
import { button, cell, h, put, table } from "../dom.js";
import { figure, takeAway } from "../figure.js";
import { chance, digits, drawable, full, listed, percent } from "../format.js";
import { onWeights, reweighted } from "../reweighted.js";
import { owned, purposeWords } from "../scope.js";
import * as state from "../state.js";
import { orRefused } from "../states.js";
import { shown } from "../theme.js";
import { grouped, refocused } from "../weights.js";
import { badge, idMark, isolated, lowerFirst, named, termWords } from "../words.js";
import { drawDensity, offerDensity, waitForDensity } from "./density.js";
import { drawDifference } from "./difference.js";
import { createHeadToHead } from "./duel.js";
import { followingBars } from "./following.js";
import { leftOut } from "./leaderboard.js";
import { weightSliders } from "./sliders.js";

const MOST_LINES = 12;
const FIRST_FEW = 3;

export function create(root, context) {
  const bars = h("div#bars");
  const sliders = h("div");
  const shapes = h("div.split");
  const tests = h("div");
  const duel = h("div#duel");
  const steady = h("div#steady");
  const density = h("div.section#density");
  put(root, sliders, bars, steady, h("div.section", shapes), h("div.section", tests), h("div.section", duel), density);
  const weighted = latest();
  const shaped = latest();
  const significance = latest();
  const moved = latest();
  const cut = latest();
  let last = null; // the order that the bars show
  let follow = null; // while a weight is dragged: what moves the bars
  const headToHead = createHeadToHead(duel, context, () => last?.rows.map((row) => row.algorithm));

  async function guarded(target, promise, draw) {
    const answer = await orRefused(target, promise);
    if (answer) draw(answer);
  }

  // Measuring maps takes a while, so it waits until somebody needs it.
  function refreshDensity(sure) {
    if (isStatic) return put(density);
    if (!sure && state.get("density") !== "open") return offerDensity(density);
    if (!density.querySelector("#density-chart")) waitForDensity(density);
    const answer = cut("density", state.scope({ column: state.get("curve") }));
    return guarded(density, answer, (found) => drawDensity(density, found, context));
  }

  // Nothing but equal density makes an order where values are needed only where they are sure.
  function withoutOrder() {
    put(
      bars,
      h("h1", "Only where it is sure"),
      h(
        "p.caption#only-equal",
        "Values are needed only where an algorithm is sure. Scores at different densities make no order, since ",
        "leaving pixels out would win it; the view Leaderboard shows them with what they cover, and below they are ",
        "compared at equal density.",
      ),
    );
    for (const part of [sliders, steady, shapes, tests, duel]) put(part);
  }

  async function refresh() {
    const sure = state.get("need") === "sure";
    for (const part of root.querySelectorAll(".section")) part.hidden = sure && part !== density;
    const measured = refreshDensity(sure);
    if (sure) {
      withoutOrder();
      return measured;
    }
    const normalisation = state.get("normalisation");
    const both = shaped((signal) =>
      Promise.all(["table", "shapes"].map((name) => ask(name, state.scope(), { signal }))),
    );
    const segments = state.get("bars") === "terms" ? "term" : "property";
    const ranked = weighted("rank", state.weighed({ model: "weighted", normalisation, bars: segments }));
    const [order, figures] = await Promise.all([orRefused(bars, ranked), orRefused(shapes, both)]);
    if (order) drawBars(order);
    if (figures) drawShapes(...figures);
    guarded(tests, significance("significance", state.weighed()), (found) => drawDifference(tests, found, context));
    headToHead.refresh();
    guarded(steady, moved("stability", state.weighed({ normalisation })), drawSteady);
    return undefined;
  }

  // What each weight means: its share of the differences between algorithms, and where the second would lead.
  function weightTable(answer) {
    if (!answer.effective_weights || answer.rows.length < 2) return null;
    const ties = answer.break_even[1];
    return h(
      "div#weights-mean",
      h("p.caption", isolated(context, answer.notes.join(" "))),
      table(
        [
          "metric",
          "weight",
          "share of the differences",
          cell({ class: "words" }, "weight at which ", named(context, answer.rows[1].algorithm), " ties"),
        ],
        answer.terms.map((term, at) => {
          const [weight, share] = [answer.weights[at], answer.effective_weights[at]];
          return {
            "data-term": term,
            cells: [
              [termWords(context, term), " ", idMark(term)],
              percent(weight),
              cell({ class: share > 2 * weight ? "best" : null }, percent(share)),
              percent(ties[at]),
            ],
          };
        }),
        { label: "What each weight means" },
      ),
    );
  }

  // While a weight is dragged the bars move; what the server says replaces this once the finger rests.
  const leave = onWeights((weights) => {
    if (!weights && follow) drawBars(last);
    const answer = weights && last && reweighted(last, weights);
    if (!answer) return;
    const pieces = segments(last).map((one) => one.terms);
    follow ??= followingBars(bars, pieces);
    follow(answer);
  });

  // The pieces of a bar: one per property, or one per term where the address asks for it or there is one property.
  function segments(answer) {
    const terms = answer.terms.map((term, at) => ({ term, at, property: answer.properties[at] }));
    const groups = grouped(terms);
    if (groups.length > 1 && state.get("bars") !== "terms")
      return groups.map(([property, members]) => ({ words: property, terms: members.map((one) => one.at) }));
    return terms.map((one) => ({ words: termWords(context, one.term), terms: [one.at], term: one.term }));
  }

  const sum = (values, terms) => terms.reduce((total, term) => total + values[term], 0);

  function drawBars(answer) {
    follow = null;
    last = answer;
    const pieces = segments(answer);
    const colours = answer.figure.layer[0].encoding.color.scale.range.map(shown);
    const longest = Math.max(...answer.rows.map((row) => drawable(row.value) ?? 0), 1e-12);
    const piece = (contributions, value) => {
      const width = (amount) => `${(100 * Math.max(0, amount)) / longest}%`;
      return ({ words, terms }, place) => {
        const amount = sum(contributions, terms);
        const title = `${words}: ${digits(amount)} of ${digits(value)}`;
        return h("div.piece", { title, style: { width: width(amount), background: colours[place] } });
      };
    };
    refocused(sliders, () => put(sliders, !isStatic && weightSliders(context, answer)));
    const by = (key, text) =>
      button(text, () => state.update({ bars: key }), { "aria-pressed": String((state.get("bars") ?? null) === key) });
    put(
      bars,
      h(
        "div.row",
        h("h1", "Weighted combination"),
        h("span.hint", `purpose: ${lowerFirst(purposeWords(context))}; lower is better`),
        new Set(answer.properties).size > 1 && h("span.end.row", by(null, "by property"), by("terms", "by term")),
      ),
      h(
        "div.key",
        pieces.map(({ words, terms }, index) =>
          h(
            "span",
            h("i.swatch", { style: { background: colours[index] } }),
            `${words} `,
            h("span.share", { "data-share": words }, `${Math.round(100 * sum(answer.weights, terms))} %`),
          ),
        ),
      ),
      h(
        "div.bars",
        { role: "group", "aria-label": "Weighted scores, shortest first" },
        answer.rows.map((row, index) => [
          h("div.name", { "data-bar": row.algorithm }, named(context, row.algorithm)),
          h("div.track", pieces.map(piece(answer.contributions[index], row.value))),
          h("div.total", { "data-full": full(row.value) }, digits(row.value)),
        ]),
      ),
      takeAway(answer.figure, context, { name: "weighted-scores", label: "Weighted scores" }),
      weightTable(answer),
      leftOut(context, answer.dropped),
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
    const said = winners.map((row) => `${row.name} stays first in ${chance(row.first)}`);
    const range = ({ low, high }) => (low === high ? `${low}` : `${low} – ${high}`);
    put(
      steady,
      winners.length > 0 && [
        h(
          "p.caption#steadiness",
          h("strong", "When the weights vary: "),
          isolated(
            context,
            `${listed(said, 4)} of ${context.catalogue.draws} random variations of them. ${answer.tie}`,
          ),
        ),
        behind(
          ["algorithm", "ranked first in", "95 % interval of the rank"],
          rows.map((row) => [row.name, chance(row.first), range(row)]),
        ),
      ],
    );
  }

  function highlighted({ algorithms }) {
    const wanted = state.all("lines").filter((name) => algorithms.includes(name));
    if (wanted.length) return wanted;
    if (algorithms.length <= MOST_LINES) return algorithms;
    // Sixty lines cannot be read: the first three of the order are drawn, others as they are ticked.
    const order = last?.rows.map((row) => row.algorithm) ?? algorithms;
    return [...new Set([...owned(context, algorithms), ...order.slice(0, FIRST_FEW)])];
  }

  async function drawShapes(scores, figures) {
    const names = highlighted(scores);
    const hidden = scores.algorithms.filter((name) => !names.includes(name));
    const by = state.get("radar", "rank");
    const mode = (name, text) =>
      button(text, () => state.update({ radar: name }), { "aria-pressed": String(by === name) });
    const more =
      figures.usable > figures.columns.length
        ? ` The first ${figures.columns.length} of ${figures.usable} columns are drawn; select fewer to see the others.`
        : "";
    const [star, lines] = [h("div.plot"), h("div.plot")];
    const tick = (name) =>
      h("input", {
        type: "checkbox",
        checked: names.includes(name),
        "data-line": name,
        onchange: () => state.update({ lines: [...new Set(names).symmetricDifference(new Set([name]))] }),
      });
    put(
      shapes,
      h(
        "div",
        h(
          "div.row",
          h("h2", "Radar"),
          mode("rank", "rank"),
          mode("score", "absolute"),
          h("span.hint", "centre = best"),
        ),
        figures.radar[by]
          ? star
          : h("p.hint", "A radar chart needs at least three columns; select more metrics or regions."),
        h(
          "p.caption",
          by === "rank"
            ? "Rank among the selected algorithms; the rings are ranks, the outermost is the last place."
            : "Score divided by what the worst real algorithms reach; △ lies beyond the rim.",
          more,
          figures.partial.length > 0 && ` No axis, since some have no rank there: ${listed(figures.partial, 3)}.`,
          figures.empty.length > 0 && ` No axis, for lack of scores: ${listed(figures.empty, 3)}.`,
          figures.lacking.length > 0 && ` Not drawn, for lack of ranks: ${listed(figures.lacking, 6)}.`,
        ),
      ),
      h(
        "div",
        h("div.row", h("h2", "Parallel coordinates"), h("span.hint", "best on top")),
        figures.parallel ? lines : h("p.hint", "Parallel coordinates need at least two columns."),
        h(
          "div.key",
          scores.algorithms.map((name) => h("label", tick(name), " ", badge(context.styles.get(name)), h("bdi", name))),
        ),
      ),
    );
    // The algorithm under the pointer is emphasised in both charts.
    const drawn = [];
    const onHover = (row) => {
      for (const view of drawn) view?.signal("emphasis", row?.algorithm ?? null).runAsync();
    };
    const options = { hidden, onHover };
    const [circle, axes] = [figures.radar[by], figures.parallel];
    if (circle) drawn.push(await figure(star, circle, context, { ...options, label: "Radar chart", name: "radar" }));
    Object.assign(options, { label: "Parallel coordinates", name: "parallel-coordinates" });
    if (axes) drawn.push(await figure(lines, axes, context, options));
  }

  return { refresh, leave };
}
