// The scene: up to four linked panes, a swipe, the values under the pointer, where errors lie, and points in space.

import { ask, isStatic, latest, Problem, url } from "../api.js";
import { button, choose, h, put } from "../dom.js";
import { calm } from "../drawing.js";
import { takeMap } from "../figure.js";
import { digits, percent } from "../format.js";
import { image } from "../pictures.js";
import { bound, chosen, classifies, declared, mapParams, metrics, namesOf, scenePath } from "../scope.js";
import * as state from "../state.js";
import { refused } from "../states.js";
import { named, regionWords } from "../words.js";
import { drawBest, drawCarried } from "./carried.js";
import { createCloud } from "./cloud.js";
import { drawInspector } from "./inspector.js";
import { cropRow, layerChoices, OF_ALGORITHM, paneHead, parse, scoreWords, write } from "./layers.js";
import { drawObjects } from "./objects.js";
import { Look, legend, paint, picture, steer } from "./panes.js";

const MOST_PANES = 4;
const STACKED_FROM = 2; // width / height: two such panes side by side would be too small to read
const BLOCK_WIDTH = 96;
const MOST_BLOCKS = 8;
const CROP_WIDTH = 150;
const BLINK = 600; // ms between the two maps
const STEERING =
  "drag or arrow keys to pan, click and wheel or plus and minus to zoom, 0 to fit, digits switch the layer, " +
  "brackets move the swipe";
const HINT = "Click a pane, then the wheel zooms; drag moves, double click fits, 1 … 9 switch the layer.";

export function create(root, context) {
  const head = h("div.row.scene-head");
  const clicked = h("p.clicked#carried");
  const panesBox = h("div.panes");
  const inspector = h("div#inspector");
  const blocks = h("div#blocks");
  const objects = h("div#objects");
  const side = h("aside", { class: "inspector", "aria-label": "Inspector" }, inspector, blocks, objects);
  const best = h("section.section#best-here");
  const cloud = createCloud();
  put(root, head, clicked, h("div.scene-side", h("div", panesBox), side), best, cloud.box);
  const about = latest();
  const pixel = latest();
  const worst = latest();
  const parts = latest();
  let scene = null;
  let look = null;
  let panes = [];
  let focused = 0;
  let pointer = null;
  let block = null;
  let overlay = null;
  let swipe = 0.5;
  let blinking = 0;
  const remember = calm(() => {
    state.note("scene", {
      at: look.zoom === 1 ? null : `${look.x.toFixed(1)},${look.y.toFixed(1)},${look.zoom.toFixed(3)}`,
      ...(state.get("swipe") ? { swipe: swipe.toFixed(3) } : {}),
    });
  }, 200);

  const mine = (name) => context.styles.get(name)?.own === true;
  const swiping = () => state.has("swipe") && specs().length > 1;
  const shownAlgorithms = () => [
    ...new Set(
      (swiping() ? specs().slice(0, 2) : specs())
        .filter((one) => OF_ALGORITHM.includes(one.layer))
        .map((one) => one.algorithm ?? scene.algorithms[0])
        .filter(Boolean),
    ),
  ];

  /** The column that was clicked on the way here; metrics with pixels of their own name no region. */
  function carried() {
    const column = context.columns.find((one) => one.id === state.get("column"));
    return {
      column,
      region: column && !bound(context, column) && scene?.regions.includes(column.region) && column.region,
    };
  }

  function specs() {
    const stated = state
      .all("pane")
      .map(parse)
      .filter((one) => layerChoices(scene).includes(one.layer));
    if (stated.length) return stated.slice(0, MOST_PANES);
    const everybody = namesOf(context.algorithms);
    const own = [...everybody.filter(mine), ...chosen("algorithms", everybody)].filter((name) =>
      scene.algorithms.includes(name),
    );
    const start = [{ layer: scene.layers.includes("left") ? "left" : "estimate", algorithm: own[0] }];
    if (scene.layers.includes("truth")) start.push({ layer: "truth" });
    if (own[0]) start.push({ layer: "estimate", algorithm: own[0] });
    if (own[0] && scene.layers.includes("error")) start.push({ layer: "error", algorithm: own[0] });
    return start.slice(0, MOST_PANES);
  }

  function params(spec) {
    const algorithm = OF_ALGORITHM.includes(spec.layer) ? (spec.algorithm ?? scene.algorithms[0] ?? "") : null;
    const own = mapParams(context, algorithm === null ? {} : { algorithm }, [algorithm]);
    if (spec.layer === "metric") own.set("metric", spec.metric ?? pictured()[0]);
    if (spec.layer === "hard") own.set("metric", spec.metric ?? judged()?.id ?? "");
    if (spec.layer === "region") own.set("region", spec.metric ?? scene.regions[0]);
    if (["error", "signed", "metric"].includes(spec.layer) && carried().region && !isStatic)
      own.set("region", carried().region);
    if (spec.layer === "set") own.set("region", spec.metric ?? scene.sets[0]);
    if (["error", "signed"].includes(spec.layer) && state.get("range")) own.set("range", state.get("range"));
    return own;
  }

  /** The column that calls pixels wrong: the carried one, or the first of its kind. */
  const judged = () => {
    const able = context.columns.filter((one) => classifies(context, one) && !bound(context, one));
    return able.find((one) => one.id === state.get("column")) ?? able.find((one) => one.region === "nonocc") ?? able[0];
  };

  const pictured = () => metrics(context).filter((id) => declared(context, id)?.picture);

  async function refresh() {
    const names = namesOf(context.scenes);
    const name = state.get("scene") ?? chosen("scenes", names)[0];
    try {
      const answer = await about(scenePath(name, "about"), mapParams(context, {}, [...context.styles.keys()]));
      if (answer === undefined) return;
      if (scene?.name !== answer.name) {
        block = null;
        drawInspector(inspector, context.styles, null);
      }
      scene = answer;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      put(head, sceneChoice(name));
      put(clicked);
      put(best);
      put(inspector);
      put(blocks);
      put(objects);
      cloud.clear();
      put(panesBox, refused(problem));
      panes = [];
      return;
    }
    if (!look || look.width !== scene.width || look.height !== scene.height || look.name !== scene.name) {
      look = new Look(scene.width, scene.height);
      look.name = scene.name;
    }
    const at = (state.get("at") ?? "").split(",").map(Number);
    if (at.length === 3 && at.every(Number.isFinite)) [look.x, look.y, look.zoom] = at;
    else look.fit();
    drawHead();
    await Promise.all([drawPanes(), drawCarried(clicked, context, scene.name, shownAlgorithms()[0], carried())]);
    drawBlocks();
    listObjects();
    cloud.show(scene, context);
    drawBest(best, context, scene, carried().column ?? judged());
  }

  const sceneChoice = (name) =>
    choose(namesOf(context.scenes), name, (value) => state.update({ scene: value, at: null }), {
      "aria-label": "Scene",
      id: "scene-choice",
    });

  function drawHead() {
    const count = specs().length;
    const facts = [
      `${scene.width} × ${scene.height}`,
      scene.ndisp && `ndisp ${scene.ndisp}`,
      scene.focal && `f = ${digits(scene.focal)} px`,
      scene.baseline && `B = ${digits(scene.baseline)} m`,
    ]
      .filter(Boolean)
      .join(" · ");
    put(
      head,
      h("h1.unseen", `Scene ${scene.name}`),
      sceneChoice(scene.name),
      h("span.hint", facts),
      scene.hidden && h("strong.hint", "ground truth hidden"),
      h(
        "span.end.row",
        h(
          "label",
          "overlay ",
          choose(
            [["", "none"], ...scene.regions],
            state.get("overlay", ""),
            (value) => state.update({ overlay: value || null }),
            { "aria-label": "Region as overlay", id: "overlay" },
          ),
        ),
        !scene.hidden &&
          !isStatic &&
          h("input", {
            id: "overlay-text",
            size: 16,
            placeholder: "or near&textureless",
            value: scene.regions.includes(state.get("overlay", "")) ? "" : state.get("overlay", ""),
            "aria-label": "Regions combined with & (and), - (without) and | (or) as overlay",
            onchange: (event) => state.update({ overlay: event.target.value.trim() || null }),
          }),
        !scene.hidden &&
          !isStatic &&
          h(
            "label",
            "error up to ",
            choose(
              [["", "5"], "1", "2", "3", "10", "20"],
              state.get("range", ""),
              (value) => state.update({ range: value || null }),
              { "aria-label": "Error range in px" },
            ),
            " px",
          ),
        button("swipe", () => state.update({ swipe: state.has("swipe") ? null : "0.5", blink: null }), {
          id: "swipe",
          "aria-pressed": String(state.has("swipe")),
          disabled: count < 2 && !state.has("swipe"),
        }),
        button(
          "blink",
          () => state.update(state.has("blink") ? { swipe: null, blink: null } : { swipe: "0", blink: "on" }),
          {
            id: "blink",
            title: "Show the first two maps in turn",
            "aria-pressed": String(state.has("blink")),
            disabled: count < 2 && !state.has("blink"),
          },
        ),
        button("fit", () => {
          look.fit();
          moved();
        }),
        button("add pane", () => state.update({ pane: [...specs(), specs().at(-1)].map(write) }), {
          id: "add-pane",
          disabled: count >= MOST_PANES,
        }),
      ),
      h("p.hint.steering", HINT),
    );
    clearInterval(blinking);
    if (state.has("blink"))
      blinking = setInterval(() => {
        swipe = swipe > 0.5 ? 0 : 1;
        redraw();
      }, BLINK);
  }

  async function drawPanes() {
    const wanted = specs();
    const stated = Number(state.get("swipe"));
    swipe = stated >= 0 && stated <= 1 ? stated : 0.5;
    const visible = swiping() ? wanted.slice(0, 1) : wanted;
    const key = JSON.stringify([visible.length, swiping(), scene.name]);
    if (panesBox.dataset.key !== key || panes.length !== visible.length) {
      panesBox.dataset.key = key;
      panes = visible.map((_, index) => makePane(index));
      put(
        panesBox,
        panes.map((one) => one.box),
      );
    }
    panesBox.dataset.count = String(visible.length);
    panesBox.classList.toggle("stacked", scene.width > STACKED_FROM * scene.height);
    const name = state.get("overlay");
    const known = name && !scene.hidden && (scene.regions.includes(name) || !isStatic);
    const overlayUrl = known
      ? url(scenePath(scene.name, "layers/region.png"), params({ layer: "region", metric: name }))
      : null;
    overlay = overlayUrl ? await picture(overlayUrl).catch(() => null) : null;
    if (overlayUrl && !overlay) await explainOverlay(name);
    await Promise.all(panes.map((pane, index) => loadPane(pane, visible[index], swiping() ? wanted[1] : null)));
    drawFeet();
  }

  /** Legends, and the scores of metrics' pictures with their ranks among those that are shown. */
  function drawFeet() {
    const shown = panes.flatMap((pane) => pane.infos);
    for (const pane of panes.filter((one) => one.infos.length))
      put(
        pane.foot,
        pane.infos.map((info, place) => [
          place > 0 && h("span", "│"),
          scoreWords(context, info, shown),
          legend(info),
          takeMap(context, scene.name, info.spec.layer, params(info.spec), info),
        ]),
        cropRow(pane.infos[0].crops ?? [], (crop) => cropPicture(pane.spec, crop), showCrop),
      );
  }

  /** A crop of a pane's picture. */
  function cropPicture(spec, { x, y, width, height }) {
    if (isStatic) return `${x}, ${y}: `;
    const own = params(spec);
    const side = Math.min(Math.max(width, height), scene.width, scene.height);
    own.set("crop", [Math.min(x, scene.width - side), Math.min(y, scene.height - side), side].join());
    own.set("width", CROP_WIDTH);
    return image(url(scenePath(scene.name, `layers/${spec.layer}.png`), own), { alt: "", loading: "lazy" });
  }

  function showCrop({ x, y, width, height }) {
    look.zoom = Math.max(1, Math.min(look.width / width, look.height / height));
    look.centre(x + width / 2, y + height / 2);
    moved();
  }

  function makePane(index) {
    const canvas = h("canvas", {
      tabindex: 0,
      "aria-label": `Pane ${index + 1}: ${STEERING}`,
    });
    const own = {
      index,
      canvas,
      head: h("div.pane-head"),
      foot: h("div.pane-foot"),
      spec: {},
      infos: [],
      image: null,
      other: null,
    };
    own.box = h("div", { class: "pane", "data-pane": index }, own.head, canvas, own.foot);
    canvas.style.aspectRatio = `${scene.width} / ${scene.height}`;
    steer(canvas, () => look, {
      changed: moved,
      hover: (at) => {
        pointer = at && at[0] >= 0 && at[1] >= 0 && at[0] < scene.width && at[1] < scene.height ? at : null;
        redraw();
        readPixel();
      },
      swipeTo: {
        on: () => Boolean(own.other),
        near: (share) => own.other && Math.abs(share - swipe) < 0.04,
        set: (share) => {
          swipe = share;
          moved();
        },
        by: (step) => {
          swipe = Math.max(0, Math.min(1, swipe + step));
        },
      },
    });
    canvas.addEventListener("focus", () => {
      focused = index;
      for (const one of panes) one.box.classList.toggle("focused", one.index === index);
    });
    canvas.addEventListener("keydown", (event) => {
      const layer = layerChoices(scene)[Number(event.key) - 1];
      if (layer && !event.ctrlKey && !event.metaKey) change(index, { layer });
    });
    return own;
  }

  function change(index, changes) {
    const all = specs();
    all[index] = { ...all[index], ...changes };
    const one = all[index];
    if (OF_ALGORITHM.includes(one.layer) && !one.algorithm) one.algorithm = shownAlgorithms()[0] ?? scene.algorithms[0];
    if (!OF_ALGORITHM.includes(one.layer)) one.algorithm = ["region", "set"].includes(one.layer) ? "-" : undefined;
    if (changes.layer) one.metric = undefined;
    state.update({ pane: all.map(write) });
  }

  async function loadPane(pane, spec, second) {
    pane.spec = spec;
    const path = (layer) => scenePath(scene.name, `layers/${layer}`);
    const controls = (one, index) =>
      paneHead(scene, one, pictured(), {
        change: (changes) => change(index, changes),
        close:
          specs().length > 1 &&
          (() =>
            state.update({
              pane: specs()
                .filter((_, other) => other !== index)
                .map(write),
            })),
      });
    put(pane.head, controls(spec, pane.index), second && [h("span", "│"), controls(second, pane.index + 1)]);
    // The old picture stays, dimmed, until the new one can replace it together with its legend.
    pane.box.classList.add("loading");
    try {
      const address = url(`${path(spec.layer)}.png`, params(spec));
      if (!address) throw new Problem("This picture was not exported.", 404);
      const [info, image, other, otherInfo] = await Promise.all([
        ask(path(spec.layer), params(spec)),
        picture(address),
        second ? picture(url(`${path(second.layer)}.png`, params(second))) : null,
        second ? ask(path(second.layer), params(second)) : null,
      ]);
      const metricOf = (one) => (one.layer === "metric" ? (one.metric ?? pictured()[0]) : null);
      const infos = [{ ...info, spec, metric: metricOf(spec) }];
      if (otherInfo) infos.push({ ...otherInfo, spec: second, metric: metricOf(second) });
      Object.assign(pane, { image, other, infos });
      pane.box.dataset.loaded = address;
    } catch (problem) {
      Object.assign(pane, { image: null, other: null, infos: [] });
      put(pane.foot, problem.message);
    }
    pane.box.classList.remove("loading");
    redraw();
  }

  function redraw() {
    for (const pane of panes)
      paint(pane.canvas, look, {
        image: pane.image,
        other: pane.other,
        swipe,
        overlay: ["region", "set"].includes(pane.spec.layer) ? null : overlay,
        pointer,
        block,
      });
  }

  function moved() {
    redraw();
    root.dataset.look = [look.x, look.y, look.zoom].map((one) => one.toFixed(3)).join();
    remember();
  }

  const readPixel = calm(async () => {
    if (!pointer) return;
    if (isStatic) return drawInspector(inspector, context.styles, null, "Values under the pointer need the server.");
    const own = mapParams(context, { x: pointer[0], y: pointer[1] }, shownAlgorithms());
    for (const name of shownAlgorithms()) own.append("algorithms", name);
    try {
      const answer = await pixel(scenePath(scene.name, "pixel"), own);
      if (answer) drawInspector(inspector, context.styles, answer);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
    }
  }, 30);

  /** Say why a region that was typed cannot be shown. */
  async function explainOverlay(name) {
    const input = head.querySelector("#overlay-text");
    try {
      await ask(scenePath(scene.name, "layers/region"), params({ layer: "region", metric: name }));
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      input?.after(h("span", { class: "hint", role: "alert" }, problem.message));
    }
  }

  const focusedSpec = () =>
    [panes[focused]?.spec, ...specs()].find((one) => one?.algorithm && OF_ALGORITHM.includes(one.layer)) ??
    specs().find((one) => OF_ALGORITHM.includes(one.layer));

  /** Offer the scores by object; they are computed when asked for. */
  async function listObjects() {
    const algorithm = focusedSpec()?.algorithm ?? scene.algorithms[0];
    if (!algorithm || scene.hidden || isStatic || !scene.layers.includes("truth")) return put(objects);
    if (state.get("objects") !== "on")
      return put(
        objects,
        button("scores by object", () => state.update({ objects: "on" }), { id: "by-object" }),
      );
    const own = mapParams(context, { algorithms: algorithm }, [algorithm]);
    try {
      const answer = await parts(scenePath(scene.name, "objects"), own);
      if (!answer) return undefined;
      return drawObjects(objects, answer, algorithm, (one) => {
        look.zoom = Math.max(1, Math.min(8, scene.width / (2 * one.width), scene.height / (2 * one.height)));
        look.centre(one.x + one.width / 2, one.y + one.height / 2);
        const at = [look.x.toFixed(1), look.y.toFixed(1), look.zoom.toFixed(3)].join();
        state.update({ overlay: one.region, at });
      });
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      return put(objects, h("p.hint", problem.message));
    }
  }

  async function drawBlocks() {
    const spec = focusedSpec();
    if (!spec || scene.hidden) return put(blocks);
    const shownMetric = specs().find((one) => one.layer === "metric");
    const metric = shownMetric && !isStatic ? (shownMetric.metric ?? pictured()[0]) : null;
    const algorithm = spec.algorithm ?? scene.algorithms[0];
    const own = mapParams(context, { algorithm }, [algorithm]);
    // A metric with pixels of its own needs no region; else the one that the page judges by.
    const free = !metric || !declared(context, metric)?.region;
    const usual = free && scene.regions.includes(judged()?.region) ? judged().region : null;
    const region = isStatic ? null : state.get("overlay") || carried().region || usual;
    if (metric) own.set("metric", metric);
    if (region) own.set("region", region);
    try {
      const answer = await worst(scenePath(scene.name, "blocks"), own);
      if (!answer) return undefined;
      return put(
        blocks,
        h("h2.section", "Where it goes wrong"),
        h(
          "p.caption",
          `The parts with the largest share of ${metric ?? "the absolute error"} of `,
          named(context, algorithm),
          region && ` on pixels ${regionWords(context, region)}`,
          ". Click to go there.",
        ),
        answer.length
          ? h(
              "ol.blocks",
              answer
                .slice(0, MOST_BLOCKS)
                .map((one) =>
                  h(
                    "li",
                    h(
                      "button",
                      { type: "button", title: `at ${one.x}, ${one.y}`, onclick: () => jump(one) },
                      blockPictures(algorithm, metric, region, one),
                      percent(one.share),
                    ),
                  ),
                ),
            )
          : h("p.hint", "Every pixel that counts is right."),
      );
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      return put(blocks, h("p.hint", problem.message));
    }
  }

  /** A block and what is around it: the left image, and the errors. */
  function blockPictures(algorithm, metric, region, { x, y, size }) {
    if (isStatic) return `${x}, ${y}: `;
    const side = Math.min(3 * size, scene.width, scene.height);
    const from = (at, whole) => Math.max(0, Math.min(whole - side, Math.round(at + size / 2 - side / 2)));
    const crop = [from(x, scene.width), from(y, scene.height), side].join();
    const own = mapParams(context, { algorithm, crop, width: BLOCK_WIDTH }, [algorithm]);
    if (metric) own.set("metric", metric);
    if (region) own.set("region", region);
    const shown = [scene.layers.includes("left") && "left", metric ? "metric" : "error"].filter(Boolean);
    return shown.map((layer) =>
      image(url(scenePath(scene.name, `layers/${layer}.png`), own), {
        alt: `${layer === "left" ? "left image" : "errors"} at ${x}, ${y}`,
        loading: "lazy",
      }),
    );
  }

  function jump(one) {
    block = one;
    look.centre(one.x + one.size / 2, one.y + one.size / 2);
    look.zoom = Math.max(look.zoom, Math.min(8, look.width / (6 * one.size)));
    moved();
  }

  const resized = new ResizeObserver(() => {
    redraw();
    cloud.draw();
  });
  resized.observe(panesBox);
  const leave = () => {
    resized.disconnect();
    clearInterval(blinking);
  };
  return { refresh, restyle: redraw, leave };
}
