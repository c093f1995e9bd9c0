// The last calls, and those that end from now on.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { admin, can, lines, query as members } from "../api.js";
import { AskedNode } from "../node.js";
import { go, to, withQuery } from "../router.js";
import { clock, number, span, time, visible } from "../text.js";
import { Badge, Code, Copy, Failed, Field, Header, html, useAsked } from "../ui.js";

/** Calls that stay on the page. */
const KEPT = 500;
/** Before a stream that broke is begun again. */
const AGAIN_MS = 2_000;

export function Calls({ query }) {
  const wanted = { function: query.get("function"), user: query.get("user"), outcome: query.get("outcome"), slowerThanMs: query.get("slower"), requestId: query.get("request") };
  const filter = members(wanted);
  const asked = useAsked(() => admin("overview"), []).value;
  const [calls, set] = useState([]);
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
    held.current = [];
    const take = (call) => {
      held.current = [call, ...held.current].slice(0, KEPT);
      // Some hundred a second are shown some times a second.
      timer ??= setTimeout(() => {
        timer = undefined;
        if (!paused.current) set(held.current);
      }, 100);
    };
    (async () => {
      while (!end.signal.aborted) {
        try {
          for await (const line of lines(`logs?follow=true&last=100&${filter}`, { signal: end.signal })) {
            fail();
            if ("lost" in line) lose((before) => before + line.lost);
            else if (!held.current.some((one) => one.requestId === line.requestId && one.time === line.time && one.function === line.function)) take(line);
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
  }, [filter]);
  const resume = () => {
    pause(!isPaused);
    if (isPaused) set(held.current);
  };
  return html`<${Header} title="Calls" lead=${`The last calls, and those that come. ${lost ? `${number(lost)} came faster than they could be shown.` : ""}`}>
      <button type="button" aria-pressed=${isPaused} onClick=${resume}>${isPaused ? "Go on" : "Pause"}</button>
    <//>
    <${AskedNode} node=${asked?.node} has="Calls" />
    <${Filters} query=${query} />
    <${Failed} error=${error} />
    ${calls.length
      ? html`<ul class="calls" aria-label="Calls">${calls.map((call) => html`<${Call} key=${`${call.requestId} ${call.time} ${call.function}`} call=${call} />`)}</ul>`
      : html`<p class="empty">${filter ? "No call fits." : "No call has ended yet."} Those that end are shown here by themselves.</p>`}`;
}

function Filters({ query }) {
  const field = (name, label, placeholder, type = "text") => html`<${Field} label=${label}>
    <input type=${type} min="0" value=${query.get(name) ?? ""} placeholder=${placeholder} autocomplete="off" spellcheck=${false}
      onChange=${(event) => go(withQuery({ [name]: event.target.value.trim() }), { replace: true })} />
  <//>`;
  return html`<div class="filters" role="search">
    ${field("function", "Function", "users/ or */getMeeting")}
    ${field("user", "User", "subject")}
    ${field("outcome", "Outcome", "ok, error or a code")}
    ${field("slower", "Slower than, ms", "100", "number")}
    ${field("request", "Request id", "")}
    ${[...query].length > 0 && html`<a class="button" href=${to(["calls"])}>Show all</a>`}
  </div>`;
}

function Call({ call }) {
  const [isOpen, open] = useState(false);
  const isGood = call.outcome === "OK";
  const who = call.subject ?? (call.deployKey ? `key ${call.deployKey}` : call.scheduled ? "scheduler" : "nobody");
  return html`<li class=${isOpen ? "open" : ""}>
    <button type="button" class="call" aria-expanded=${isOpen} onClick=${() => open(!isOpen)}>
      <span class="at">${clock(call.time)}</span>
      <${Badge} kind=${isGood ? "good" : "bad"}>${call.outcome}<//>
      <span class="path">${visible(call.function)}</span>
      <span class="who">${visible(who)}</span>
      <span class="num">${span(call.durationMs)}</span>
    </button>
    ${isOpen &&
    html`<div class="details">
      <dl>
        <dt>Ended</dt><dd>${time(call.time)}</dd>
        <dt>Request id</dt><dd><code>${visible(call.requestId)}</code> <${Copy} text=${call.requestId} label="Copy the request id" /></dd>
        <dt>Who</dt><dd>${visible(who)}${call.subject && call.deployKey ? `, by the key ${call.deployKey}` : ""}</dd>
        ${call.kind && html`<dt>Kind</dt><dd>${call.kind}</dd>`}
        ${call.error && html`<dt>What went wrong</dt><dd class="wrong">${visible(call.error)}</dd>`}
      </dl>
      ${call.logLines?.length > 0 && html`<${Code} label="Log lines">${call.logLines.join("\n")}<//>`}
      ${call.kind && can("functions") && html`<a class="button" href=${to(["functions", ...call.function.split("/")])}>The function</a>`}
    </div>`}
  </li>`;
}
