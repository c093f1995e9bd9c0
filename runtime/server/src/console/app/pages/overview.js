// The state of the server, and its calls in the last hour, day or week.

import { useState } from "../vendor/hooks.js";
import { admin, can } from "../api.js";
import { Plot } from "../chart.js";
import { AskedNode } from "../node.js";
import { go, to, withQuery } from "../router.js";
import { bytes, number, plural, span, visible } from "../text.js";
import { Badge, Choice, Failed, Header, html, inline, resting, Waiting, useAsked } from "../ui.js";

const RANGES = [["hour", "Hour"], ["day", "Day"], ["week", "Week"]];
/** A larger database is checked only on request, because the check copies it. */
const LOOKED_THROUGH_BYTES = 64 * 1024 * 1024;

function Tile({ name, value, note, kind, href }) {
  const inside = html`<span class="name">${name}</span><span class="value">${value}</span><span class="help">${note}</span>`;
  return href ? html`<a class="tile ${kind ?? ""}" href=${href}>${inside}</a>` : html`<div class="tile ${kind ?? ""}">${inside}</div>`;
}

function Charts({ range }) {
  const asked = useAsked(() => admin(`performance?range=${range}`), [range], 15_000);
  return html`<${Waiting} asked=${asked}>${({ buckets }) => {
    const times = buckets.map((bucket) => bucket.at);
    const of = (name) => buckets.map((bucket) => bucket[name]);
    const calls = of("calls").reduce((sum, one) => sum + one, 0);
    const errors = of("errors").reduce((sum, one) => sum + one, 0);
    const called = buckets.filter((bucket) => bucket.calls);
    const worst = Math.max(0, ...of("p95"));
    const gap = (name) => buckets.map((bucket) => (bucket.calls ? bucket[name] : null));
    const share = calls ? `${((100 * errors) / calls).toFixed(errors && errors / calls < 0.001 ? 3 : 1)} %` : "–";
    return html`<div class="tiles">
        <${Tile} name="Calls" value=${number(calls)} note=${`in the last ${range}`} href=${can("logs") ? to(["calls"]) : null} />
        <${Tile} name="Errors" value=${number(errors)} note=${`${share} of the calls`} kind=${errors ? "warn" : ""} href=${can("logs") ? to(["calls"], { outcome: "error" }) : null} />
        <${Tile} name="Highest p95" value=${called.length ? span(worst) : "–"} note="of one interval of the plots" />
      </div>
      <div class="plots">
        <${Plot} label="Calls" summary=${`${calls} calls, ${errors} errors`} times=${times} unit=${number}
          series=${[["calls", of("calls")], ["errors", of("errors"), true]]} />
        <${Plot} label="Latency" summary=${`highest p95 ${span(worst)}`} times=${times} unit=${span}
          series=${[["p50", gap("p50")], ["p95", gap("p95")], ["p99", gap("p99")]]} />
      </div>`;
  }}<//>`;
}

function Now({ now }) {
  const own = Object.fromEntries(now.store.own.map(([name, value]) => [name, value]));
  const log = own.wal_bytes ?? own.log_bytes;
  const { disk, jobs, live, store } = now;
  const isLow = disk && disk.free < Math.max(disk.floor * 2, disk.size / 20);
  return html`<div class="tiles">
    <${Tile} name="Writer queue" value=${number(store.writerQueue)} note="waiting mutations" kind=${store.writerQueue > 100 ? "warn" : ""} />
    <${Tile} name="Readers" value=${`${store.readersBusy} / ${store.readers}`} note=${`busy; ${number(store.readerQueue)} waiting queries`} />
    ${store.bytes ? html`<${Tile} name="Database" value=${bytes(store.bytes)} note=${log == null ? "all files" : `with a log of ${bytes(log)}`} href=${can("data") ? to(["data"]) : null} />`
      : html`<${Tile} name="Database" value=${store.engine} note=${`${plural(store.nodes, "node serves", "nodes serve")} it`} href=${can("data") ? to(["data"]) : null} />`}
    ${disk && html`<${Tile} name="Disk free" value=${bytes(disk.free)} note=${`of ${bytes(disk.size)}`} kind=${isLow ? "bad" : ""} />`}
    <${Tile} name="Jobs" value=${jobs.failed ? `${number(jobs.failed)} failed` : `${number(jobs.pending)} pending`}
      note=${jobs.failed ? `${number(jobs.pending)} pending, ${number(jobs.running)} running` : `${number(jobs.running)} running, none failed`} kind=${jobs.failed ? "warn" : ""} href=${can("jobs") ? to(["jobs"], { state: jobs.failed ? "failed" : "pending" }) : null} />
    <${Tile} name="Live" value=${number(live.connections)} note=${`${live.connections === 1 ? "connection" : "connections"}, ${plural(live.queries, "query", "queries")}`} href=${can("live") ? to(["live"]) : null} />
  </div>`;
}

const KINDS = { ok: "good", warning: "warn", problem: "bad" };

function Doctor({ looksNow }) {
  const [isAsked, ask] = useState(false);
  const asked = useAsked(() => (looksNow || isAsked ? admin("doctor") : Promise.resolve(null)), [looksNow, isAsked]);
  const look = () => (looksNow || isAsked ? asked.again() : ask(true));
  return html`<section>
    <div class="head"><h2>Doctor's findings</h2><div class="tools"><button type="button" onClick=${look} ...${resting(asked.isOld)}>${asked.isOld ? "Checking…" : asked.value ? "Check again" : "Check now"}</button></div></div>
    <${Waiting} asked=${asked}>${(found) =>
      found === null
        ? html`<p class="help">The database is large, and the check makes a copy of it. Start the check with the button.</p>`
        : html`<ul class="findings">
            ${found.findings.map(
              (one) => html`<li><${Badge} kind=${KINDS[one.state]}>${one.state}<//> <strong>${one.subject}</strong> ${inline(one.says)}
                ${one.advice && html`<span class="help">${inline(one.advice)}</span>`}</li>`,
            )}
          </ul>`}<//>
  </section>`;
}

export function Overview({ query }) {
  const range = RANGES.some(([own]) => own === query.get("range")) ? query.get("range") : "hour";
  const asked = useAsked(() => admin("overview"), [], 5_000);
  const now = asked.value;
  return html`<${Header} title="Overview">
      <${Choice} label="Over the last" of=${RANGES} value=${range} choose=${(own) => go(withQuery({ range: own }))} />
    <//>
    ${now && (now.notReady
      ? html`<p class="banner bad" role="status"><strong>Not serving.</strong> ${visible(now.notReady)}</p>`
      : html`<p class="banner good" role="status"><strong>Serving</strong> ${now.environment}, version ${now.version}${now.follows && html`. It follows the copies in <code>${visible(now.follows)}</code> and answers queries only`}</p>`)}
    <${Failed} error=${asked.error} />
    <${AskedNode} node=${now?.node} has="Queues and live connections" />
    ${now && html`<${Now} now=${now} />`}
    ${can("functions") && html`<${Charts} range=${range} />`}
    ${can("data") && now && html`<${Doctor} looksNow=${now.store.bytes <= LOOKED_THROUGH_BYTES} />`}`;
}
