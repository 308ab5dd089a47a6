// The answer: which algorithm to take for an application, how sure that is, why, and in which pixels it shows.

import { ask, isStatic, latest, Problem } from "../api.js";
import { badge } from "../chart.js";
import { h, put } from "../dom.js";
import { digits, listed, percent, plural } from "../format.js";
import { chosenColumns, GAPS, testBed, testBedChoice, testBeds, weights } from "../selection.js";
import * as state from "../state.js";
import { refused } from "../states.js";
import { startTour } from "../tour.js";
import { lowerFirst } from "../words.js";
import { drawCrops } from "./crops.js";
import { requirementsForm } from "./requirements.js";
import { drawThumbnails } from "./thumbnails.js";
import { why } from "./why.js";

const MOST_TERMS = 6;
const DEFAULT_PROFILE = "balanced";
/** Claims about scores that are missing: other rules for them may give another answer. */
const GAP_CLAIMS = ["not-compared", "scenes-left-out"];
const NEEDS = [
  ["every-pixel", "every pixel"],
  ["0.9", "at least 90 % of them"],
  ["sure", "only sure ones"],
];

/** The parameters of the purpose that the address means; also those of `explain`. */
export function purposeParams() {
  const params = state.selection();
  if (state.has("requirements")) params.set("requirements", state.get("requirements"));
  if (state.has("weights")) for (const one of state.all("weights")) params.append("weights", one);
  else if (state.has("profile") || !state.has("requirements"))
    params.set("profile", state.get("profile", DEFAULT_PROFILE));
  if (state.has("completeness")) params.set("completeness", state.get("completeness"));
  return params;
}

/** The parameters of `explain` for a pair under the purpose of the address. */
export function pairParams(first, second) {
  const params = purposeParams();
  params.delete("requirements");
  params.delete("completeness");
  if (!params.has("weights") && !params.has("profile")) params.set("profile", DEFAULT_PROFILE);
  params.set("first", first);
  params.set("second", second);
  return params;
}

export function create(root, context) {
  const about = h("p", { class: "lead", id: "about" });
  const chips = h("div", { id: "purposes" });
  const form = h("div", {});
  const verdict = h("div", { id: "answer", "aria-live": "polite" });
  const reasons = h("div", { class: "answer-columns" });
  const because = h("section", { id: "why", "aria-label": "Why" });
  const pixels = h("section", { id: "crops", "aria-label": "In pixels" });
  const places = h("section", { id: "places", class: "section" });
  const glance = h("section", { id: "glance", class: "section" });
  const open = h("section", { id: "unknown", class: "section" });
  put(reasons, because, pixels);
  const tour = h("div", { class: "tour", role: "note", "aria-label": "Tour", hidden: true });
  put(root, about, tour, chips, form, verdict, reasons, places, glance, open);
  const main = latest();
  const second = latest();
  let shown = null;

  async function refresh() {
    try {
      const answer = await main((signal) => ask("answer", purposeParams(), { signal }));
      if (!answer) return;
      draw(answer);
      if (!shown) startTour(tour);
      shown = answer;
      if (!answer.refused && !unstated()) explainPair(answer);
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.allowed.length) throw problem;
      drawChips(shown?.profiles ?? []);
      put(verdict, refused(problem));
      for (const part of [because, pixels, places, open]) put(part);
    }
    drawThumbnails(glance, context, chosenColumns(context));
  }

  const stating = () => state.has("requirements") || state.get("form") === "requirements";
  // The form is open and not sent yet: an answer to another question would mislead.
  const unstated = () => stating() && !state.has("requirements");

  function draw(answer) {
    const bed = testBeds(context).find((one) => one.key === testBed(context));
    put(
      about,
      "Which stereo matcher is right for you, and why: ",
      h("strong", {}, plural(answer.algorithms, "algorithm")),
      " on ",
      h("strong", {}, plural(state.all("scenes").length || context.scenes.length, "scene")),
      " of ",
      testBedChoice(context, { id: "dataset" }) ?? h("strong", {}, bed?.text ?? listed(answer.datasets, 3)),
      ". Lower is better.",
    );
    drawChips(answer.profiles);
    put(form, stating() ? requirementsForm() : null);
    if (answer.refused || unstated()) {
      put(
        verdict,
        unstated()
          ? h("h1", { class: "headline" }, "State what you need, and see who meets it.")
          : refused({ message: answer.sentence }),
      );
      for (const part of [because, pixels, places, open]) put(part);
      return;
    }
    put(
      verdict,
      h("h1", { class: "headline" }, answer.headline),
      answer.detail && h("p", { class: "rest" }, answer.detail),
      answer.description && h("p", { class: "hint", id: "weighs" }, answer.description),
      answer.not_measured.length > 0 &&
        h(
          "details",
          { class: "problem" },
          h(
            "summary",
            {},
            `${percent(1 - answer.measured_share)} of this is not measured here: `,
            listed(
              answer.not_measured.map((one) => one.words),
              3,
            ),
            ". How to compute it",
          ),
          [...new Set(answer.not_measured.map((one) => one.command))].map((one) => h("pre", {}, one)),
        ),
      answer.requirements &&
        h(
          "div",
          { class: "problem" },
          h("strong", {}, "What your camera allows: "),
          answer.requirements.geometry.join(" "),
        ),
    );
    drawPlaces(answer);
    put(
      open,
      answer.unknown.length > 0 && [
        h("h2", {}, "What is not known"),
        h(
          "ul",
          {},
          answer.unknown.map((one) => h("li", {}, one)),
        ),
        answer.unknown_claims.some((one) => GAP_CLAIMS.includes(one.kind)) &&
          !isStatic &&
          h(
            "p",
            { class: "links", id: "other-rules" },
            "Where a score is missing, also possible: ",
            context.catalogue.missing_rules
              .filter((rule) => rule !== state.get("missing", "common"))
              .map((rule) => h("a", { href: state.address({ missing: rule }) }, GAPS[rule] ?? rule)),
          ),
      ],
    );
  }

  function chip(text, changes, { on = false, faint = "", id = null } = {}) {
    return h(
      "a",
      {
        class: `pill${on ? " on" : ""}${faint ? " faint" : ""}`,
        href: state.address(changes),
        "aria-current": on ? "true" : null,
        title: faint || null,
        "data-chip": id,
      },
      text,
    );
  }

  function drawChips(profiles) {
    const none = { profile: null, weights: null, requirements: null, form: null };
    const own = !state.has("weights") && !state.has("requirements") && state.get("form") !== "requirements";
    const need = state.get("completeness", "0.9");
    const start = Object.entries(weights(context)).map(([name, value]) => `${name}=${Number(value.toPrecision(4))}`);
    const row = (title, ...parts) => h("div", { class: "chips" }, h("span", { class: "chips-title" }, title), parts);
    const build = row(
      "I build",
      profiles.map((one) =>
        chip(
          lowerFirst(one.name),
          { ...none, profile: one.id },
          {
            on: own && state.get("profile", DEFAULT_PROFILE) === one.id,
            faint: one.measured_share === 1 ? "" : one.note,
            id: one.id,
          },
        ),
      ),
      !isStatic && chip("my own weights", { ...none, weights: start }, { on: state.has("weights"), id: "weights" }),
      !isStatic &&
        chip(
          "my requirements",
          { ...none, form: "requirements" },
          {
            on: stating(),
            id: "requirements",
          },
        ),
    );
    const values = row(
      "I need a value at",
      NEEDS.map(([key, text]) =>
        chip(text, { completeness: key === "0.9" ? null : key }, { on: need === key, id: key }),
      ),
      state.has("weights") &&
        h("a", { class: "hint", href: state.address({}, "compare") }, "Move the weights and see the rows follow →"),
    );
    put(chips, build, values);
  }

  // Who is compared with the leader: the nearest rival, or the next place.
  const rivalOf = (answer) => answer.rivals[0] ?? answer.places[1]?.algorithm;

  async function explainPair(answer) {
    const rival = rivalOf(answer);
    if (!answer.leader || !rival) {
      put(because);
      return put(pixels);
    }
    const params = pairParams(answer.leader, rival);
    try {
      const explanation = await second((signal) => ask("explain", params, { signal }));
      if (!explanation) return undefined;
      why(because, explanation, {
        title: `Why ${answer.leader} above ${rival}`,
        most: MOST_TERMS,
        more: state.address({ first: answer.leader, second: rival }, "versus"),
        ties: answer.break_even.filter((one) => one.rival === rival),
      });
      return drawCrops(pixels, context, explanation);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      put(pixels);
      return put(because, h("p", { class: "hint" }, problem.message));
    }
  }

  function drawPlaces(answer) {
    if (!answer.places.length) return put(places);
    const rank = (one) => (one.rank_low === one.rank_high ? `${one.rank_low}` : `${one.rank_low} to ${one.rank_high}`);
    const rows = answer.places.map((one) =>
      h(
        "tr",
        { "data-place": one.algorithm },
        h("td", {}, one.rank),
        h(
          "td",
          { class: "text" },
          badge(context.styles.get(one.algorithm)),
          h("a", { href: state.address({ name: one.algorithm }, "algorithm") }, one.algorithm),
        ),
        h("td", { "data-label": "score, lower is better" }, digits(one.score)),
        h("td", { "data-label": "first under small changes of the weights" }, percent(one.first)),
        h("td", { "data-label": "rank over other scenes" }, rank(one)),
        h("td", { "data-label": "pixels with a value" }, percent(one.completeness)),
        h(
          "td",
          { class: "text" },
          one.algorithm !== answer.leader &&
            h("a", { href: state.address({ first: answer.leader, second: one.algorithm }, "versus") }, "why below"),
        ),
      ),
    );
    const head = (text, unit = "") => h("th", { scope: "col" }, text, h("span", { class: "unit" }, unit || " "));
    return put(
      places,
      h("h2", {}, "All algorithms, in this order"),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Places" },
        h(
          "table",
          { class: "places" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              head("rank"),
              h("th", { class: "text", scope: "col" }, "algorithm", h("span", { class: "unit" }, " ")),
              head("score", "lower is better"),
              head("first", "under small changes of the weights"),
              head("rank", "over other scenes"),
              head("complete", "pixels with a value"),
              h("th", { class: "text", scope: "col" }, h("span", { class: "unseen" }, "reason")),
            ),
          ),
          h("tbody", {}, rows),
        ),
      ),
      h(
        "p",
        { class: "links" },
        h("a", { href: state.address({ model: "weighted" }, "leaderboard") }, "all scores"),
        h("a", { href: state.address({}, "compare") }, "move the weights"),
      ),
    );
  }

  return { refresh, restyle: refresh };
}
