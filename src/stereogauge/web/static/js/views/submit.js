// Submissions: upload a zip, see every problem before anything is computed, follow the evaluation, publish or withdraw.

import { ask, events, isStatic, Problem, send, token } from "../api.js";
import { button, cell, h, put, say, scroll, table } from "../dom.js";
import { digits, full, plural } from "../format.js";
import * as state from "../state.js";
import { lacking } from "../states.js";
import { named } from "../words.js";

const OPEN = ["queued", "validating", "evaluating"];

export function create(root, context) {
  const own = h("div");
  const form = h("div");
  const current = h("div", { id: "submission", "aria-live": "polite" });
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
    if (!token.get()) {
      put(form);
      put(current);
      put(listing);
      return;
    }
    await drawList();
  }

  function drawToken(problem = "") {
    const input = h("input", {
      type: "password",
      id: "token",
      value: token.get(),
      autocomplete: "off",
      placeholder: "token",
      "aria-label": "Token",
    });
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
        "form",
        {
          class: "row",
          onsubmit: (event) => {
            event.preventDefault();
            token.set(input.value.trim());
            refresh();
          },
        },
        h("label", { for: "token" }, "Your token"),
        h("span", input),
        h("button", { type: "submit", id: "use-token" }, token.get() ? "change" : "use"),
      ),
      problem && h("div", { class: "problem", role: "alert" }, problem),
    );
  }

  function drawForm() {
    const text = (id, label, maxlength, placeholder) =>
      h("input", { type: "text", id: `submission-${id}`, maxlength, placeholder, "aria-label": label });
    const name = text("name", "Name of the algorithm", 80, "as it should appear in the table");
    const about = text("about", "Description", 500, "optional");
    const link = text("link", "Link", 300, "https://… (optional)");
    const file = h("input", { type: "file", id: "submission-file", accept: ".zip", "aria-label": "Zip file" });
    const state_ = h("div");
    const go = (chosen) => {
      const lacks = !name.value.trim() ? "Give the algorithm a name first." : !chosen ? "Choose a zip file first." : "";
      if (lacks) return put(state_, problems(lacks));
      return upload(
        chosen,
        { name: name.value.trim(), description: about.value.trim(), link: link.value.trim() },
        state_,
      );
    };
    const drop = h(
      "div",
      {
        class: "drop",
        id: "drop",
        ondragover: (event) => {
          event.preventDefault();
          drop.classList.add("over");
        },
        ondragleave: () => drop.classList.remove("over"),
        ondrop: (event) => {
          event.preventDefault();
          drop.classList.remove("over");
          go(event.dataTransfer.files[0]);
        },
      },
      h("p", "Drop a zip with your maps here, or choose it:"),
      file,
      " ",
      button("upload", () => go(file.files[0]), { class: "primary", id: "upload" }),
    );
    put(
      form,
      h(
        "div.form",
        h("label", { for: "submission-name" }, "algorithm"),
        name,
        h("label", { for: "submission-about" }, "description"),
        about,
        h("label", { for: "submission-link" }, "link"),
        link,
      ),
      drop,
      state_,
    );
  }

  function upload(file, facts, status) {
    const bar = h("progress", { max: 1, value: 0 });
    put(status, h("p", `Uploading ${file.name} … `, bar));
    const params = new URLSearchParams(Object.entries(facts).filter(([, value]) => value));
    const request = new XMLHttpRequest();
    request.open("POST", `api/v1/submissions?${params}`);
    request.setRequestHeader("Authorization", `Bearer ${token.get()}`);
    request.setRequestHeader("Content-Type", "application/zip");
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) bar.value = event.loaded / event.total;
    };
    request.onload = () => {
      let body = {};
      try {
        body = JSON.parse(request.responseText);
      } catch {
        body = {};
      }
      if (request.status === 202) {
        put(status);
        watch(body.id);
        drawList();
      } else put(status, problems(body.detail ?? `The server answered ${request.status}.`, body.findings));
    };
    request.onerror = () =>
      put(
        status,
        h(
          "div",
          { class: "problem", role: "alert" },
          "The connection broke during the upload; nothing was kept. " +
            "A file over the limit is cut off: see the limits above.",
        ),
      );
    request.send(file);
  }

  const problems = (detail, findings = []) =>
    h("div", h("div", { class: "problem", role: "alert", "data-refused": "yes" }, detail), listFindings(findings));
  const listFindings = (findings = []) =>
    findings.length
      ? h(
          "ul.findings",
          findings.map((one) =>
            h(
              "li",
              { class: one.severity },
              one.scenes?.length > 0 && h("strong", `${one.scenes.join(", ")}: `),
              one.sentence,
            ),
          ),
        )
      : null;

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
    const act = (method, path, done) => async () => {
      try {
        await send(method, path);
        say(done);
        await drawList();
        if (method === "DELETE") put(current);
        else drawOne(await ask(`submissions/${one.id}`, "", { fresh: true }));
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        put(current, problems(problem.message));
      }
    };
    const scores = one.scores ?? [];
    // The board of the data set that takes submissions, with nothing left out.
    const none = Object.fromEntries(state.SCOPE.map((name) => [name, null]));
    const whole = { ...none, dataset: rules?.dataset ?? null };
    put(
      current,
      h(
        "div",
        { class: "section", "data-state": one.state },
        h("div.row", h("h2", one.name), h("span.state", one.state), h("span.hint", one.message)),
        OPEN.includes(one.state) && h("progress", { max: 1, value: one.progress }),
        listFindings(one.findings),
        scores.length > 0 &&
          scroll(
            "Scores",
            table(
              ["column", "your score", "best on this site", "rank"],
              scores.map((row) => [
                [row.column, " ", h("span.hint", row.unit)],
                cell({ "data-full": full(row.value) }, digits(row.value)),
                digits(row.best),
                row.rank === null ? "–" : `${row.rank} of ${row.of}`,
              ]),
              { id: "submission-scores" },
            ),
          ),
        h(
          "div.row",
          ["done", "published"].includes(one.state) &&
            h(
              "a",
              { href: state.address({ ...whole, submission: one.state === "done" ? one.id : null }, "leaderboard") },
              "see it in the leaderboard",
            ),
          one.state === "done" &&
            button("publish", act("POST", `submissions/${one.id}/publish`, "published"), {
              class: "primary",
              id: "publish",
            }),
          button(
            one.state === "published" ? "withdraw from the site" : "withdraw",
            (event) => {
              const asked = event.currentTarget.dataset.asked;
              if (asked) return act("DELETE", `submissions/${one.id}`, "withdrawn")();
              event.currentTarget.dataset.asked = "yes";
              event.currentTarget.textContent = "withdraw for good? Click again";
              return undefined;
            },
            { id: "withdraw" },
          ),
        ),
      ),
    );
  }

  async function drawList() {
    let answer;
    try {
      answer = await ask("submissions", "", { fresh: true });
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      put(form);
      put(listing);
      put(current);
      drawToken(problem.message);
      return;
    }
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
            ["algorithm", "state", "uploaded", ""].map((title) => cell({ class: "text" }, title)),
            answer.submissions.map((one) => [
              named(context, one.name),
              cell({ class: "text state" }, one.state),
              cell({ class: "text" }, new Date(one.created * 1000).toISOString().slice(0, 16).replace("T", " ")),
              cell(
                { class: "text" },
                button("open", () => watch(one.id)),
              ),
            ]),
          )
        : h("p.hint", "None yet."),
    );
  }

  return { refresh, leave: () => watching?.abort() };
}
