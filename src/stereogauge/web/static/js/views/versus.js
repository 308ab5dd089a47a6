// A against B: the difference by metric, scene and region, and the pixels in which it shows.

import { ask, isStatic, latest, Problem, url } from "../api.js";
import { choose, h, put } from "../dom.js";
import { takeMap } from "../figure.js";
import { image } from "../pictures.js";
import { chosen, chosenAlgorithms, mapParams, namesOf, scenePath } from "../scope.js";
import * as state from "../state.js";
import { refused } from "../states.js";
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

  function pair() {
    const names = chosenAlgorithms(context);
    // Without a pair in the address: two that have all scores, so that there is something to explain.
    const whole = names.filter((name) => !context.styles.get(name)?.gaps?.length);
    const first = names.includes(state.get("first")) ? state.get("first") : (whole[0] ?? names[0]);
    const second = names.includes(state.get("second"))
      ? state.get("second")
      : [...whole, ...names].find((one) => one !== first);
    return { names, first, second };
  }

  async function refresh() {
    const { names, first, second } = pair();
    put(
      head,
      h("h1", named(context, first), " against ", second ? named(context, second) : "nobody"),
      choose(names, first, (value) => state.update({ first: value }), { "aria-label": "First algorithm" }),
      "against",
      choose(names, second, (value) => state.update({ second: value }), { "aria-label": "Second algorithm" }),
    );
    for (const part of [parts, maps, crops]) put(part);
    if (!second || first === second) {
      put(because, refused({ message: "Choose two different algorithms." }));
      return;
    }
    try {
      const found = await main("explain", pairParams(first, second));
      if (!found) return;
      // Hidden scenes are one in the explanation, and named in the scope only.
      const listed = new Set(found.scenes.map((one) => one.name));
      const hidden = new Set(namesOf(context.scenes.filter((one) => one.hidden)));
      const compared = chosen("scenes", namesOf(context.scenes)).filter((one) => hidden.has(one) || listed.has(one));
      const scores = await scoresOver(context, compared);
      const [better, other] = found.better === second ? [second, first] : [first, second];
      const title = ["Why ", named(context, better), " above ", named(context, other)];
      reasons.draw(found, scores, { title, expand: true });
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
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.allowed.length) throw problem;
      put(because, refused(problem));
    }
  }

  const sceneLink = (first, second) => (scene) =>
    context.scenes.some((one) => one.name === scene) &&
    state.address(
      { scene, pane: [`error~${encodeURIComponent(first)}`, `error~${encodeURIComponent(second)}`] },
      "scene",
    );

  // The scene that the address names, or the one that makes most of the difference.
  async function drawMaps(found) {
    const column = decisive(context, found);
    const shown = openScenes(context, found);
    const names = shown.map((one) => one.name);
    const largest = [...shown].sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount))[0];
    const scene = names.includes(state.get("scene")) ? state.get("scene") : largest?.name;
    if (!column || !scene || isStatic) return;
    const { first, second } = found;
    const own = mapParams(context, { algorithm: first, other: second, metric: column.id }, [first, second]);
    try {
      const [answer, verdict, closer] = await Promise.all([
        ask(scenePath(scene, "contrast"), mapParams(context, { first, second, column: column.id }, [first, second])),
        ask(scenePath(scene, "layers/contrast"), own),
        ask(scenePath(scene, "layers/closer"), own),
      ]);
      const figure = (layer, info) =>
        h(
          "figure",
          image(url(scenePath(scene, `layers/${layer}.png`), own), { alt: info.title }),
          h("figcaption.pane-foot", legend(info), takeMap(context, scene, layer, own, info)),
        );
      put(
        maps,
        h(
          "div.row",
          h("h2", "Who is right where"),
          choose(names, scene, (value) => state.update({ scene: value }), { "aria-label": "Scene" }),
          h("span.hint", `${columnWords(context, column)} (${column.label}): ${answer.text}`),
        ),
        h("div.layers-row", figure("contrast", verdict), figure("closer", closer)),
      );
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      put(maps, h("p.hint", problem.message));
    }
  }

  return { refresh, restyle: refresh, leave: reasons.leave };
}
