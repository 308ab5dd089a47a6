// The scene: up to four linked panes, a swipe, the values under the pointer, where errors lie, and points in space.

import { ask, attempt, isStatic, latest, Problem, url } from "../api.js";
import { stated } from "../choices.js";
import { button, choose, h, put } from "../dom.js";
import { calm } from "../drawing.js";
import { takeMap } from "../figure.js";
import { digits, percent } from "../format.js";
import { image } from "../pictures.js";
import { bound, chosen, classifies, declared, mapParams, metrics, namesOf, owned, scenePath } from "../scope.js";
import * as state from "../state.js";
import { orSaid } from "../states.js";
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
const RANGES = [["", "5"], "1", "2", "3", "10", "20"]; // px at which errors are clipped
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
  const side = h("aside.inspector", { "aria-label": "Inspector" }, inspector, blocks, objects);
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
      at: look.zoom === 1 ? null : look.text(),
      ...(state.get("swipe") ? { swipe: swipe.toFixed(3) } : {}),
    });
  }, 200);

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
    const own = state.all("pane").map(parse);
    const able = own.filter((one) => layerChoices(scene).includes(one.layer));
    if (able.length) return able.slice(0, MOST_PANES);
    const everybody = namesOf(context.algorithms);
    const wanted = [...owned(context, everybody), ...chosen("algorithms", everybody)];
    const algorithm = wanted.find((name) => scene.algorithms.includes(name));
    const start = [
      { layer: scene.layers.includes("left") ? "left" : "estimate", algorithm },
      { layer: "truth" },
      algorithm && { layer: "estimate", algorithm },
      algorithm && { layer: "error", algorithm },
    ];
    return start.filter((one) => one && scene.layers.includes(one.layer));
  }

  function params({ layer, algorithm, metric }) {
    const errors = ["error", "signed"].includes(layer);
    const greyed = (errors || layer === "metric") && !isStatic && carried().region;
    return mapParams(context, {
      algorithm: OF_ALGORITHM.includes(layer) ? (algorithm ?? scene.algorithms[0]) : null,
      metric: { metric: metric ?? pictured()[0], hard: metric ?? judged()?.id }[layer],
      region: { region: metric ?? scene.regions[0], set: metric ?? scene.sets[0] }[layer] ?? (greyed || null),
      range: errors ? state.get("range") : null,
    });
  }

  /** The column that calls pixels wrong: the carried one, or the first of its kind. */
  const judged = () => {
    const able = context.columns.filter((one) => classifies(context, one) && !bound(context, one));
    return able.find((one) => one.id === state.get("column")) ?? able.find((one) => one.region === "nonocc") ?? able[0];
  };

  const pictured = () => metrics(context).filter((id) => declared(context, id)?.picture);

  async function refresh() {
    const name = state.get("scene") ?? chosen("scenes", namesOf(context.scenes))[0];
    const anybody = mapParams(context, {}, [...context.styles.keys()]);
    const answer = await orSaid(panesBox, about(scenePath(name, "about"), anybody));
    if (answer === undefined) return;
    if (answer === null) {
      put(head, sceneChoice(name));
      for (const part of [clicked, best, inspector, blocks, objects, cloud.head]) put(part);
      panes = [];
      return;
    }
    if (scene?.name !== answer.name) {
      block = null;
      drawInspector(inspector, context.styles, null);
    }
    scene = answer;
    look = new Look(scene.width, scene.height);
    const at = (state.get("at") ?? "").split(",").map(Number);
    if (at.length === 3 && at.every(Number.isFinite)) [look.x, look.y, look.zoom] = at;
    drawHead();
    await Promise.all([drawPanes(), drawCarried(clicked, context, scene.name, shownAlgorithms()[0], carried())]);
    drawBlocks();
    listObjects();
    cloud.show(scene, context);
    drawBest(best, context, scene, carried().column ?? judged());
  }

  const sceneChoice = (name) =>
    choose("Scene", namesOf(context.scenes), name, (value) => state.update({ scene: value, at: null }), {
      id: "scene-choice",
    });

  function drawHead() {
    const count = specs().length;
    const facts = [
      `${scene.width} × ${scene.height}`,
      scene.ndisp && `ndisp ${scene.ndisp}`,
      scene.focal && `f = ${digits(scene.focal)} px`,
      scene.baseline && `B = ${digits(scene.baseline)} m`,
    ];
    const free = !scene.hidden && !isStatic;
    const overlay = state.get("overlay", "");
    const known = scene.regions.includes(overlay);
    /** A button of something that is on while the address has its name. */
    const pressed = (name, on, more) =>
      button(name, () => state.update({ swipe: null, blink: null, ...(state.has(name) ? {} : on) }), {
        id: name,
        "aria-pressed": String(state.has(name)),
        disabled: count < 2 && !state.has(name),
        ...more,
      });
    put(
      head,
      h("h1.unseen", `Scene ${scene.name}`),
      sceneChoice(scene.name),
      h("span.hint", facts.filter(Boolean).join(" · ")),
      scene.hidden && h("strong.hint", "ground truth hidden"),
      h(
        "span.end.row",
        h(
          "label",
          "overlay ",
          stated("overlay", "Region as overlay", [["", "none"], ...scene.regions], overlay, { id: "overlay" }),
        ),
        free &&
          h("input#overlay-text", {
            size: 16,
            placeholder: "or near&textureless",
            value: known ? "" : overlay,
            "aria-label": "Regions combined with & (and), - (without) and | (or) as overlay",
            onchange: (event) => state.update({ overlay: event.target.value.trim() }),
          }),
        free && h("label", "error up to ", stated("range", "Error range in px", RANGES, state.get("range")), " px"),
        pressed("swipe", { swipe: "0.5" }),
        pressed("blink", { swipe: "0", blink: "on" }, { title: "Show the first two maps in turn" }),
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
    const visible = swiping() ? [wanted.slice(0, 2)] : wanted.map((one) => [one]);
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
    const address = known && url(layerPath("region.png"), params({ layer: "region", metric: name }));
    overlay = address ? await picture(address).catch(() => null) : null;
    if (address && !overlay) await explainOverlay(name);
    await Promise.all(panes.map((pane, index) => loadPane(pane, ...visible[index])));
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
          legend(context, info),
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
    return image(url(layerPath(`${spec.layer}.png`), own), { alt: "", loading: "lazy" });
  }

  function showCrop(crop) {
    look.show(crop);
    moved();
  }

  function makePane(index) {
    const canvas = h("canvas", { tabindex: 0, "aria-label": `Pane ${index + 1}: ${STEERING}` });
    const [head, foot] = [h("div.pane-head"), h("div.pane-foot")];
    const own = { index, canvas, head, foot, spec: {}, infos: [], image: null, other: null };
    own.box = h("div.pane", { "data-pane": index }, head, canvas, foot);
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
      if (layer && !event.ctrlKey && !event.metaKey) changePane(index, { layer });
    });
    return own;
  }

  function changePane(index, changes) {
    const all = specs();
    const one = { ...all[index], ...changes };
    const kept = one.algorithm ?? shownAlgorithms()[0] ?? scene.algorithms[0];
    const unowned = ["region", "set"].includes(one.layer) ? "-" : undefined;
    one.algorithm = OF_ALGORITHM.includes(one.layer) ? kept : unowned;
    if (changes.layer) one.metric = undefined;
    state.update({ pane: all.with(index, one).map(write) });
  }

  const layerPath = (file) => scenePath(scene.name, `layers/${file}`);

  /** The picture of a layer with its legend. */
  async function loadLayer(spec) {
    const address = url(layerPath(`${spec.layer}.png`), params(spec));
    if (!address) throw new Problem("This picture was not exported.", 404);
    const [info, image] = await Promise.all([ask(layerPath(spec.layer), params(spec)), picture(address)]);
    const metric = spec.layer === "metric" ? (spec.metric ?? pictured()[0]) : null;
    return { address, image, info: { ...info, spec, metric } };
  }

  async function loadPane(pane, ...shown) {
    pane.spec = shown[0];
    const all = specs();
    const controls = (one, place) => {
      const index = pane.index + place;
      const close = all.length > 1 && (() => state.update({ pane: all.toSpliced(index, 1).map(write) }));
      const change = (changes) => changePane(index, changes);
      return [place > 0 && h("span", "│"), paneHead(scene, one, pictured(), { change, close })];
    };
    put(pane.head, shown.map(controls));
    // The old picture stays, dimmed, until the new one can replace it together with its legend.
    pane.box.classList.add("loading");
    try {
      const layers = await Promise.all(shown.map(loadLayer));
      Object.assign(pane, { image: layers[0].image, other: layers[1]?.image, infos: layers.map((one) => one.info) });
      pane.box.dataset.loaded = layers[0].address;
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
    root.dataset.look = look.text(3);
    remember();
  }

  const readPixel = calm(async () => {
    if (!pointer) return;
    if (isStatic) return drawInspector(inspector, context.styles, null, "Values under the pointer need the server.");
    const algorithms = shownAlgorithms();
    const own = mapParams(context, { x: pointer[0], y: pointer[1], algorithms }, algorithms);
    const answer = await attempt(pixel(scenePath(scene.name, "pixel"), own), () => null);
    if (answer) drawInspector(inspector, context.styles, answer);
  }, 30);

  /** Say why a region that was typed cannot be shown. */
  const explainOverlay = (name) =>
    attempt(ask(layerPath("region"), params({ layer: "region", metric: name })), ({ message }) =>
      head.querySelector("#overlay-text")?.after(h("span.hint", { role: "alert" }, message)),
    );

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
    const answer = await orSaid(objects, parts(scenePath(scene.name, "objects"), own));
    if (!answer) return undefined;
    return drawObjects(objects, answer, algorithm, (one) => {
      look.show(one, 2, 8);
      state.update({ overlay: one.region, at: look.text() });
    });
  }

  async function drawBlocks() {
    const spec = focusedSpec();
    if (!spec || scene.hidden) return put(blocks);
    const shownMetric = specs().find((one) => one.layer === "metric");
    const metric = shownMetric && !isStatic ? (shownMetric.metric ?? pictured()[0]) : null;
    const algorithm = spec.algorithm ?? scene.algorithms[0];
    // A metric with pixels of its own needs no region; else the one that the page judges by.
    const free = !metric || !declared(context, metric)?.region;
    const usual = free && scene.regions.includes(judged()?.region) ? judged().region : null;
    const region = isStatic ? null : state.get("overlay") || carried().region || usual;
    const own = mapParams(context, { algorithm, metric, region });
    const answer = await orSaid(blocks, worst(scenePath(scene.name, "blocks"), own));
    if (!answer) return undefined;
    const entry = (one) =>
      button([blockPictures(algorithm, metric, region, one), percent(one.share)], () => jump(one), {
        title: `at ${one.x}, ${one.y}`,
      });
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
            answer.slice(0, MOST_BLOCKS).map((one) => h("li", entry(one))),
          )
        : h("p.hint", "Every pixel that counts is right."),
    );
  }

  /** A block and what is around it: the left image, and the errors. */
  function blockPictures(algorithm, metric, region, { x, y, size }) {
    if (isStatic) return `${x}, ${y}: `;
    const side = Math.min(3 * size, scene.width, scene.height);
    const from = (at, whole) => Math.max(0, Math.min(whole - side, Math.round(at + size / 2 - side / 2)));
    const crop = [from(x, scene.width), from(y, scene.height), side].join();
    const own = mapParams(context, { algorithm, crop, width: BLOCK_WIDTH, metric, region });
    const shown = [scene.layers.includes("left") && "left", metric ? "metric" : "error"].filter(Boolean);
    return shown.map((layer) =>
      image(url(layerPath(`${layer}.png`), own), {
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
