// In pixels: the crops in which two algorithms differ most.

import { ask, attempt, url } from "../api.js";
import { h, link, put } from "../dom.js";
import { figure } from "../figure.js";
import { percent } from "../format.js";
import { image, noPicture } from "../pictures.js";
import { bound, classifies, errorPanes, mapParams, scenePath } from "../scope.js";
import * as state from "../state.js";
import { columnWords, named } from "../words.js";

const WIDTH = 200;
const MOST_SCENES = 2;

/** The column whose pixels are compared: the accuracy term that decides most, or the first column with a region. */
export function decisive(context, explanation) {
  const able = context.columns.filter((one) => !bound(context, one) && classifies(context, one));
  const ordered = [...explanation.terms].sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount));
  const found = ordered.map(({ term }) => able.find((one) => one.id === term || one.metric === term));
  return found.find(Boolean) ?? able[0] ?? null;
}

/** The scenes of an explanation whose pixels may be shown, those that make most of the difference first. */
export function openScenes(context, explanation) {
  const open = new Set(context.scenes.filter((one) => !one.hidden).map((one) => one.name));
  const shown = explanation.scenes.filter((one) => open.has(one.name));
  return shown.sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount)).map((one) => one.name);
}

/** Where two algorithms differ on a scene, by one column; null where that is not shown. */
export const contrast = (context, scene, { first, second }, column) =>
  attempt(
    ask(scenePath(scene, "contrast"), mapParams(context, { first, second, column: column.id }, [first, second])),
    () => null,
  );

/** Show the crops of the scenes that make most of the difference. */
export async function drawCrops(element, context, explanation, most = MOST_SCENES) {
  const column = decisive(context, explanation);
  if (!column) return put(element);
  const scenes = openScenes(context, explanation).slice(0, most);
  const found = await Promise.all(scenes.map((scene) => contrast(context, scene, explanation, column)));
  const crops = found.flatMap((one) => one?.crops.slice(0, 1).map((crop) => ({ scene: one.scene, crop })) ?? []);
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
    line && h("p.caption", `${shifted.scene}: ${shifted.text}.`),
  );
  const label = `Disparities of ${shifted?.scene} along a row`;
  return line && figure(line, shifted.line, context, { label, name: "profile-line", named: true });
}

function row(context, { first, second }, column, { scene, crop: { x, y, size, first_wrong, second_wrong } }) {
  const pair = [
    [first, first_wrong],
    [second, second_wrong],
  ].sort((a, b) => a[1] - b[1]);
  const maps = [first, second].map((name) => `estimate~${encodeURIComponent(name)}`);
  const pane = [...maps, ...errorPanes(first, second)];
  const at = `${x + size / 2},${y + size / 2},4`;
  const picture = (layer, text, algorithm = null) => {
    const region = layer === "error" ? column.region : null;
    const params = mapParams(context, { crop: `${x},${y},${size}`, width: WIDTH, algorithm, region });
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
      ` at ${x}, ${y}: `,
      pair.map(([name, wrong]) => [named(context, name), ` wrong at ${percent(wrong)} `]),
      link(state.address({ scene, column: column.id, pane, at }, "scene"), "open"),
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
