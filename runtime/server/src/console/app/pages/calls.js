// Finished calls, and new ones as they finish.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { admin, can, lines, query as members } from "../api.js";
import { AskedNode } from "../node.js";
import { go, to, withQuery } from "../router.js";
import { bytes, clock, number, plural, span, time, visible } from "../text.js";
import { Act, Badge, Choice, Code, Copy, Failed, Field, Header, html, useAsked } from "../ui.js";

/** Largest number of new calls on the page. */
const KEPT = 500;
/** Number of calls per part of the list. */
const PART = 100;
/** Pause before a broken stream is restarted. */
const AGAIN_MS = 2_000;
const ENDINGS = [["", "All"], ["ok", "Succeeded"], ["refused", "Refused"], ["failed", "Failed"]];
const MINUTE = 60_000;
const SINCE = [["", "any time"], ["15m", "the last 15 minutes"], ["1h", "the last hour"], ["1d", "the last day"], ["7d", "the last 7 days"]];
const LENGTHS = { "15m": 15 * MINUTE, "1h": 60 * MINUTE, "1d": 24 * 60 * MINUTE, "7d": 7 * 24 * 60 * MINUTE };

const name = (call) => `${call.requestId} ${call.time} ${call.function}`;

export function Calls({ query }) {
  const wanted = Object.fromEntries(["function", "text", "caller", "user", "outcome"].map((one) => [one, query.get(one)]));
  const since = LENGTHS[query.get("since")];
  const filter = members({ ...wanted, slowerThanMs: query.get("slower"), requestId: query.get("request") });
  const asked = useAsked(() => admin("overview"), []).value;
  const [calls, set] = useState([]);
  const [older, add] = useState({ calls: [], isAll: false });
  const [lost, lose] = useState(0);
  const [isPaused, pause] = useState(false);
  const [error, fail] = useState();
  const held = useRef([]);
  const paused = useRef(false);
  paused.current = isPaused;
  useEffect(() => {
    const end = new AbortController();
    let timer;
    set([]);
    add({ calls: [], isAll: false });
    held.current = [];
    const take = (call) => {
      held.current = [call, ...held.current].slice(0, KEPT);
      // Hundreds of calls per second are shown in several updates per second.
      timer ??= setTimeout(() => {
        timer = undefined;
        if (!paused.current) set(held.current);
      }, 100);
    };
    (async () => {
      while (!end.signal.aborted) {
        try {
          const from = since && members({ since: Date.now() - since });
          for await (const line of lines(`logs?follow=true&last=${PART}&${filter}&${from ?? ""}`, { signal: end.signal })) {
            fail();
            if ("lost" in line) lose((before) => before + line.lost);
            else if (!held.current.some((one) => name(one) === name(line))) take(line);
          }
        } catch (error) {
          if (end.signal.aborted) return;
          fail(error);
          if (error.code === "INVALID_ARGUMENT" || error.code === "INSUFFICIENT_SCOPE") return;
        }
        await new Promise((done) => setTimeout(done, AGAIN_MS));
      }
    })();
    return () => {
      end.abort();
      clearTimeout(timer);
    };
  }, [filter, since]);
  const resume = () => {
    pause(!isPaused);
    if (isPaused) set(held.current);
  };
  const all = [...calls, ...older.calls];
  const last = all.at(-1);
  const more = async () => {
    const from = since && Date.now() - since;
    const known = new Set(all.map(name));
    const found = [];
    // Calls of the same millisecond may be in both parts.
    for await (const line of lines(`logs?${filter}&${members({ last: PART + 10, before: last.time + 1, since: from })}`)) {
      if (!known.has(name(line))) found.unshift(line);
    }
    add({ calls: [...older.calls, ...found], isAll: found.length === 0 });
  };
  return html`<${Header} title="Calls" lead=${`Recent calls. New calls appear automatically.${lost ? ` ${number(lost)} calls are not shown, because they arrived too fast.` : ""}`}>
      <button type="button" aria-pressed=${isPaused} onClick=${resume}>${isPaused ? "Resume" : "Pause"}</button>
    <//>
    <${AskedNode} node=${asked?.node} has="Calls" />
    <div class="row"><${Choice} label="How calls ended" of=${ENDINGS} value=${query.get("outcome") ?? ""} choose=${(outcome) => go(withQuery({ outcome }))} /></div>
    <${Filters} query=${query} />
    <${Failed} error=${error} />
    ${all.length
      ? html`<ul class="calls" aria-label="Calls">${all.map((call) => html`<${Call} key=${name(call)} call=${call} />`)}</ul>
          <div class="row">${older.isAll
            ? html`<p class="help" role="status">No older calls are recorded that match.</p>`
            : html`<${Act} does=${more}>Older calls<//>`}</div>`
      : html`<p class="empty">${filter || since ? "No call matches." : "There are no calls yet."} New calls appear here automatically.</p>`}`;
}

function Filters({ query }) {
  const field = (name, label, placeholder, more) => html`<${Field} label=${label}>
    <input type="text" value=${query.get(name) ?? ""} placeholder=${placeholder} autocomplete="off" spellcheck=${false} ...${more}
      onChange=${(event) => go(withQuery({ [name]: event.target.value.trim() }), { replace: true })} />
  <//>`;
  return html`<div class="filters" role="search">
    ${field("text", "Text", "in arguments, errors, log lines")}
    ${field("function", "Function", "users/ or */getMeeting")}
    ${query.get("user") !== null && field("user", "User", "subject")}
    ${field("caller", "Caller", "user, key, scheduler, anonymous")}
    ${field("outcome", "Outcome", "ok, refused, failed, a code")}
    ${field("slower", "Slower than, ms", "100", { type: "number", min: "0" })}
    <${Field} label="Ended in">
      <select value=${query.get("since") ?? ""} onChange=${(event) => go(withQuery({ since: event.target.value }))}>
        ${SINCE.map(([own, said]) => html`<option value=${own}>${said}</option>`)}
      </select>
    <//>
    ${field("request", "Request id", "")}
    ${[...query].length > 0 && html`<a class="button" href=${to(["calls"])}>Show all</a>`}
  </div>`;
}

const kind = (call) => (call.outcome === "OK" ? "good" : call.refused ? "warn" : "bad");

function Call({ call }) {
  const [isOpen, open] = useState(false);
  const who = call.subject ?? (call.deployKey ? `key ${call.deployKey}` : call.scheduled ? "scheduler" : "anonymous");
  return html`<li class=${isOpen ? "open" : ""}>
    <button type="button" class="call" aria-expanded=${isOpen} onClick=${() => open(!isOpen)}>
      <span class="at" title=${time(call.time)}>${clock(call.time)}</span>
      <${Badge} kind=${kind(call)}>${call.outcome}<//>
      <span class="path">${visible(call.function)}</span>
      <span class="who">${visible(who)}</span>
      <span class="num">${span(call.durationMs)}</span>
    </button>
    ${isOpen && html`<${Details} call=${call} who=${who} />`}
  </li>`;
}

function Details({ call, who }) {
  const rows = [call.rowsRead > 0 && `${plural(call.rowsRead, "row", "rows")} read`, call.rowsWritten > 0 && `${number(call.rowsWritten)} written`].filter(Boolean);
  return html`<div class="details">
    <dl>
      <dt>Ended</dt><dd>${time(call.time)}</dd>
      <dt>Request id</dt><dd><code>${visible(call.requestId)}</code> <${Copy} text=${call.requestId} label="Copy the request id" /></dd>
      <dt>Caller</dt><dd>${visible(who)}${call.subject && call.deployKey ? `, by the key ${visible(call.deployKey)}` : ""}${call.scheduled ? ", by the scheduler" : ""}</dd>
      ${call.kind && html`<dt>Kind</dt><dd>${call.kind}</dd>`}
      <dt>Duration</dt><dd>${span(call.durationMs)}${call.waitedMs ? `, of which ${span(call.waitedMs)} were spent in a queue` : ""}</dd>
      ${call.resultBytes != null && html`<dt>Result</dt><dd>${bytes(call.resultBytes)}${call.cached ? html` <${Badge}>cached<//>` : ""}</dd>`}
      ${rows.length > 0 && html`<dt>Rows</dt><dd>${rows.join(", ")}</dd>`}
      ${call.error && html`<dt>${call.refused ? "Refused" : "Failed"}</dt><dd class="wrong">${visible(call.error)}</dd>`}
    </dl>
    ${call.arguments !== undefined && html`<h3>Arguments</h3><${Code} label="Arguments">${JSON.stringify(call.arguments, null, 2)}<//>`}
    ${call.logLines?.length > 0 && html`<h3>Log lines</h3><${Code} label="Log lines">${call.logLines.join("\n")}<//>`}
    ${call.kind && can("functions") && html`<a class="button" href=${to(["functions", ...call.function.split("/")])}>The function</a>`}
  </div>`;
}
