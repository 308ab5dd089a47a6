// Confidence: how many bad pixels are left when the least confident ones are removed. The point of a curve under the
// pointer chooses the map beside it.

import { ask, isStatic, latest, Problem, url } from "../api.js";
import { behind } from "../diagrams.js";
import { choose, h, put, scroll, table as tableOf } from "../dom.js";
import { calm } from "../drawing.js";
import { figure, takeMap } from "../figure.js";
import { digits, percent } from "../format.js";
import { show } from "../pictures.js";
import { mapParams, scenePath } from "../scope.js";
import * as state from "../state.js";
import { lacking, refused } from "../states.js";
import { named, regionWords } from "../words.js";
import { legend } from "./panes.js";

export function create(root, context) {
  const head = h("div.row");
  const curves = h("div.plot#curves");
  const table = h("div");
  const map = h("figure", { id: "density-map", style: { margin: "0" } });
  put(root, head, h("div.split", h("div", curves, table), map));
  const question = latest();

  async function refresh() {
    const own = ["scene", "threshold", "region", "error", "sgm", "sigma", "temperature", "ndisp", "low", "high"];
    const params = state.scope(Object.fromEntries(own.map((name) => [name, state.get(name)])));
    let answer;
    try {
      answer = await question("confidence", params);
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
          !isStatic && h("p", option("sgm", "Or show measures of our SGM:", "entropy,entropy@8,product")),
        ),
      );
      return;
    }
    if (!curves.isConnected) put(root, head, h("div.split", h("div", curves, table), map));
    drawHead(answer);
    drawCurves(answer);
  }

  function drawHead(answer) {
    const scenes = [...new Set([answer.scene, ...answer.available.map(([, scene]) => scene)])];
    const known = context.columns.map((one) => one.region).filter((one) => one !== "scene");
    const regions = [...new Set(["all", ...known])].map((one) => [one, regionWords(context, one)]);
    const thresholds = [...new Set([0.5, 1, 2, 3, 5, answer.threshold])].sort((a, b) => a - b).map(String);
    const errors = [["bad", "bad pixels"], "mae", "rms", "d1", ["bad-z@1,3", "bad depth (1 m and 3 px)"]];
    const stated = state.get("error", "bad");
    put(
      head,
      h("h1", "Sparsification"),
      choose(scenes, answer.scene, (value) => state.update({ scene: value }), { "aria-label": "Scene" }),
      h(
        "label",
        "bad above ",
        choose(thresholds, String(answer.threshold), (value) => state.update({ threshold: value }), {
          "aria-label": "Threshold",
          id: "threshold",
        }),
        " px",
      ),
      h(
        "label",
        "on ",
        choose(
          [...regions, ["haeusler-klette", "domain of Haeusler and Klette"]],
          answer.region,
          (value) => state.update({ region: value }),
          { "aria-label": "Region" },
        ),
      ),
      h(
        "label",
        "error ",
        choose(
          errors.some((one) => [one].flat()[0] === stated) ? errors : [...errors, stated],
          stated,
          (value) => state.update({ error: value }),
          {
            "aria-label": "Error",
          },
        ),
      ),
      !isStatic && option("error", "or the depth error", "bad-z@METRES,PX"),
      !isStatic && option("sgm", "measures of our SGM", "entropy,entropy@8,product"),
      !isStatic && option("ndisp", "disparities", "the scene's own"),
      !isStatic && option("sigma", "ς", "P2"),
      !isStatic && option("temperature", "temperature", "P2"),
      !isStatic && option("low", "densities from", "0.7"),
      !isStatic && option("high", "to", "0.95"),
      !isStatic &&
        h("span.hint", "move over a curve, or drag the slider, to see the map with that share of the pixels"),
    );
  }

  function option(name, label, placeholder) {
    const input = h("input", { value: state.get(name, ""), placeholder, "aria-label": label, size: 12 });
    input.onchange = () => state.update({ [name]: input.value.trim() });
    return h("label", `${label} `, input);
  }

  function drawCurves(answer) {
    if (!answer.curves.length) return put(table, h("p.hint", `No algorithm has a confidence map of ${answer.scene}.`));
    const factor = answer.unit === "px" ? 1 : 100;
    const onHover = (row) => row?.measure && showMap(answer, row.algorithm, row.measure, row.density / 100);
    figure(curves, answer.figure, context, {
      label: "Sparsification curves",
      name: "sparsification",
      height: 320,
      named: true,
      onHover,
    });
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
      scroll(
        "Confidence measures",
        tableOf(
          ["algorithm", "confidence measure", "AUC", "optimal AUC", "AUSE", "AURG", mean, "all pixels"],
          answer.curves.map((one) => [
            named(context, one.algorithm),
            one.measure,
            ...[one.auc, one.optimal_auc, one.ause, one.aurg].map(digits),
            percent(one.range_mean),
            answer.unit === "px" ? `${digits(one.random)} px` : percent(one.random),
          ]),
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
  const said = h("figcaption.pane-foot");
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
    const path = scenePath(answer.scene, "layers/confidence");
    show(picture, url(`${path}.png`, own));
    picture.alt = `map of ${algorithm} at ${percent(density)}`;
    slider.value = Math.round(100 * density);
    slider.oninput = () => showMap(answer, algorithm, measure, slider.value / 100);
    if (!picture.isConnected) put(map, picture, said, slider);
    try {
      const info = await ask(path, own);
      const shown = { ...info, title: `${info.title} by ${measure}` };
      put(said, legend(shown), takeMap(context, answer.scene, "confidence", own, shown));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      put(said, problem.message);
    }
  }, 60);

  return { refresh, restyle: refresh };
}
