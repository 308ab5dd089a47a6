// A against B: the difference by metric, scene and region, and the pixels in which it shows.

import { ask, attempt, isStatic, latest, url } from "../api.js";
import { stated } from "../choices.js";
import { h, put } from "../dom.js";
import { takeMap } from "../figure.js";
import { image } from "../pictures.js";
import { chosen, chosenAlgorithms, errorPanes, mapParams, namesOf, scenePath } from "../scope.js";
import * as state from "../state.js";
import { orRefused, orSaid, refused } from "../states.js";
import { columnWords, named } from "../words.js";
import { pairParams } from "./answer.js";
import { decisive, drawCrops, openScenes } from "./crops.js";
import { legend } from "./panes.js";
import { createReasons, piecesTable, scoresOver } from "./reasons.js";

const CROPS = 4;

export function create(root, context) {
  const head = h("div.row");
  const because = h("section#why");
  const parts = h("div.split.section");
  const maps = h("section.section#contrast");
  const crops = h("section.section#crops");
  put(root, head, because, parts, maps, crops);
  const main = latest();
  const reasons = createReasons(because, context);

  // Without a pair in the address: the best two, which can be compared.
  async function pair(names) {
    const [one, other] = ["first", "second"].map((key) => names.find((name) => name === state.get(key)));
    if (one && other) return [one, other];
    const order = await attempt(ask("rank", state.weighed({ model: "weighted" })), () => ({ rows: [] }));
    const best = [...order.rows.map((row) => row.algorithm), ...names];
    const first = one ?? best.find((name) => name !== other);
    return [first, other ?? best.find((name) => name !== first)];
  }

  async function refresh() {
    const names = chosenAlgorithms(context);
    const [first, second] = await pair(names);
    put(
      head,
      h("h1", named(context, first), " against ", second ? named(context, second) : "nobody"),
      stated("first", "First algorithm", names, first),
      "against",
      stated("second", "Second algorithm", names, second),
    );
    for (const part of [parts, maps, crops]) put(part);
    if (!second || first === second) {
      put(because, refused("Choose two different algorithms."));
      return;
    }
    const found = await orRefused(because, main("explain", pairParams(first, second)));
    if (!found) return;
    // Hidden scenes are one in the explanation, and named in the scope only.
    const listed = new Set(found.scenes.map((one) => one.name));
    const hidden = new Set(namesOf(context.scenes.filter((one) => one.hidden)));
    const compared = chosen("scenes", namesOf(context.scenes)).filter((one) => hidden.has(one) || listed.has(one));
    const scores = await orRefused(because, scoresOver(context, compared));
    if (!scores) return;
    const [better, other] = found.better === second ? [second, first] : [first, second];
    // What the test of the answer does not rule out is no reason why one is above the other.
    const [begin, between] = found.said[0].kind === "better" ? ["Why ", " above "] : ["What separates ", " and "];
    reasons.draw(found, scores, {
      title: [begin, named(context, better), between, named(context, other)],
      expand: true,
    });
    put(
      parts,
      h("div", h("h2", "By scene"), piecesTable(context, found, "scene", found.scenes, sceneLink(first, second))),
      h(
        "div",
        h("h2", "By region"),
        piecesTable(context, found, "region", found.regions),
        found.undivided.map((one) => h("p.caption", one)),
        found.command && h("details.data", h("summary", "compute it"), h("pre", found.command)),
      ),
    );
    await Promise.all([drawMaps(found), drawCrops(crops, context, found, CROPS)]);
  }

  const sceneLink = (first, second) => (scene) =>
    context.scenes.some((one) => one.name === scene) &&
    state.address({ scene, pane: errorPanes(first, second) }, "scene");

  // The scene that the address names, or the one that makes most of the difference.
  async function drawMaps(found) {
    const column = decisive(context, found);
    const names = openScenes(context, found);
    const scene = names.find((name) => name === state.get("scene")) ?? names[0];
    if (!column || !scene || isStatic) return;
    const { first, second } = found;
    const both = [first, second];
    const own = mapParams(context, { algorithm: first, other: second, metric: column.id }, both);
    const layers = ["contrast", "closer"];
    const asked = Promise.all([
      ask(scenePath(scene, "contrast"), mapParams(context, { first, second, column: column.id }, both)),
      ...layers.map((layer) => ask(scenePath(scene, `layers/${layer}`), own)),
    ]);
    const [answer, ...infos] = (await orSaid(maps, asked)) ?? [];
    if (!answer) return;
    const map = (info, at) =>
      h(
        "figure",
        image(url(scenePath(scene, `layers/${layers[at]}.png`), own), { alt: info.title }),
        h("figcaption.pane-foot", legend(context, info), takeMap(context, scene, layers[at], own, info)),
      );
    put(
      maps,
      h(
        "div.row",
        h("h2", "Who is right where"),
        stated("scene", "Scene", names, scene),
        h("span.hint", `${columnWords(context, column)} (${column.label}): ${answer.text}`),
      ),
      h("div.layers-row", infos.map(map)),
    );
  }

  return { refresh, leave: reasons.leave };
}
