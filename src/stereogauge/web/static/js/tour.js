// Three sentences for the first visit: what the page answers, why, and where to look further.

import { h, put } from "./dom.js";

const KEY = "stereogauge-tour";
const STEPS = [
  ["#purposes", "Say what you build and where you need a value. The sentence below it answers which matcher to take."],
  ["#why", "Why: each bar is one thing that counts, and the bars sum to the difference. The pixels stand beside it."],
  ["#glance", "Every scene at a glance: click a picture and its score goes with you to the pixels that it counts."],
];

function seen() {
  try {
    return localStorage.getItem(KEY) === "seen";
  } catch {
    return true;
  }
}

function remember() {
  try {
    localStorage.setItem(KEY, "seen");
  } catch {
    // A browser that keeps nothing shows the tour again.
  }
}

/** Show the tour in an element, unless this browser has seen it. */
export function startTour(element) {
  if (seen()) return;
  const show = (index) => {
    for (const one of document.querySelectorAll(".toured")) one.classList.remove("toured");
    if (index >= STEPS.length) {
      remember();
      element.hidden = true;
      return;
    }
    const [target, text] = STEPS[index];
    const part = document.querySelector(target);
    part?.classList.add("toured");
    if (index > 0) part?.scrollIntoView({ block: "nearest" });
    element.hidden = false;
    put(
      element,
      h("span", `${index + 1} of ${STEPS.length}: ${text}`),
      h("button", { type: "button", id: "tour-next", onclick: () => show(index + 1) }, index < 2 ? "next" : "done"),
      h("button", { type: "button", class: "quiet", id: "tour-end", onclick: () => show(STEPS.length) }, "no tour"),
    );
  };
  show(0);
}
