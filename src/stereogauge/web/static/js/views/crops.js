// In pixels: the crops in which two algorithms differ most.

import { ask, Problem, url } from "../api.js";
import { h, put } from "../dom.js";
import { figure } from "../figure.js";
import { percent } from "../format.js";
import { image } from "../pictures.js";
import { bound, classifies, mapParams, scenePath } from "../scope.js";
import * as state from "../state.js";
import { columnWords, named } from "../words.js";

const WIDTH = 200;
const MOST_SCENES = 2;

/** The column whose pixels are compared: the accuracy term that decides most, or the first column with a region. */
export function decisive(context, explanation) {
  const own = context.columns.filter((one) => !bound(context, one));
  const ordered = [...explanation.terms].sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount));
  for (const term of ordered) {
    const found = own.find((one) => one.id === term.term || one.metric === term.term);
    if (found && classifies(context, found)) return found;
  }
  return own.find((one) => classifies(context, one)) ?? null;
}

/** The scenes of an explanation whose pixels may be shown. */
export function openScenes(context, explanation) {
  const open = new Set(context.scenes.filter((one) => !one.hidden).map((one) => one.name));
  return explanation.scenes.filter((one) => open.has(one.name));
}

/** Show the crops of the scenes that make most of the difference. */
export async function drawCrops(element, context, explanation, most = MOST_SCENES) {
  const column = decisive(context, explanation);
  if (!column) return put(element);
  const scenes = openScenes(context, explanation)
    .sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount))
    .slice(0, most);
  const found = await Promise.all(
    scenes.map(async (scene) => {
      const { first, second } = explanation;
      const params = mapParams(context, { first, second, column: column.id }, [first, second]);
      try {
        return await ask(scenePath(scene.name, "contrast"), params);
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        return null;
      }
    }),
  );
  const crops = found
    .filter(Boolean)
    .flatMap((one) => one.crops.slice(0, 1).map((crop) => ({ scene: one.scene, crop })));
  const shifted = found.find((one) => one?.line);
  const line = shifted && h("div#profile-line");
  if (!crops.length && !line) return put(element);
  put(
    element,
    h("h2", "… in pixels: where the two differ most"),
    crops.map((one) => row(context, explanation, column, one)),
    crops.length > 0 &&
      h("p.caption", `By ${columnWords(context, column)} (${column.label}); pixels that it does not count are grey.`),
    line,
    line && h("p", { class: "caption" }, `${shifted.scene}: ${shifted.text}.`),
  );
  if (!line) return null;
  return figure(line, shifted.line, context, {
    label: `Disparities of ${shifted.scene} along a row`,
    name: "profile-line",
    named: true,
  });
}

const noPicture = (event) => event.target.replaceWith(h("span.no-picture", "no picture"));

function row(context, explanation, column, { scene, crop }) {
  const { first, second } = explanation;
  const pair = [
    [first, crop.first_wrong],
    [second, crop.second_wrong],
  ].sort((a, b) => a[1] - b[1]);
  const pane = (layer, algorithm) => `${layer}~${encodeURIComponent(algorithm)}`;
  const address = state.address(
    {
      scene,
      column: column.id,
      pane: [pane("estimate", first), pane("estimate", second), pane("error", first), pane("error", second)],
      at: `${crop.x + crop.size / 2},${crop.y + crop.size / 2},4`,
    },
    "scene",
  );
  const picture = (layer, text, algorithm = null) => {
    const params = mapParams(context, { crop: `${crop.x},${crop.y},${crop.size}`, width: WIDTH }, [algorithm]);
    if (algorithm) params.set("algorithm", algorithm);
    if (layer === "error") params.set("region", column.region);
    const source = url(scenePath(scene, `layers/${layer}.png`), params);
    return h(
      "figure",
      source && image(source, { alt: `${text}, ${scene}`, loading: "lazy", onerror: noPicture }),
      h("figcaption", h("bdi", text)),
    );
  };
  return h(
    "div.crop-row",
    h(
      "p",
      h("strong", scene),
      ` at ${crop.x}, ${crop.y}: `,
      pair.map(([name, wrong]) => [named(context, name), ` wrong at ${percent(wrong)} `]),
      h("a", { href: address }, "open"),
    ),
    h(
      "div.crop-pictures",
      picture("left", "left image"),
      picture("truth", "truth"),
      picture("estimate", first, first),
      picture("estimate", second, second),
      picture("error", `error, ${first}`, first),
      picture("error", `error, ${second}`, second),
    ),
  );
}
