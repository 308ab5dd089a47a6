// Three sentences for the first visit: what the page answers, why, and where to look further.

import { button, h, put } from "./dom.js";
import { remembered } from "./theme.js";

const STEPS = [
  ["#question", "Say what you build and where you need a value. The sentence below answers which matcher to take."],
  ["#why", "Why: each bar is one thing that counts, and the bars sum to the difference. The pixels are beside them."],
  ["#glance", "Every scene at a glance: click a picture and its score goes with you to the pixels that it counts."],
];

/** Show the tour in an element, unless this browser has seen it. */
export function startTour(element) {
  if (remembered("tour") === "seen") return;
  const show = (index) => {
    for (const one of document.querySelectorAll(".toured")) one.classList.remove("toured");
    element.hidden = index >= STEPS.length;
    if (element.hidden) return remembered("tour", "seen");
    const [target, text] = STEPS[index];
    const part = document.querySelector(target);
    part?.classList.add("toured");
    if (index > 0) part?.scrollIntoView({ block: "nearest" });
    return put(
      element,
      h("span", `${index + 1} of ${STEPS.length}: ${text}`),
      button(index < 2 ? "next" : "done", () => show(index + 1), { id: "tour-next" }),
      button("no tour", () => show(STEPS.length), { class: "quiet", id: "tour-end" }),
    );
  };
  show(0);
}
