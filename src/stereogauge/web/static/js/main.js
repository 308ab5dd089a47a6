// Starts the page: loads what can be chosen, then shows the view that the address names, and shows it again when it
// changes.

import { ask, isStatic, Problem } from "./api.js";
import { h, put, say } from "./dom.js";
import { drawPanel } from "./panel.js";
import { close, open } from "./popup.js";
import { firstSelection } from "./selection.js";
import * as state from "./state.js";
import { emptyStore, explain, refused } from "./states.js";
import { onTheme, startTheme } from "./theme.js";

const TITLES = {
  answer: "Answer",
  algorithm: "Algorithm",
  versus: "A against B",
  leaderboard: "Leaderboard",
  compare: "Compare",
  scene: "Scene",
  metrics: "Metrics",
  confidence: "Confidence",
  tuning: "Tuning",
  protocol: "Protocol",
  submit: "Submit",
};
const loaders = {
  answer: () => import("./views/answer.js"),
  algorithm: () => import("./views/algorithm.js"),
  versus: () => import("./views/versus.js"),
  leaderboard: () => import("./views/leaderboard.js"),
  compare: () => import("./views/compare.js"),
  scene: () => import("./views/scene.js"),
  metrics: () => import("./views/metrics.js"),
  confidence: () => import("./views/confidence.js"),
  tuning: () => import("./views/tuning.js"),
  protocol: () => import("./views/protocol.js"),
  submit: () => import("./views/submit.js"),
};
const content = document.getElementById("content");
const panel = document.getElementById("panel");
const context = {
  catalogue: null,
  datasets: [],
  scenes: [],
  algorithms: [],
  columns: [],
  styles: new Map(),
  protocol: null,
};
const EMBEDDED = document.documentElement.classList.contains("embed");
let shown = null;

function drawNavigation() {
  const views = document.getElementById("views");
  const within = views.contains(document.activeElement);
  put(
    views,
    state.VIEWS.map((name) =>
      h("a", { href: state.address({}, name), "aria-current": state.view() === name ? "page" : null }, TITLES[name]),
    ),
  );
  // Whoever follows these links by keyboard goes on from here.
  if (within) views.querySelector("[aria-current]")?.focus();
  document.getElementById("brand").href = state.address({}, "answer");
  const own = context.protocol;
  document.getElementById("protocol-mark").textContent = own ? `protocol ${own.name} ${own.key.slice(0, 8)}` : "";
}

/** Questions for scenes, algorithms and columns under the protocol that the address names. */
function askLists() {
  const params = new URLSearchParams(state.get("protocol") ? { protocol: state.get("protocol") } : {});
  const own = new URLSearchParams(params);
  // Where the token is given, the submission need not be known yet.
  if (state.get("submission") && state.view() !== "submit") own.append("submission", state.get("submission"));
  return Promise.all([ask("scenes", params), ask("algorithms", params), ask("table", own)]);
}

/** Keep the answers to these questions. */
function keepLists([scenes, algorithms, table]) {
  const known = new Set(algorithms.map((one) => one.name));
  const added = table.algorithms
    .filter((name) => !known.has(name))
    .map((name) => ({
      name,
      colour: "#7a7a7a",
      marker: "star",
      gaps: [],
      scenes: 0,
      description: "your submission",
      link: "",
      own: true,
    }));
  Object.assign(context, { scenes, algorithms: [...algorithms, ...added], columns: table.columns });
  context.styles = new Map(context.algorithms.map((one) => [one.name, one]));
  context.protocol =
    context.catalogue.protocols.find((one) => [one.name, one.key, ...one.also].includes(state.get("protocol"))) ??
    context.catalogue.protocols[0];
}

async function show() {
  close();
  if (EMBEDDED && state.view() === "submit") {
    put(content, refused({ message: "Results are submitted on the site itself, not in a frame." }));
    content.dataset.ready = location.hash;
    return undefined;
  }
  // Everything is asked for at once; what fails is told where it is awaited, if it is.
  const [module, lists] = [loaders[state.view()](), askLists()];
  for (const one of [module, lists]) one.catch(() => {});
  try {
    if (!context.catalogue)
      [context.catalogue, context.datasets] = await Promise.all([ask("catalogue"), ask("datasets")]);
    if (!context.catalogue.protocols.length) {
      panel.hidden = true;
      drawNavigation();
      if (state.view() !== "submit" && state.view() !== "tuning") return put(content, emptyStore());
    } else {
      keepLists(await lists);
      if (firstSelection(context)) return undefined;
    }
    drawNavigation();
    document.title = `${TITLES[state.view()]} · Stereogauge`;
    const wanted = state.view();
    const { create } = await module;
    if (wanted !== state.view()) return undefined;
    if (shown?.name !== wanted) {
      shown?.view.leave?.();
      put(content);
      shown = { name: wanted, view: create(content, context) };
      say(TITLES[wanted]);
    }
    if (EMBEDDED) drawWayOut();
    else if (context.catalogue.protocols.length) drawPanel(panel, context, wanted);
    await shown.view.refresh();
    content.dataset.ready = location.hash || "#";
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    drawNavigation();
    explain(content, problem);
    shown = null;
    content.dataset.ready = location.hash || "#";
  }
  return undefined;
}

/** Put the link to the whole site under an embedded page; it leads to the very view that the frame shows. */
function drawWayOut() {
  let link = document.getElementById("whole");
  if (!link) {
    link = h("a", { id: "whole", target: "_blank", rel: "noopener" }, "open in Stereogauge");
    document.body.append(h("p", { class: "embed-foot" }, link));
  }
  link.href = `./${location.hash}`;
}

/** Offer a text to the clipboard; where that is refused, show it. */
async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    prompt(`${what}:`, text);
  }
}

document.getElementById("share").addEventListener("click", (event) => {
  const whole = new URL(location.href);
  const framed = `<iframe src="${whole.origin}/embed${whole.hash}" width="100%" height="700"></iframe>`;
  open(
    event.currentTarget,
    "Share exactly this view",
    h("button", { type: "button", id: "copy-link", onclick: () => copy(whole.href, "The link") }, "copy the link"),
    " ",
    !isStatic &&
      h("button", { type: "button", id: "copy-frame", onclick: () => copy(framed, "The frame") }, "copy to embed"),
    h("pre", {}, framed),
  );
});

startTheme(document.getElementById("theme"));
onTheme(() => shown?.view.restyle?.());
// The skip link must not become the address: the part behind "#" is the state of the page.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  content.focus();
  content.scrollIntoView();
});
state.onChange(show);
show();
