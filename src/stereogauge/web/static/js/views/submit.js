// Submissions: upload a zip, see every problem before anything is computed, follow the evaluation, publish or withdraw.

import { ask, attempt, events, isStatic, send, token } from "../api.js";
import { button, cell, h, link, put, say, table, textCell } from "../dom.js";
import { digits, full, plural } from "../format.js";
import * as state from "../state.js";
import { lacking, refused } from "../states.js";
import { named } from "../words.js";

const OPEN = ["queued", "validating", "evaluating"];
/** What is said of an algorithm: its name in a request and in ids, its label, its most letters, and a hint. */
const FIELDS = [
  ["name", "name", "Name of the algorithm", 80, "as it should appear in the table"],
  ["description", "about", "Description", 500, "optional"],
  ["link", "link", "Link", 300, "https://… (optional)"],
];
const BROKEN =
  "The connection broke during the upload; nothing was kept. A file over the limit is cut off: see the limits above.";

export function create(root, context) {
  const own = h("div");
  const form = h("div");
  const current = h("div#submission", { "aria-live": "polite" });
  const listing = h("div.section");
  let watching = null;
  let rules = null;

  async function refresh() {
    if (isStatic || !context.catalogue.submissions) {
      put(
        root,
        lacking(
          "This site takes no submissions",
          "Results can be checked with the same rules on your own machine, and evaluated into a store of your own. " +
            "A group that hosts a benchmark starts its site with --submissions:",
          "stereogauge validate results.zip --dataset DATASET:ROOT\nstereogauge serve scores.sqlite --submissions",
        ),
      );
      return;
    }
    if (!own.isConnected) put(root, own, form, current, listing);
    rules ??= await ask("submissions/rules");
    drawToken();
    if (token.get()) await drawList();
    else for (const part of [form, current, listing]) put(part);
  }

  function drawToken(problem = "") {
    const input = h("input#token", {
      type: "password",
      value: token.get(),
      autocomplete: "off",
      placeholder: "token",
      "aria-label": "Token",
    });
    const use = (event) => {
      event.preventDefault();
      token.set(input.value.trim());
      refresh();
    };
    put(
      own,
      h(
        "div.row",
        h("h1", "Submit results"),
        h(
          "span.hint",
          `${rules.dataset}: ${rules.scenes} scenes`,
          rules.hidden > 0 && `, ${rules.hidden} of them with hidden ground truth`,
        ),
      ),
      h(
        "p.caption",
        "A submission stays private until you publish it. ",
        `At most ${rules.per_period} submissions in ${rules.period_hours} hours; `,
        `zip files up to ${Math.round(rules.largest_bytes / 1048576)} MB; `,
        "one map per scene as PFM or 16-bit PNG (disparity × 256): SCENE.pfm or SCENE.png.",
        rules.hidden > 0 &&
          " On hidden scenes values outside of the search range are clipped and scores are rounded; " +
            `a submission tells at most ${rules.most_kilobytes} kB about their ground truth.`,
      ),
      h(
        "form.row",
        { onsubmit: use },
        h("label", { for: "token" }, "Your token"),
        h("span", input),
        h("button#use-token", { type: "submit" }, token.get() ? "change" : "use"),
      ),
      problem && refused(problem),
    );
  }

  function drawForm() {
    const file = h("input#submission-file", { type: "file", accept: ".zip", "aria-label": "Zip file" });
    const status = h("div");
    const fields = h(
      "form.form",
      { onsubmit: (event) => event.preventDefault() },
      FIELDS.map(([name, words, label, maxlength, placeholder]) => {
        const id = `submission-${words}`;
        const input = h("input", { type: "text", id, name, maxlength, placeholder, "aria-label": label });
        return [h("label", { for: id }, name === "name" ? "algorithm" : name), input];
      }),
    );
    const go = (chosen) => {
      const entries = [...new FormData(fields)].map(([name, value]) => [name, value.trim()]);
      const facts = Object.fromEntries(entries.filter(([, value]) => value));
      if (!facts.name) return put(status, problems("Give the algorithm a name first."));
      if (!chosen) return put(status, problems("Choose a zip file first."));
      return upload(chosen, facts, status);
    };
    const dragged = (over, take) => (event) => {
      event.preventDefault();
      drop.classList.toggle("over", over);
      take?.(event.dataTransfer.files[0]);
    };
    const drop = h(
      "div.drop#drop",
      { ondragover: dragged(true), ondragleave: dragged(false), ondrop: dragged(false, go) },
      h("p", "Drop a zip with your maps here, or choose it:"),
      file,
      " ",
      button("upload", () => go(file.files[0]), { class: "primary", id: "upload" }),
    );
    put(form, fields, drop, status);
  }

  function upload(file, facts, status) {
    const bar = h("progress", { max: 1, value: 0 });
    put(status, h("p", `Uploading ${file.name} … `, bar));
    const request = new XMLHttpRequest();
    request.open("POST", `api/v1/submissions?${new URLSearchParams(facts)}`);
    request.setRequestHeader("Authorization", `Bearer ${token.get()}`);
    request.setRequestHeader("Content-Type", "application/zip");
    request.responseType = "json";
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) bar.value = event.loaded / event.total;
    };
    request.onload = () => {
      const { status: code, response } = request;
      put(status, code !== 202 && problems(response?.detail ?? `The server answered ${code}.`, response?.findings));
      if (code !== 202) return;
      watch(response.id);
      drawList();
    };
    request.onerror = () => put(status, refused(BROKEN));
    request.send(file);
  }

  function problems(detail, findings) {
    const box = refused(detail);
    box.dataset.refused = "yes";
    return h("div", box, listFindings(findings));
  }

  const listFindings = (findings = []) =>
    findings.length > 0 &&
    h(
      "ul.findings",
      findings.map(({ severity, scenes = [], sentence }) =>
        h("li", { class: severity }, scenes.length > 0 && h("strong", `${scenes.join(", ")}: `), sentence),
      ),
    );

  async function watch(id) {
    watching?.abort();
    const control = new AbortController();
    watching = control;
    try {
      for await (const one of events(`submissions/${encodeURIComponent(id)}/events`, control.signal)) drawOne(one);
    } catch (problem) {
      if (problem.name !== "AbortError") throw problem;
    }
    if (!control.signal.aborted) drawList();
  }

  function drawOne(one) {
    const path = `submissions/${one.id}`;
    const failed = ({ message }) => put(current, problems(message));
    const publish = async () => {
      await send("POST", `${path}/publish`);
      say("published");
      await drawList();
      drawOne(await ask(path, "", { fresh: true }));
    };
    const withdraw = async () => {
      await send("DELETE", path);
      say("withdrawn");
      await drawList();
      put(current);
    };
    const confirmed = ({ currentTarget: own }) => {
      if (own.dataset.asked) return attempt(withdraw(), failed);
      own.dataset.asked = "yes";
      own.textContent = "withdraw for good? Click again";
      return undefined;
    };
    const scores = one.scores ?? [];
    // The board of the data set that takes submissions, with nothing left out.
    const submission = one.state === "done" ? one.id : null;
    const whole = { ...state.without(...state.SCOPE), dataset: rules?.dataset, submission };
    put(
      current,
      h(
        "div.section",
        { "data-state": one.state },
        h("div.row", h("h2", one.name), h("span.state", one.state), h("span.hint", one.message)),
        OPEN.includes(one.state) && h("progress", { max: 1, value: one.progress }),
        listFindings(one.findings),
        scores.length > 0 &&
          table(
            ["column", "your score", "best on this site", "rank"],
            scores.map((row) => [
              [row.column, " ", h("span.hint", row.unit)],
              cell({ "data-full": full(row.value) }, digits(row.value)),
              digits(row.best),
              row.rank === null ? "–" : `${row.rank} of ${row.of}`,
            ]),
            { id: "submission-scores", label: "Scores" },
          ),
        h(
          "div.row",
          ["done", "published"].includes(one.state) &&
            link(state.address(whole, "leaderboard"), "see it in the leaderboard"),
          one.state === "done" &&
            button("publish", () => attempt(publish(), failed), { class: "primary", id: "publish" }),
          button(one.state === "published" ? "withdraw from the site" : "withdraw", confirmed, { id: "withdraw" }),
        ),
      ),
    );
  }

  async function drawList() {
    const answer = await attempt(ask("submissions", "", { fresh: true }), (problem) => {
      for (const part of [form, listing, current]) put(part);
      drawToken(problem.message);
    });
    if (!answer) return;
    if (!form.hasChildNodes()) drawForm();
    put(
      listing,
      h(
        "div.row",
        h("h2", "Your submissions"),
        h("span.hint", `${plural(answer.left, "submission")} left in this period`),
      ),
      answer.submissions.length
        ? table(
            ["algorithm", "state", "uploaded", ""].map((title) => textCell(title)),
            answer.submissions.map((one) => [
              named(context, one.name),
              cell({ class: "text state" }, one.state),
              textCell(new Date(one.created * 1000).toISOString().slice(0, 16).replace("T", " ")),
              textCell(button("open", () => watch(one.id))),
            ]),
          )
        : h("p.hint", "None yet."),
    );
  }

  return { refresh, leave: () => watching?.abort() };
}
