// Starts the page: loads what can be chosen, then shows the view that the address names, and shows it again when it
// changes.

import { ask, isStatic, Problem } from "./api.js";
import { closeSheet, drawBar } from "./bar.js";
import { button, h, put, say } from "./dom.js";
import { drawing } from "./drawing.js";
import { close, open } from "./popup.js";
import { strayNames } from "./scope.js";
import * as state from "./state.js";
import { emptyStore, explain, refused } from "./states.js";
import { startTheme } from "./theme.js";

const content = document.getElementById("content");
const context = { catalogue: null, datasets: [], scenes: [], algorithms: [], columns: [], styles: new Map() };
const strays = h("div#strays");
content.before(strays);
const EMBEDDED = document.documentElement.classList.contains("embed");
let shown = null;

function drawNavigation() {
  const views = document.getElementById("views");
  const within = views.contains(document.activeElement);
  put(
    views,
    Object.entries(state.VIEWS)
      .filter(([name]) => !state.LINKED.includes(name))
      .map(([name, title]) =>
        h("a", { href: state.address({}, name), "aria-current": state.view() === name ? "page" : null }, title),
      ),
  );
  // Whoever follows these links by keyboard goes on from here.
  if (within) views.querySelector("[aria-current]")?.focus();
  document.getElementById("brand").href = state.address({}, "answer");
}

/** The data set of the address, or the first one that its protocol has scores of; none where there is only one. */
function datasetInForce() {
  const { datasets, catalogue } = context;
  const wanted = state.get("protocol");
  const keys = catalogue.protocols
    .filter((one) => [one.name, one.key, ...one.also].includes(wanted))
    .map((one) => one.key);
  const fitting = datasets.filter((one) => !wanted || one.protocols.some((key) => keys.includes(key)));
  return (fitting[0] ?? datasets[0]).name;
}

/** Learn what the scope can be under the data set and protocol of the address. */
async function learnScope() {
  const { datasets, catalogue } = context;
  state.defaults.dataset = datasets.length > 1 ? datasetInForce() : null;
  const { dataset, protocol, proportions, submission } = Object.fromEntries(state.scope());
  // Where the token is given, the submission need not be known yet.
  const mine = state.view() === "submit" ? {} : { submission };
  const found = await ask("scope", state.query({ dataset, protocol, proportions, ...mine }));
  Object.assign(state.defaults, { model: found.model, ...found.purpose });
  Object.assign(context, found, {
    dataset: found.dataset ?? datasets[0].name,
    styles: new Map(found.algorithms.map((one) => [one.name, one])),
    protocol: catalogue.protocols.find((one) => one.key === found.protocol),
  });
}

const show = () => drawing(showView());

async function showView() {
  close();
  if (EMBEDDED && state.view() === "submit") {
    put(content, refused("Results are submitted on the site itself, not in a frame."));
    return;
  }
  // The view's code is loaded meanwhile; what fails is reported where it is awaited.
  const module = import(`./views/${state.view()}.js`);
  module.catch(() => {});
  try {
    if (!context.catalogue)
      [context.catalogue, context.datasets] = await Promise.all([ask("catalogue"), ask("datasets")]);
    const some = context.catalogue.protocols.length > 0;
    if (some) await learnScope();
    drawNavigation();
    if (!some && state.view() !== "submit" && state.view() !== "tuning") {
      put(content, emptyStore());
      return;
    }
    document.title = `${state.VIEWS[state.view()]} · Stereogauge`;
    const wanted = state.view();
    const { create } = await module;
    if (wanted !== state.view()) return;
    if (shown?.name !== wanted) {
      closeSheet();
      shown?.view.leave?.();
      put(content);
      shown = { name: wanted, view: create(content, context) };
      say(state.VIEWS[wanted]);
    }
    if (EMBEDDED) drawWayOut();
    else if (some) drawBar(context);
    drawStrays();
    await shown.view.refresh();
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    drawNavigation();
    put(strays);
    explain(content, problem);
    shown = null;
  }
}

/** Say which names of the address are not here; without them the page is as it is shown. */
function drawStrays() {
  const said = strayNames(context).map(({ kind, name }) => [`no ${kind} called `, h("bdi", name), "; "]);
  put(strays, said.length > 0 && refused("This link names something that is not here: ", said, "others are shown."));
}

/** Put the link to the whole site under an embedded page; it leads to the very view that the frame shows. */
function drawWayOut() {
  document.querySelector(".embed-foot")?.remove();
  const href = `./${location.hash}`;
  document.body.append(
    h("p.embed-foot", h("a#whole", { href, target: "_blank", rel: "noopener" }, "open in Stereogauge")),
  );
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
    button("copy the link", () => copy(whole.href, "The link"), { id: "copy-link" }),
    " ",
    !isStatic && button("copy to embed", () => copy(framed, "The frame"), { id: "copy-frame" }),
    h("pre", framed),
  );
});

startTheme(document.getElementById("theme"));
addEventListener("theme", () => shown && (shown.view.restyle ?? shown.view.refresh)());
// The skip link must not become the address: the part behind "#" is the state of the page.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  content.focus();
  content.scrollIntoView();
});
addEventListener("scope", show);
show();
