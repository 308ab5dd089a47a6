// Head to head: two algorithms in their score or in one column, scene by scene.

import { latest } from "../api.js";
import { columnOptions, stated } from "../choices.js";
import { figureCell, h, headed, link, put, table, textCell } from "../dom.js";
import { drawable, number, plural, pValue } from "../format.js";
import { chosenAlgorithms, chosenColumns, errorPanes, owned } from "../scope.js";
import * as state from "../state.js";
import { orRefused } from "../states.js";
import { named } from "../words.js";
import { bar } from "./reasons.js";

/** Compares the chosen pair in an element; `order()` lists the algorithms, best first, where it is known. */
export function createHeadToHead(root, context, order) {
  const pair = latest();

  function askPair() {
    const names = chosenAlgorithms(context);
    const ordered = order() ?? names;
    const best = [...owned(context, ordered), ...ordered];
    const wanted = (key) => names.find((name) => name === state.get(key));
    const first = wanted("first") ?? best[0];
    const second = wanted("second") ?? best.find((name) => name !== first);
    const column = chosenColumns(context).find((one) => one.id === state.get("duel"))?.id;
    return second ? pair("significance", state.weighed({ first, second, column })) : {};
  }

  async function refresh() {
    const answer = await orRefused(root, Promise.resolve(askPair()));
    if (answer) draw(answer);
  }

  /** Who wins on more scenes, and how likely that is on others. */
  function verdict(one) {
    const ahead = one.probability === null || one.probability >= 0.5;
    const [winner, loser] = ahead ? [one.first, one.second] : [one.second, one.first];
    const [won, lost] = ahead ? [one.wins, one.losses] : [one.losses, one.wins];
    const probability = ahead ? one.probability : 1 - one.probability;
    const said = () => [
      named(context, winner),
      " beats ",
      named(context, loser),
      ` on the ${one.column} with probability ${probability.toFixed(2)} over such scenes`,
    ];
    const tested = () =>
      `  ·  ${won} won, ${lost} lost · Wilcoxon ${pValue(one.p_value)} over ${plural(one.units, "independent scene")}`;
    return [one.probability === null ? one.note : said(), one.p_value !== null && h("span.hint", tested())];
  }

  function draw(answer) {
    if (!answer.pair) return put(root, h("p.hint", "Head to head needs two algorithms."));
    const one = answer.pair;
    const names = chosenAlgorithms(context);
    const largest = Math.max(...one.scenes.map((row) => Math.abs(drawable(row.difference) ?? 0)), 1e-12);
    const pick = (key, label) => stated(key, label, names, one[key], { id: `duel-${key}` });
    const column = one.column === "score" ? null : one.column;
    const rowOf = (row) => {
      const contest = bar(context, one);
      contest.draw(number(row.difference) ?? 0, largest, row.difference === null ? "a score is missing" : "equal");
      const open = { scene: row.scene, column, pane: errorPanes(one.first, one.second) };
      return [
        link(state.address(open, "scene"), row.scene),
        ...[row.first, row.second, row.difference].map((value) => figureCell(value)),
        contest.content,
      ];
    };
    const columns = [["", "the score"], ...columnOptions(context)];
    return put(
      root,
      h(
        "div.row",
        h("h2", "Head to head"),
        pick("first", "First algorithm"),
        "against",
        pick("second", "Second algorithm"),
        "in",
        stated("duel", "Column", columns, column, { id: "duel-column" }),
      ),
      h("p.verdict#verdict", verdict(one)),
      table(
        [
          "scene",
          headed(named(context, one.first), one.unit),
          headed(named(context, one.second), one.unit),
          "difference",
          textCell("better"),
        ],
        one.scenes.map(rowOf),
        { class: "duel", label: "Scene by scene" },
      ),
    );
  }

  return { refresh };
}
