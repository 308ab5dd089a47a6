// Head to head: two algorithms in their score or in one column, scene by scene.

import { latest } from "../api.js";
import { stated, statedColumn } from "../choices.js";
import { cell, figureCell, h, put, scroll, table } from "../dom.js";
import { drawable, number, plural, pValue } from "../format.js";
import { chosenAlgorithms, chosenColumns } from "../scope.js";
import * as state from "../state.js";
import { colourOf, named } from "../words.js";

/** Asks and draws the comparison of the chosen pair; `order()` lists the algorithms, best first, where it is known. */
export function createHeadToHead(root, context, order) {
  const pair = latest();
  const mine = (name) => context.styles.get(name)?.own === true;

  function pairChoice() {
    const names = chosenAlgorithms(context);
    const ordered = order() ?? names;
    const best = [...ordered.filter(mine), ...ordered.filter((name) => !mine(name))];
    const first = names.includes(state.get("first")) ? state.get("first") : best[0];
    const second = names.includes(state.get("second")) ? state.get("second") : best.find((name) => name !== first);
    const columns = chosenColumns(context);
    return { names, first, second, column: columns.find((one) => one.id === state.get("duel"))?.id ?? null };
  }

  function askPair() {
    const { first, second, column } = pairChoice();
    if (!second) return null;
    return pair("significance", state.weighed({ first, second, column }));
  }

  function draw(answer) {
    if (!answer?.pair) return put(root, h("p.hint", "Head to head needs two algorithms."));
    const { names } = pairChoice();
    const one = answer.pair;
    const largest = Math.max(...one.scenes.map((row) => Math.abs(drawable(row.difference) ?? 0)), 1e-12);
    const ahead = one.probability === null || one.probability >= 0.5;
    const [winner, loser] = ahead ? [one.first, one.second] : [one.second, one.first];
    const [won, lost] = ahead ? [one.wins, one.losses] : [one.losses, one.wins];
    const probability = ahead ? one.probability : 1 - one.probability;
    const pick = (key, value, label) => stated(key, names, value, label, { id: `duel-${key}` });
    const rowOf = (row) => {
      const difference = number(row.difference);
      const share = difference === null ? 0 : Math.min(1, Math.abs(difference) / largest);
      const better = difference === null || difference === 0 ? null : difference < 0 ? one.first : one.second;
      const pane = [one.first, one.second].map((name) => `error~${encodeURIComponent(name)}`);
      const open = { scene: row.scene, column: one.column === "score" ? null : one.column, pane };
      return [
        h("a", { href: state.address(open, "scene") }, row.scene),
        ...[row.first, row.second, row.difference].map((value) => figureCell(value)),
        cell(
          { class: "contest text" },
          h(
            "div.axis",
            better &&
              h("i", {
                style: {
                  width: `${50 * share}%`,
                  [difference < 0 ? "right" : "left"]: "50%",
                  background: colourOf(context, better),
                },
              }),
          ),
          h("span.unseen", better ?? "equal, or a score is missing"),
        ),
      ];
    };
    return put(
      root,
      h(
        "div.row",
        h("h2", "Head to head"),
        pick("first", one.first, "First algorithm"),
        "against",
        pick("second", one.second, "Second algorithm"),
        "in",
        statedColumn(context, "duel", one.column === "score" ? "" : one.column, "Column", {
          first: [["", "the score"]],
          id: "duel-column",
        }),
      ),
      h(
        "p.verdict#verdict",
        one.probability === null
          ? one.note
          : [
              named(context, winner),
              " beats ",
              named(context, loser),
              ` on the ${one.column} with probability ${probability.toFixed(2)} over such scenes`,
            ],
        one.p_value !== null &&
          h(
            "span.hint",
            `  ·  ${won} won, ${lost} lost · Wilcoxon ${pValue(one.p_value)} `,
            `over ${plural(one.units, "independent scene")}`,
          ),
      ),
      scroll(
        "Scene by scene",
        table(
          [
            "scene",
            cell({}, named(context, one.first), h("span.unit", one.unit)),
            cell({}, named(context, one.second), h("span.unit", one.unit)),
            "difference",
            cell({ class: "text" }, "better"),
          ],
          one.scenes.map(rowOf),
          { class: "duel" },
        ),
      ),
    );
  }

  return { ask: askPair, draw };
}
