// A against B: the difference by metric, scene and region, and the pixels in which it shows.

import { ask, isStatic, latest, Problem, url } from "../api.js";
import { choose, h, put } from "../dom.js";
import { image } from "../pictures.js";
import { chosen, mapParams } from "../selection.js";
import * as state from "../state.js";
import { refused } from "../states.js";
import { columnWords } from "../words.js";
import { pairParams } from "./answer.js";
import { decisive, drawCrops, openScenes } from "./crops.js";
import { piecesTable, why } from "./why.js";

const CROPS = 4;

export function create(root, context) {
  const head = h("div", { class: "row" });
  const because = h("section", { id: "why" });
  const parts = h("div", { class: "split section" });
  const maps = h("section", { class: "section", id: "contrast" });
  const crops = h("section", { class: "section", id: "crops" });
  put(root, head, because, parts, maps, crops);
  const main = latest();

  function pair() {
    const names = chosen(
      "algorithms",
      context.algorithms.map((one) => one.name),
    );
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
      h("h1", {}, `${first} against ${second ?? "nobody"}`),
      choose(names, first, (value) => state.update({ first: value }), { "aria-label": "First algorithm" }),
      "against",
      choose(names, second, (value) => state.update({ second: value }), { "aria-label": "Second algorithm" }),
      "for",
      choose(
        context.catalogue.profiles.map((one) => [one.id, one.name]),
        state.get("profile", "balanced"),
        (value) => state.update({ profile: value, weights: null }),
        { "aria-label": "Profile" },
      ),
    );
    for (const part of [because, parts, maps, crops]) put(part);
    if (!second || first === second) {
      put(because, refused({ message: "Choose two different algorithms." }));
      return;
    }
    try {
      const found = await main((signal) => ask("explain", pairParams(first, second), { signal }));
      if (!found) return;
      const [better, other] = found.better === second ? [second, first] : [first, second];
      why(because, found, { title: `Why ${better} above ${other}` });
      put(
        parts,
        h("div", {}, h("h2", {}, "By scene"), piecesTable(found, "scene", found.scenes, sceneLink(first, second))),
        h(
          "div",
          {},
          h("h2", {}, "By region"),
          piecesTable(found, "region", found.regions),
          found.undivided.map((one) => h("p", { class: "caption" }, one)),
          found.command && h("details", { class: "data" }, h("summary", {}, "compute it"), h("pre", {}, found.command)),
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
    const path = `scenes/${encodeURIComponent(scene)}`;
    try {
      const [answer, verdict, closer] = await Promise.all([
        ask(`${path}/contrast`, mapParams(context, { first, second, column: column.id }, [first, second])),
        ask(`${path}/layers/contrast`, own),
        ask(`${path}/layers/closer`, own),
      ]);
      const figure = (layer, info) =>
        h(
          "figure",
          {},
          image(url(`${path}/layers/${layer}.png`, own), { alt: info.title }),
          h(
            "figcaption",
            { class: "pane-foot" },
            info.legend.length
              ? info.legend.map((one) =>
                  h("span", {}, h("i", { class: "swatch", style: { background: one.colour } }), one.text),
                )
              : info.title,
          ),
        );
      put(
        maps,
        h(
          "div",
          { class: "row" },
          h("h2", {}, "Who is right where"),
          choose(names, scene, (value) => state.update({ scene: value }), { "aria-label": "Scene" }),
          h("span", { class: "hint" }, `${columnWords(context, column)} (${column.label}): ${answer.text}`),
        ),
        h("div", { class: "layers-row" }, figure("contrast", verdict), figure("closer", closer)),
      );
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      put(maps, h("p", { class: "hint" }, problem.message));
    }
  }

  return { refresh, restyle: refresh };
}
