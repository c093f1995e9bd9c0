// Runs of workflows, and one run with its steps as a timeline.

import { admin, can, query as members } from "../api.js";
import { go, to, withQuery } from "../router.js";
import { number, time, visible } from "../text.js";
import { Act, Choice, Code, Failed, Header, html, Sure, Table, Time, Waiting, useAsked } from "../ui.js";

const STATES = ["active", "blocked", "undoing", "completed", "failed", "cancelled"];
const UNENDED = ["active", "blocked"];

export function Workflows({ rest, query }) {
  return rest.length ? html`<${One} id=${rest[0]} />` : html`<${All} query=${query} />`;
}

const problem = (run) => run.blocked ?? (run.error ? `${run.error.code}: ${run.error.message}` : null);

function Actions({ run, again }) {
  const act = (what) => async () => {
    await admin(`workflows/${run.id}/${what}`, { method: "POST" });
    again();
  };
  return html`<div class="actions">
    ${["failed", "blocked"].includes(run.state) && html`<${Act} does=${act("retry")}>${run.state === "failed" ? "Retry" : "Check again"}<//>`}
    ${UNENDED.includes(run.state) && html`<${Sure} title="Cancel the run" question=${`The completed steps of ${run.path} are undone in reverse order.`} does=${act("cancel")} yes="Cancel the run">Cancel<//>`}</div>`;
}

function All({ query }) {
  const state = STATES.includes(query.get("state")) ? query.get("state") : "active";
  const cursor = query.get("cursor");
  const asked = useAsked(() => admin(`workflows?${members({ state, cursor, limit: 50 })}`), [state, cursor], 3_000);
  return html`<${Waiting} asked=${asked}>${({ items, counts, cursor: next }) => html`
    <${Header} title="Workflows">
      <${Choice} label="State" of=${STATES.map((own) => [own, `${own} (${number(counts[own])})`])} value=${state} choose=${(own) => go(to(["workflows"], { state: own }))} />
    <//>
    <${Table} label="Runs" head=${["Run", "Workflow", "Started", "#Steps", "Problem", ""]} empty=${`There are no ${state} runs.`}>
      ${items.map((run) => html`<tr key=${run.id}>
        <th scope="row"><a href=${to(["workflows", run.id])}><code>…${run.id.slice(-8)}</code></a></th>
        <td>${run.path}</td>
        <td><${Time} at=${run.createdAt} /></td>
        <td class="num">${run.stepsDone}</td>
        <td class="wide">${problem(run) ? visible(problem(run)) : "–"}</td>
        <td><${Actions} run=${run} again=${asked.again} /></td>
      </tr>`)}
    <//>
    ${next && html`<p><a class="button" href=${withQuery({ cursor: next })}>Next runs</a></p>`}`}<//>`;
}

const Name = ({ step }) =>
  step.kind === "run" && can("functions")
    ? html`<a href=${to(["functions", ...step.name.split("/")])}>${step.name}</a>`
    : visible(step.name);

function Steps({ run, again }) {
  const resume = (step) => async () => {
    await admin(`workflows/${run.id}/resume`, { method: "POST", body: { from: step.position } });
    again();
  };
  const took = (step) => (step.endedAt === null ? "–" : `${number(step.endedAt - step.startedAt)} ms`);
  const state = (step) => (step.undone ? `${step.state}, undo ${step.undone}` : step.state);
  return html`<${Table} label="Steps" head=${["#Step", "Kind", "Name", "State", "Started", "Took", "Last error", ""]} empty="The run has no steps yet.">
    ${run.steps.map((step) => html`<tr key=${step.position}>
      <th scope="row" class="num">${step.position}</th>
      <td>${step.kind}</td>
      <td><${Name} step=${step} /></td>
      <td>${state(step)}${step.state === "pending" && step.until ? ` until ${time(step.until)}` : ""}</td>
      <td><${Time} at=${step.startedAt} /></td>
      <td class="num">${took(step)}</td>
      <td class="wide">${step.lastError ? visible(step.lastError) : "–"}</td>
      <td><${Sure} kind="" title="Resume from this step" question=${`Step ${step.position} and all later steps run again.`} does=${resume(step)} yes="Resume">Resume<//></td>
    </tr>`)}
  <//>`;
}

function One({ id }) {
  const asked = useAsked(() => admin(`workflows/${encodeURIComponent(id)}`), [id], 3_000);
  return html`<p class="crumbs"><a href=${to(["workflows"])}>Workflows</a></p>
    ${asked.value === undefined && asked.error
      ? html`<${Header} title=${visible(id)} /><${Failed} error=${asked.error} />`
      : html`<${Waiting} asked=${asked}>${(run) => html`
          <${Header} title=${html`<code>${run.id}</code>`}><${Actions} run=${run} again=${asked.again} /><//>
          <dl class="sheet">
            <dt>Workflow</dt><dd>${run.path}, version ${run.version}</dd>
            <dt>State</dt><dd>${run.state}</dd>
            <dt>Key</dt><dd>${visible(run.key ?? "–")}</dd>
            <dt>Started by</dt><dd>${visible(run.startedBy ?? "the system")}</dd>
            <dt>Started</dt><dd><${Time} at=${run.createdAt} /></dd>
            <dt>Ended</dt><dd><${Time} at=${run.endedAt} /></dd>
            ${problem(run) && html`<dt>Problem</dt><dd class="wrong">${visible(problem(run))}</dd>`}
          </dl>
          <h2>Steps</h2>
          <${Steps} run=${run} again=${asked.again} />
          <h2>Arguments</h2>
          <${Code} label="Arguments">${JSON.stringify(run.args, null, 2)}<//>
          ${run.state === "completed" && html`<h2>Result</h2><${Code} label="Result">${JSON.stringify(run.value, null, 2)}<//>`}`}<//>`}`;
}
