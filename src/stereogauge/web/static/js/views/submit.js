// Submissions: upload a zip, see every problem before anything is computed, follow the evaluation, publish or withdraw.

import { ask, events, isStatic, Problem, send, token } from "../api.js";
import { badge } from "../chart.js";
import { h, put, say } from "../dom.js";
import { digits, plural } from "../format.js";
import * as state from "../state.js";
import { lacking } from "../states.js";

const OPEN = ["queued", "validating", "evaluating"];

export function create(root, context) {
  const own = h("div", {});
  const form = h("div", {});
  const current = h("div", { id: "submission", "aria-live": "polite" });
  const listing = h("div", { class: "section" });
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
        "div",
        { class: "row" },
        h("h1", {}, "Submit results"),
        h(
          "span",
          { class: "hint" },
          `${rules.dataset}: ${rules.scenes} scenes`,
          rules.hidden > 0 && `, ${rules.hidden} of them with hidden ground truth`,
        ),
      ),
      h(
        "p",
        { class: "caption" },
        "A submission stays private until you publish it. ",
        `At most ${rules.per_period} submissions in ${rules.period_hours} hours; `,
        `zip files up to ${Math.round(rules.largest_bytes / 1048576)} MB; `,
        "results as one map per scene (SCENE.pfm, SCENE.png, …), with results.toml where values are scaled.",
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
        h("span", {}, input),
        h("button", { type: "submit", id: "use-token" }, token.get() ? "change" : "use"),
      ),
      problem && h("div", { class: "problem", role: "alert" }, problem),
    );
  }

  function drawForm() {
    const name = h("input", {
      type: "text",
      id: "submission-name",
      maxlength: 80,
      placeholder: "as it should appear in the table",
      "aria-label": "Name of the algorithm",
    });
    const about = h("input", {
      type: "text",
      id: "submission-about",
      maxlength: 500,
      placeholder: "optional",
      "aria-label": "Description",
    });
    const link = h("input", {
      type: "text",
      id: "submission-link",
      maxlength: 300,
      placeholder: "https://… (optional)",
      "aria-label": "Link",
    });
    const file = h("input", { type: "file", id: "submission-file", accept: ".zip", "aria-label": "Zip file" });
    const state_ = h("div", {});
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
      h("p", {}, "Drop a zip with your maps here, or choose it:"),
      file,
      " ",
      h("button", { type: "button", class: "primary", id: "upload", onclick: () => go(file.files[0]) }, "upload"),
    );
    put(
      form,
      h(
        "div",
        { class: "form" },
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
    put(status, h("p", {}, `Uploading ${file.name} … `, bar));
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

  const unit = (column) => {
    const own = context.columns.find((one) => one.id === column)?.unit;
    return own ? ` [${own}]` : "";
  };
  const problems = (detail, findings = []) =>
    h("div", {}, h("div", { class: "problem", role: "alert", "data-refused": "yes" }, detail), listFindings(findings));
  const listFindings = (findings = []) =>
    findings.length
      ? h(
          "ul",
          { class: "findings" },
          findings.map((one) =>
            h("li", { class: one.severity }, one.scene ? h("strong", {}, `${one.scene}: `) : null, one.sentence),
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
    put(
      current,
      h(
        "div",
        { class: "section", "data-state": one.state },
        h(
          "div",
          { class: "row" },
          h("h2", {}, one.name),
          h("span", { class: "state" }, one.state),
          h("span", { class: "hint" }, one.message),
        ),
        OPEN.includes(one.state) && h("progress", { max: 1, value: one.progress }),
        listFindings(one.findings),
        scores.length > 0 &&
          h(
            "div",
            { class: "scroll" },
            h(
              "table",
              { id: "submission-scores" },
              h(
                "thead",
                {},
                h(
                  "tr",
                  {},
                  h("th", { class: "text", scope: "col" }, "column"),
                  h("th", { scope: "col" }, "your score"),
                  h("th", { scope: "col" }, "best on this site"),
                  h("th", { scope: "col" }, "rank"),
                ),
              ),
              h(
                "tbody",
                {},
                scores.map((row) =>
                  h(
                    "tr",
                    {},
                    h("td", { class: "text" }, row.column, h("span", { class: "hint" }, unit(row.column))),
                    h("td", { title: String(row.value) }, digits(row.value)),
                    h("td", {}, digits(row.best)),
                    h("td", {}, row.rank === null ? "–" : `${row.rank} of ${row.of}`),
                  ),
                ),
              ),
            ),
          ),
        h(
          "div",
          { class: "row" },
          ["done", "published"].includes(one.state) &&
            h(
              "a",
              { href: state.address({ submission: one.state === "done" ? one.id : null }, "leaderboard") },
              "see it in the leaderboard",
            ),
          one.state === "done" &&
            h(
              "button",
              {
                type: "button",
                class: "primary",
                id: "publish",
                onclick: act("POST", `submissions/${one.id}/publish`, "published"),
              },
              "publish",
            ),
          h(
            "button",
            { type: "button", id: "withdraw", onclick: act("DELETE", `submissions/${one.id}`, "withdrawn") },
            one.state === "published" ? "withdraw from the site" : "withdraw",
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
        "div",
        { class: "row" },
        h("h2", {}, "Your submissions"),
        h("span", { class: "hint" }, `${plural(answer.left, "submission")} left in this period`),
      ),
      answer.submissions.length
        ? h(
            "table",
            {},
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ["algorithm", "state", "uploaded", ""].map((one) => h("th", { class: "text", scope: "col" }, one)),
              ),
            ),
            h(
              "tbody",
              {},
              answer.submissions.map((one) =>
                h(
                  "tr",
                  {},
                  h("td", { class: "text" }, badge(context.styles.get(one.name)), one.name),
                  h("td", { class: "text state" }, one.state),
                  h("td", { class: "text" }, new Date(one.created * 1000).toISOString().slice(0, 16).replace("T", " ")),
                  h("td", { class: "text" }, h("button", { type: "button", onclick: () => watch(one.id) }, "open")),
                ),
              ),
            ),
          )
        : h("p", { class: "hint" }, "None yet."),
    );
  }

  return { refresh, leave: () => watching?.abort() };
}
