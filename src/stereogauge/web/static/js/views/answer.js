// The answer in three bands: the verdict and how sure it is; the reasons, in numbers and in pixels;
// the limits, and what is not known.

import { attempt, isStatic, latest } from "../api.js";
import { shortened } from "../choices.js";
import { cell, h, headed, link, put, table, textCell } from "../dom.js";
import { figure } from "../figure.js";
import { chance, digits, full, listed, percent, plural } from "../format.js";
import { chosen, chosenColumns, GAPS, testBed } from "../scope.js";
import * as state from "../state.js";
import { orSaid, refused } from "../states.js";
import { startTour } from "../tour.js";
import { linked, named, spoken } from "../words.js";
import { drawCrops } from "./crops.js";
import { drawLimits } from "./limits.js";
import { createReasons, scoresOver } from "./reasons.js";
import { drawThumbnails } from "./thumbnails.js";

/** Claims about scores that are missing: other rules for them may give another answer. */
const GAP_CLAIMS = ["not-compared", "scenes-left-out"];
/** Claims that several algorithms may be the best. */
const UNDECIDED = ["ahead", "equal"];
const MOST_TIED = 5;
const MOST_PLACES = 10;

/** The parameters of `explain` for a pair under the purpose of the address. */
export const pairParams = (first, second) => state.weighed({ first, second });

/** The links to other rules for missing scores. */
export const otherRules = (context, text) =>
  !isStatic &&
  h(
    "p.links#other-rules",
    text,
    context.catalogue.missing_rules
      .filter((rule) => rule !== state.get("missing", "common"))
      .map((rule) => link(state.address({ missing: rule === "common" ? null : rule }), GAPS[rule] ?? rule)),
  );

export function create(root, context) {
  const about = h("p.lead#about");
  const verdict = h("section.verdict-band#answer", { "aria-live": "polite", "aria-label": "Verdict" });
  const because = h("section#why", { "aria-label": "Why" });
  const pixels = h("section#crops", { "aria-label": "In pixels" });
  const [places, limits, open, glance] = ["places", "limits", "unknown", "glance"].map((id) =>
    h(`section.section#${id}`),
  );
  const tour = h("div.tour", { role: "note", "aria-label": "Tour", hidden: true });
  const lower = h("div.answer-columns.limits-band", limits, open);
  put(root, about, tour, verdict, h("div.answer-columns", because, pixels), places, lower, glance);
  const main = latest();
  const second = latest();
  const reasons = createReasons(because, context);
  let shown = false;

  const stating = () => state.has("requirements") || state.get("form") === "requirements";
  // The form is open and not sent yet: an answer to another question would mislead.
  const unstated = () => stating() && !state.has("requirements");

  async function refresh() {
    const asked = unstated() ? { unstated: true } : main("answer", state.purpose());
    const answer = await attempt(Promise.resolve(asked), (problem) => {
      if (problem.allowed.length) throw problem;
      return { refused: true, sentence: problem.message };
    });
    if (!answer) return;
    draw(answer);
    if (!shown) startTour(tour);
    shown = true;
    if (state.get("need") === "sure") drawSure();
    else if (answer.leader) explainPair(answer);
    drawThumbnails(glance, context, chosenColumns(context));
  }

  function draw(answer) {
    const count = chosen("algorithms", context.algorithms).length;
    const scenes = chosen("scenes", context.scenes).length;
    put(
      about,
      "Which stereo matcher is right for you, and why: ",
      h("strong", plural(count, "algorithm")),
      " on ",
      h("strong", plural(scenes, "scene")),
      " of ",
      h("strong", testBed(context).text),
      ". Lower is better.",
    );
    for (const part of [pixels, places, open]) put(part);
    if (!answer.leader) reasons.clear();
    drawLimits(limits, context, answer.requirements, { stating: stating() });
    if (answer.unstated) return put(verdict, h("h1.headline", "State what you need, and see who meets it."));
    if (answer.refused) return put(verdict, refused(answer.sentence), otherPurposes());
    // One dot with its interval per algorithm, and how likely each is to be better than the leader.
    const certainty = answer.figure && h("div#certainty");
    put(verdict, h("div", headline(answer), h("p.rest", detail(answer)), basis(answer)), certainty);
    if (certainty) figure(certainty, answer.figure, context, { label: "Scores of the first places", name: "scores" });
    drawPlaces(answer);
    return drawUnknown(answer);
  }

  const undecided = (answer) => UNDECIDED.includes(answer.claims[0]?.kind);

  // Tied algorithms are equally large; a winner is part of the sentence.
  function headline(answer) {
    if (!undecided(answer)) return h("h1.headline", spoken(context, answer.parts[0]));
    const tied = answer.claims[0].names;
    return h(
      "h1.headline.tied",
      h("span.call", "Too close to call"),
      tied.slice(0, MOST_TIED).map((name) => named(context, name)),
      tied.length > MOST_TIED && h("span", `and ${tied.length - MOST_TIED} more`),
    );
  }

  const detail = (answer) =>
    (undecided(answer) ? answer.parts : answer.parts.slice(1)).map((parts) => [spoken(context, parts), " "]);

  function basis(answer) {
    const commands = [...new Set(answer.not_measured.map((one) => one.command).filter(Boolean))];
    return [
      !answer.requirements && answer.description && h("p.hint#weighs", answer.description),
      answer.not_measured.length > 0 &&
        h(
          "details.problem",
          h(
            "summary",
            Number.isFinite(answer.measured_share) &&
              `${percent(1 - answer.measured_share)} of this is not measured here: `,
            listed(
              answer.not_measured.map((one) => one.words),
              3,
            ),
            commands.length > 0 && ". How to compute it",
          ),
          commands.map((one) => h("pre", one)),
        ),
    ];
  }

  // Who is compared with the leader: the nearest rival, or the next place.
  const rivalOf = (answer) => answer.rivals[0] ?? answer.places[1]?.algorithm;

  async function explainPair(answer) {
    const rival = rivalOf(answer);
    if (!rival || rival === answer.leader) return;
    const asked = [second("explain", pairParams(answer.leader, rival)), scoresOver(context, answer.scenes)];
    const [explanation, scores] = (await orSaid(because, Promise.all(asked))) ?? [];
    if (!explanation) return;
    reasons.draw(explanation, scores, {
      decided: explanation.said[0].kind === "better",
      more: state.address({ first: answer.leader, second: rival }, "versus"),
    });
    await drawCrops(pixels, context, explanation);
  }

  function drawPlaces(answer) {
    if (!answer.places.length) return put(places);
    const several = answer.scenes.length > 1;
    const [rows, rest] = shortened(answer.places, MOST_PLACES);
    const rank = (one) => (one.rank_low === one.rank_high ? `${one.rank_low}` : `${one.rank_low} to ${one.rank_high}`);
    const why = (first, second) => link(state.address({ first, second }, "versus"), "why it ranks lower");
    const rowOf = (one) => ({
      "data-place": one.algorithm,
      cells: [
        one.rank,
        textCell(linked(context, one.algorithm)),
        cell({ "data-label": "score, lower is better", "data-full": full(one.score) }, digits(one.score)),
        cell({ "data-label": "first when the weights vary" }, chance(one.first)),
        several && cell({ "data-label": "likely rank on new scenes (95 %)" }, rank(one)),
        cell({ "data-label": "pixels with a value" }, percent(one.completeness)),
        textCell(one.algorithm !== answer.leader && why(answer.leader, one.algorithm)),
      ],
    });
    return put(
      places,
      h("h2", "All algorithms"),
      table(
        [
          headed("rank", " ", { class: null }),
          headed("algorithm", " ", { class: "text" }),
          headed("score", "lower is better"),
          headed("first", "when the weights vary"),
          several && headed("likely rank", "on new scenes (95 %)"),
          headed("complete", "pixels with a value"),
          textCell(h("span.unseen", "reason")),
        ],
        rows.map(rowOf),
        { class: "places", label: "Places" },
      ),
      rest,
      h(
        "p.links",
        link(state.address({ model: "weighted" }, "leaderboard"), "all scores"),
        link(state.address({}, "compare"), "compare in charts"),
      ),
    );
  }

  const drawUnknown = (answer) =>
    put(
      open,
      answer.unknown.length > 0 && [
        h("h2", "What is not known"),
        h(
          "ul",
          answer.unknown_parts.map((parts) => h("li", spoken(context, parts))),
        ),
        answer.unknown_claims.some((one) => GAP_CLAIMS.includes(one.kind)) &&
          otherRules(context, "Where a score is missing, also possible: "),
      ],
    );

  // Only sure values make no order; maps are compared at equal density instead.
  function drawSure() {
    const href = state.address({ density: "open" }, "compare");
    put(because, h("p", h("a#equal-density-link", { href }, "Compare at equal density: error over density")));
  }

  // A purpose that is not measured here is no dead end: those that are measured are one click away.
  function otherPurposes() {
    const able = context.profiles.filter((one) => one.measured_share > 0);
    const words = (id) => context.catalogue.profiles.find((one) => one.id === id)?.name;
    const reset = { ...state.NO_PURPOSE, need: null };
    return h(
      "p.links#other-purposes",
      "What can be answered here: ",
      state.defaults.weights && link(state.address(reset), "accuracy, as measured"),
      able.map(({ id, measured_share: share }) =>
        link(state.address({ ...reset, profile: id }), `${words(id)} (${percent(share)} measured)`),
      ),
    );
  }

  return { refresh, leave: reasons.leave };
}
