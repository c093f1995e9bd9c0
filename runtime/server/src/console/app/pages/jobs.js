// Scheduled work: pending, running and failed jobs, and the schedules.

import { admin, can, query as members } from "../api.js";
import { go, to, withQuery } from "../router.js";
import { number, time, visible } from "../text.js";
import { Act, Choice, Code, Failed, Header, html, Sure, Table, Time, Waiting, useAsked } from "../ui.js";

const STATES = ["pending", "running", "failed"];

export function Jobs({ rest, query }) {
  return rest.length ? html`<${One} id=${rest[0]} />` : html`<${All} query=${query} />`;
}

function Actions({ job, again }) {
  const retry = async () => {
    await admin(`jobs/${job.id}/retry`, { method: "POST" });
    again();
  };
  const cancel = async () => {
    await admin(`jobs/${job.id}/cancel`, { method: "POST" });
    again();
  };
  if (job.state === "failed") return html`<${Act} does=${retry}>Run again<//>`;
  if (job.state !== "pending") return null;
  // A job in back-off has failed before. A job that is scheduled for later needs a confirmation.
  const now = job.attempts > 0
    ? html`<${Act} does=${retry}>Run now<//>`
    : html`<${Sure} kind="" title="Run the job now" question=${`The job of ${job.path} is planned for ${time(job.runAt)}. It will run now instead.`} does=${retry} yes="Run it now">Run now<//>`;
  return html`<div class="actions">${job.runAt > Date.now() && now}
    <${Sure} title="Cancel the job" question=${`The job of ${job.path} will not run.`} does=${cancel} yes="Cancel the job">Cancel<//></div>`;
}

const Path = ({ path }) => (can("functions") ? html`<a href=${to(["functions", ...path.split("/")])}>${path}</a>` : path);

function All({ query }) {
  const state = STATES.includes(query.get("state")) ? query.get("state") : "failed";
  const cursor = query.get("cursor");
  const asked = useAsked(() => admin(`jobs?${members({ state, cursor, limit: 50 })}`), [state, cursor], 3_000);
  return html`<${Waiting} asked=${asked}>${({ items, counts, crons, cursor: next }) => html`
    <${Header} title="Jobs">
      <${Choice} label="State" of=${STATES.map((own) => [own, `${own} (${number(counts[own])})`])} value=${state} choose=${(own) => go(to(["jobs"], { state: own }))} />
    <//>
    <${Table} label="Jobs" head=${["Job", "Function", "Runs at", "#Tries", "Last error", ""]} empty=${`There are no ${state} jobs.`}>
      ${items.map((job) => html`<tr key=${job.id}>
        <th scope="row"><a href=${to(["jobs", job.id])}><code>…${job.id.slice(-8)}</code></a></th>
        <td><${Path} path=${job.path} /></td>
        <td><${Time} at=${job.runAt} /></td>
        <td class="num">${job.attempts}</td>
        <td class="wide">${job.lastError ? visible(job.lastError) : "–"}</td>
        <td><${Actions} job=${job} again=${asked.again} /></td>
      </tr>`)}
    <//>
    ${next && html`<p><a class="button" href=${withQuery({ cursor: next })}>Next jobs</a></p>`}
    ${crons.length > 0 && html`<section><h2>Schedules</h2>
      <${Table} label="Schedules" head=${["Function", "When", "Next"]}>
        ${crons.map((cron) => html`<tr><th scope="row"><${Path} path=${cron.path} /></th><td><code>${cron.expression}</code></td><td><${Time} at=${cron.nextAt} /></td></tr>`)}
      <//></section>`}`}<//>`;
}

function One({ id }) {
  const asked = useAsked(() => admin(`jobs/${encodeURIComponent(id)}`), [id], 3_000);
  return html`<p class="crumbs"><a href=${to(["jobs"])}>Jobs</a></p>
    ${asked.value === undefined && asked.error
      ? html`<${Header} title=${visible(id)} /><${Failed} error=${asked.error} />`
      : html`<${Waiting} asked=${asked}>${(job) => html`
          <${Header} title=${html`<code>${job.id}</code>`}><${Actions} job=${job} again=${asked.again} /><//>
          <dl class="sheet">
            <dt>Function</dt><dd><${Path} path=${job.path} /></dd>
            <dt>State</dt><dd>${job.state}</dd>
            <dt>Runs at</dt><dd><${Time} at=${job.runAt} /></dd>
            <dt>Runs as</dt><dd>${visible(job.runsAs ?? "the system")}</dd>
            <dt>Tries</dt><dd>${job.attempts}</dd>
            <dt>Key</dt><dd>${visible(job.key ?? "–")}</dd>
            ${job.queue && html`<dt>Queue</dt><dd>${visible(job.queue)}${job.queueKey ? `, key ${visible(job.queueKey)}` : ""}</dd>`}
            <dt>Created</dt><dd><${Time} at=${job.createdAt} /></dd>
            <dt>Started</dt><dd><${Time} at=${job.startedAt} /></dd>
            <dt>Finished</dt><dd><${Time} at=${job.finishedAt} /></dd>
            ${job.lastError && html`<dt>Last error</dt><dd class="wrong">${visible(job.lastError)}</dd>`}
          </dl>
          <h2>Arguments</h2>
          <${Code} label="Arguments">${JSON.stringify(job.args, null, 2)}<//>`}<//>`}`;
}
