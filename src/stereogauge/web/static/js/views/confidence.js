// Confidence: how many bad pixels are left when the least confident ones are removed. The point of a curve under the
// pointer chooses the map beside it.

import { ask, isStatic, latest, Problem, url } from "../api.js";
import { chart } from "../chart.js";
import { behind } from "../diagrams.js";
import { calm, choose, h, put } from "../dom.js";
import { digits, percent } from "../format.js";
import { show } from "../pictures.js";
import { mapParams } from "../selection.js";
import * as state from "../state.js";
import { lacking, refused } from "../states.js";
import { legend } from "./panes.js";

export function create(root, context) {
  const head = h("div", { class: "row" });
  const curves = h("div", { class: "plot", id: "curves" });
  const table = h("div", {});
  const map = h("figure", { id: "density-map", style: { margin: "0" } });
  put(root, head, h("div", { class: "split" }, h("div", {}, curves, table), map));
  const question = latest();

  async function refresh() {
    const params = state.selection();
    params.set("threshold", state.get("threshold", "1"));
    params.set("region", state.get("region", "all"));
    for (const name of ["scene", "error", "sgm", "sigma", "temperature"])
      if (state.get(name)) params.set(name, state.get(name));
    let answer;
    try {
      answer = await question((signal) => ask("confidence", params, { signal }));
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.allowed.length) throw problem;
      put(head, refused(problem));
      put(table);
      put(map);
      return;
    }
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
        ),
      );
      return;
    }
    if (!curves.isConnected) put(root, head, h("div", { class: "split" }, h("div", {}, curves, table), map));
    drawHead(answer);
    drawCurves(answer);
  }

  function drawHead(answer) {
    const scenes = [...new Set([answer.scene, ...answer.available.map(([, scene]) => scene)])];
    const regions = [...new Set(["all", ...context.columns.map((one) => one.region)])];
    put(
      head,
      h("h1", {}, "Sparsification"),
      choose(scenes, answer.scene, (value) => state.update({ scene: value }), { "aria-label": "Scene" }),
      h(
        "label",
        {},
        "bad above ",
        choose(["0.5", "1", "2", "3", "5"], String(answer.threshold), (value) => state.update({ threshold: value }), {
          "aria-label": "Threshold",
        }),
        " px",
      ),
      h(
        "label",
        {},
        "on ",
        choose(regions, answer.region, (value) => state.update({ region: value }), { "aria-label": "Region" }),
      ),
      h(
        "label",
        {},
        "error ",
        choose(["bad", "mae", "rms", "d1"], state.get("error", "bad"), (value) => state.update({ error: value }), {
          "aria-label": "Error",
        }),
      ),
      !isStatic && option("sgm", "measures of our SGM", "entropy,entropy@8,product"),
      !isStatic && option("sigma", "ς", "P2"),
      !isStatic && option("temperature", "temperature", "P2"),
      !isStatic &&
        h(
          "span",
          { class: "hint" },
          "move over a curve, or drag the slider, to see the map with that share of the pixels",
        ),
    );
  }

  function option(name, label, placeholder) {
    const input = h("input", { value: state.get(name, ""), placeholder, "aria-label": label, size: 12 });
    input.onchange = () => state.update({ [name]: input.value.trim() });
    return h("label", {}, `${label} `, input);
  }

  function drawCurves(answer) {
    if (!answer.curves.length)
      return put(table, h("p", { class: "hint" }, `No algorithm has a confidence map of ${answer.scene}.`));
    const factor = answer.unit === "px" ? 1 : 100;
    const onHover = (row) => row?.measure && showMap(answer, row.algorithm, row.measure, row.density / 100);
    chart(curves, answer.figure, { label: "Sparsification curves", height: 320, named: true, onHover });
    showMap(answer, answer.curves[0].algorithm, answer.curves[0].measure, 0.8);
    const undeclared = answer.curves.filter((one) => !one.declared).map((one) => `${one.algorithm} ${one.measure}`);
    return put(
      table,
      h(
        "p",
        { class: "caption" },
        "Dotted: the oracle, which removes the largest errors first. Faint: random removal. ",
        "AUC: the mean over all densities. AUSE: AUC less the oracle's. AURG: random less AUC.",
        answer.bounds.length > 0 &&
          " Dash-dotted: bad pixels that every measure would keep at this density, relative to all that it keeps; " +
            "where all measures agree they keep fewer pixels, so this is no limit for a combination.",
        undeclared.length > 0 &&
          ` No direction is declared for ${undeclared.join(", ")}: larger values are taken as more confident.`,
      ),
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["algorithm", "confidence measure", "AUC", "optimal AUC", "AUSE", "AURG", "all pixels"].map((one, index) =>
              h("th", { class: index < 2 ? "text" : null, scope: "col" }, one),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          answer.curves.map((one) =>
            h(
              "tr",
              {},
              h("td", { class: "text" }, one.algorithm),
              h("td", { class: "text" }, one.measure),
              h("td", {}, digits(one.auc)),
              h("td", {}, digits(one.optimal_auc)),
              h("td", {}, digits(one.ause)),
              h("td", {}, digits(one.aurg)),
              h("td", {}, answer.unit === "px" ? `${digits(one.random)} px` : percent(one.random)),
            ),
          ),
        ),
      ),
      behind(
        ["pixels kept [%]", ...answer.curves.map((one) => `${one.algorithm} ${one.measure} [${answer.unit}]`)],
        answer.density
          .map((one, index) => [`${Math.round(100 * one)}`, ...answer.curves.map((curve) => factor * curve.bad[index])])
          .filter((_, index) => index && index % 10 === 0),
      ),
    );
  }

  const picture = h("img", { style: { width: "100%", "image-rendering": "pixelated" } });
  const said = h("figcaption", { class: "pane-foot" });
  const slider = h("input", {
    type: "range",
    min: 1,
    max: 100,
    step: 1,
    id: "density",
    "aria-label": "Pixels kept in %",
  });

  const showMap = calm(async (answer, algorithm, measure, density) => {
    if (isStatic || !answer.available.some(([name]) => name === algorithm)) return;
    const own = mapParams(context, { algorithm, metric: measure, density: density.toFixed(2) }, [algorithm]);
    const path = `scenes/${encodeURIComponent(answer.scene)}/layers/confidence`;
    show(picture, url(`${path}.png`, own));
    picture.alt = `map of ${algorithm} at ${percent(density)}`;
    slider.value = Math.round(100 * density);
    slider.oninput = () => showMap(answer, algorithm, measure, slider.value / 100);
    if (!picture.isConnected) put(map, picture, said, slider);
    try {
      const info = await ask(path, own);
      put(said, legend({ ...info, title: `${info.title} by ${measure}` }));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      put(said, problem.message);
    }
  }, 60);

  return { refresh, restyle: refresh };
}
