// Confidence: how many bad pixels are left when the least confident ones are removed. The point of a curve under the
// pointer chooses the map beside it.

import { ask, isStatic, latest, url } from "../api.js";
import { stated } from "../choices.js";
import { h, put, table as tableOf } from "../dom.js";
import { calm } from "../drawing.js";
import { figure, takeMap } from "../figure.js";
import { digits, percent } from "../format.js";
import { show } from "../pictures.js";
import { mapParams, scenePath } from "../scope.js";
import * as state from "../state.js";
import { lacking, orRefused, orSaid } from "../states.js";
import { named, regionWords } from "../words.js";
import { legend } from "./panes.js";

/** What a question may state besides its scope; in a text field each, its label and what applies without it. */
const STATED = ["scene", "threshold", "region", "error", "sgm", "sigma", "temperature", "ndisp", "low", "high"];
const OPTIONS = {
  error: ["or the depth error", "bad-z@METRES,PX"],
  sgm: ["measures of our SGM", "entropy,entropy@8,product"],
  ndisp: ["disparities", "the scene's own"],
  sigma: ["ς", "P2"],
  temperature: ["temperature", "P2"],
  low: ["densities from", "0.7"],
  high: ["to", "0.95"],
};
const ERRORS = [["bad", "bad pixels"], "mae", "rms", "d1", ["bad-z@1,3", "bad depth (1 m and 3 px)"]];

/** A text field of an option of the address. */
function option(name, [label, placeholder] = OPTIONS[name]) {
  const onchange = (event) => state.update({ [name]: event.target.value.trim() });
  const input = h("input", { value: state.get(name, ""), placeholder, "aria-label": label, size: 12, onchange });
  return h("label", `${label} `, input);
}

export function create(root, context) {
  const head = h("div.row");
  const curves = h("div.plot#curves");
  const table = h("div");
  const map = h("figure", { id: "density-map", style: { margin: "0" } });
  const parts = [head, h("div.split", h("div", curves, table), map)];
  const question = latest();

  async function refresh() {
    if (!head.isConnected) put(root, parts);
    const params = state.scope(Object.fromEntries(STATED.map((name) => [name, state.get(name)])));
    const answer = await orRefused(head, question("confidence", params), table, map);
    if (!answer) return;
    if (!answer.available.length && !answer.curves.length) {
      put(
        root,
        lacking(
          "No algorithm here has confidence maps",
          "Confidence maps lie beside the results: " +
            "results/ALGORITHM/confidence/MEASURE/SCENE.png (16 bit, 65535 = 1) or .pfm, their direction as " +
            'better = "higher" or "lower" under [confidence] in results.toml. ' +
            "Then the curves appear here. Confidence measures from a matcher's own costs are evaluated by:",
          "stereogauge confidence --help",
          !isStatic && h("p", option("sgm", ["Or show measures of our SGM:", OPTIONS.sgm[1]])),
        ),
      );
      return;
    }
    drawHead(answer);
    drawCurves(answer);
  }

  function drawHead(answer) {
    const scenes = [...new Set([answer.scene, ...answer.available.map(([, scene]) => scene)])];
    const known = context.columns.map((one) => one.region).filter((one) => one !== "scene");
    const regions = [...new Set(["all", ...known])].map((one) => [one, regionWords(context, one)]);
    const domains = [...regions, ["haeusler-klette", "domain of Haeusler and Klette"]];
    const thresholds = [...new Set([0.5, 1, 2, 3, 5, answer.threshold])].sort((a, b) => a - b).map(String);
    const error = state.get("error", "bad");
    const errors = ERRORS.flat().includes(error) ? ERRORS : [...ERRORS, error];
    const limit = stated("threshold", "Threshold", thresholds, String(answer.threshold), { id: "threshold" });
    put(
      head,
      h("h1", "Sparsification"),
      stated("scene", "Scene", scenes, answer.scene),
      h("label", "bad above ", limit, " px"),
      h("label", "on ", stated("region", "Region", domains, answer.region)),
      h("label", "error ", stated("error", "Error", errors, error)),
      !isStatic && [
        Object.keys(OPTIONS).map((name) => option(name)),
        h("span.hint", "move over a curve, or drag the slider, to see the map with that share of the pixels"),
      ],
    );
  }

  function drawCurves(answer) {
    if (!answer.curves.length) return put(table, h("p.hint", `No algorithm has a confidence map of ${answer.scene}.`));
    const onHover = (row) => row?.measure && showMap(answer, row.algorithm, row.measure, row.density / 100);
    const options = { label: "Sparsification curves", name: "sparsification", height: 320, named: true, onHover };
    figure(curves, answer.figure, context, options);
    showMap(answer, answer.curves[0].algorithm, answer.curves[0].measure, 0.8);
    const [low, high] = answer.density_range.map((one) => Math.round(100 * one));
    const mean = `mean, ${low}–${high} %`;
    const undeclared = answer.curves.filter((one) => !one.declared).map((one) => `${one.algorithm} ${one.measure}`);
    return put(
      table,
      h(
        "p.caption",
        "Dash-dotted: the oracle, which removes the largest errors first. Dotted: random removal. ",
        "AUC: the mean over all densities. AUSE: AUC less the oracle's. AURG: random less AUC.",
        answer.bounds.length > 0 &&
          " Dashed: bad pixels that every measure would keep at this density, relative to all that it keeps; " +
            "where all measures agree they keep fewer pixels, so this is no limit for a combination.",
        answer.ndisp && ` Our SGM searched ${answer.ndisp} disparities (from the ${answer.ndisp_from}).`,
        undeclared.length > 0 &&
          ` No direction is declared for ${undeclared.join(", ")}: larger values are taken as more confident.`,
      ),
      tableOf(
        ["algorithm", "confidence measure", "AUC", "optimal AUC", "AUSE", "AURG", mean, "all pixels"],
        answer.curves.map((one) => [
          named(context, one.algorithm),
          one.measure,
          ...[one.auc, one.optimal_auc, one.ause, one.aurg].map(digits),
          percent(one.range_mean),
          answer.unit === "px" ? `${digits(one.random)} px` : percent(one.random),
        ]),
        { label: "Confidence measures" },
      ),
    );
  }

  const picture = h("img", { style: { width: "100%", "image-rendering": "pixelated" } });
  const said = h("figcaption.pane-foot");
  const slider = h("input#density", { type: "range", min: 1, max: 100, "aria-label": "Pixels kept in %" });

  const showMap = calm(async (answer, algorithm, measure, density) => {
    if (isStatic || !answer.available.some(([name]) => name === algorithm)) return;
    const own = mapParams(context, { algorithm, metric: measure, density: density.toFixed(2) });
    const path = scenePath(answer.scene, "layers/confidence");
    show(picture, url(`${path}.png`, own));
    picture.alt = `map of ${algorithm} at ${percent(density)}`;
    slider.value = Math.round(100 * density);
    slider.oninput = () => showMap(answer, algorithm, measure, slider.value / 100);
    if (!picture.isConnected) put(map, picture, said, slider);
    const info = await orSaid(said, ask(path, own));
    if (!info) return;
    const shown = { ...info, title: `${info.title} by ${measure}` };
    put(said, legend(context, shown), takeMap(context, answer.scene, "confidence", own, shown));
  }, 60);

  return { refresh };
}
