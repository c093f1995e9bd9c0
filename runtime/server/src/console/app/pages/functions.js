// The functions by path. Each has its documentation, its metrics and a form that runs it.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { admin, can, live, query as members, run, session } from "../api.js";
import { Plot } from "../chart.js";
import { Fields, Json, properties } from "../form.js";
import { go, to, withQuery } from "../router.js";
import { clock, number, plural, span, visible } from "../text.js";
import { Badge, Choice, Code, Copy, Failed, Field, Header, html, inline, Prose, resting, Table, Waiting, useAsked } from "../ui.js";
import { unreadable } from "../value.js";

const RANGES = [["hour", "Hour"], ["day", "Day"], ["week", "Week"]];
/** Largest number of results of a live query on the page. */
const KEPT = 20;
/** The arguments of an empty field. */
const NONE = {};

export function Functions({ rest, query }) {
  return rest.length ? html`<${One} key=${rest.join("/")} path=${rest.join("/")} query=${query} />` : html`<${All} query=${query} />`;
}

/** Functions by the folders of their paths. */
function tree(functions) {
  const root = { folders: new Map(), functions: [] };
  for (const one of functions) {
    let at = root;
    for (const part of one.path.split("/").slice(0, -1)) {
      if (!at.folders.has(part)) at.folders.set(part, { folders: new Map(), functions: [] });
      at = at.folders.get(part);
    }
    at.functions.push(one);
  }
  return root;
}

function Folder({ name, folder, figures }) {
  const inside = html`
    ${folder.functions.length > 0 &&
    html`<ul class="functions">
      ${folder.functions.map((one) => {
        const own = figures.get(one.path);
        return html`<li>
          <a href=${to(["functions", ...one.path.split("/")])}>${one.path.split("/").pop()}</a>
          <span class="kinds"><${Badge} kind=${one.kind}>${one.kind}<//>${one.visibility !== "public" && html` <${Badge}>${one.visibility}<//>`}</span>
          <span class="doc">${inline(one.doc)}</span>
          <span class="figures">${own
            ? html`<span title="in this time">${plural(own.calls, "call", "calls")}</span> <span title="95th percentile of the latency">${span(own.p95)}</span>
                <span class=${own.errors ? "wrong" : ""}>${number(own.errors)} failed</span>`
            : ""}</span>
        </li>`;
      })}
    </ul>`}
    ${[...folder.folders].map(([own, inner]) => html`<${Folder} key=${own} name=${own} folder=${inner} figures=${figures} />`)}`;
  return name == null ? inside : html`<details class="folder" open><summary>${name}/</summary>${inside}</details>`;
}

/** The orders of the list: by path, or by a metric in descending order. */
const ORDERS = [["", "Path"], ["calls", "Calls"], ["errors", "Errors"], ["p95", "p95"]];

/** A table of the called functions, in an order. */
function Ranked({ functions, figures, order }) {
  const called = functions.filter((one) => figures.has(one.path)).map((one) => ({ ...one, ...figures.get(one.path) }));
  called.sort((one, other) => other[order] - one[order] || other.calls - one.calls);
  return html`<${Table} label="Functions that were called" kind="rows" head=${["Function", "Kind", "#Calls", "#Errors", "#p50", "#p95", "#p99"]} empty="No function was called in this time.">
    ${called.map((one) => html`<tr key=${one.path}>
      <th scope="row"><a href=${to(["functions", ...one.path.split("/")])}>${one.path}</a></th>
      <td><${Badge} kind=${one.kind}>${one.kind}<//></td>
      <td class="num">${number(one.calls)}</td>
      <td class="num">${one.errors ? html`<a class="wrong" href=${to(["calls"], { function: one.path, outcome: "error" })}>${number(one.errors)}</a>` : "0"}</td>
      <td class="num">${span(one.p50)}</td><td class="num">${span(one.p95)}</td><td class="num">${span(one.p99)}</td>
    </tr>`)}
  <//>`;
}

function All({ query }) {
  const order = query.get("order") ?? "";
  const range = query.get("range") ?? (order ? "day" : "hour");
  const asked = useAsked(() => admin("functions"), []);
  const figures = useAsked(() => admin(`performance?range=${encodeURIComponent(range)}`), [range], 15_000);
  const wanted = query.get("find") ?? "";
  const by = new Map((figures.value?.functions ?? []).map((one) => [one.path, one]));
  const within = { hour: "hour", day: "24 hours", week: "7 days" }[range] ?? range;
  return html`<${Header} title="Functions" lead=${`Metrics of the last ${within}.`}>
      <${Choice} label="Order" of=${ORDERS} value=${order} choose=${(order) => go(withQuery({ order }))} />
      <${Choice} label="Over the last" of=${RANGES} value=${range} choose=${(range) => go(withQuery({ range }))} />
      <input type="search" aria-label="Find a function" placeholder="Find…" value=${wanted} onInput=${(event) => go(withQuery({ find: event.target.value }), { replace: true })} />
    <//>
    <${Waiting} asked=${asked}>${(functions) => {
      const found = functions.filter((one) => `${one.path} ${one.route ?? ""} ${one.doc}`.toLowerCase().includes(wanted.toLowerCase()));
      if (found.length && order) return figures.value ? html`<${Ranked} functions=${found} figures=${by} order=${order} />` : html`<${Failed} error=${figures.error} />`;
      return found.length ? html`<${Folder} folder=${tree(found)} figures=${by} />` : html`<p class="empty">No function matches.</p>`;
    }}<//>`;
}

function One({ path, query }) {
  const asked = useAsked(() => admin(`functions/${path.split("/").map(encodeURIComponent).join("/")}`), [path]);
  const parts = path.split("/");
  if (asked.value === undefined && asked.error) return html`<${Header} title=${visible(path)} /><${Failed} error=${asked.error} />`;
  return html`<p class="crumbs"><a href=${to(["functions"])}>Functions</a> / ${parts.slice(0, -1).join(" / ")}</p>
    <${Waiting} asked=${asked}>${(one) => html`
      <${Header} title=${parts.at(-1)}>
        <${Badge} kind=${one.kind}>${one.kind}<//><${Badge}>${one.visibility}<//>${one.rights && html`<${Badge}>rights: ${one.rights}<//>`}${one.route && html`<${Badge}>${one.route}<//>`}
        <${Copy} text=${path}>Copy the path<//>
        ${can("logs") && html`<a class="button" href=${to(["calls"], { function: path })}>Show its calls</a>`}
      <//>
      <div class="halves">
        <section>
          <${Prose} text=${one.doc || "No documentation."} level=${2} />
          ${one.crons.length > 0 && html`<p>Schedule: ${one.crons.map((cron) => html`<code>${cron}</code> `)}</p>`}
          <p class="help">${one.file}:${one.line}</p>
          <${Arguments} schema=${one.arguments} />
          <${Charts} path=${path} range=${query.get("range") ?? "hour"} />
        </section>
        ${one.route
          ? html`<section><h2>Run</h2><p class="empty">Requests reach a route by its method and path only: <code>${one.route}</code>.</p></section>`
          : one.visibility === "internal" && !can("internal")
          ? html`<section><h2>Run</h2><p class="empty">Other functions and the scheduler call an internal function. To run it here, a key needs the scope <code>internal</code>.</p></section>`
          : html`<${Runner} one=${one} />`}
      </div>`}<//>`;
}

function type(schema) {
  if (!schema || typeof schema !== "object") return "any";
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  const some = schema.anyOf ?? schema.oneOf;
  if (some) return some.map(type).join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map((one) => type({ ...schema, type: one })).join(" | ");
  if (schema.type === "array") return `array of ${type(schema.items)}`;
  return schema.type ?? "any";
}

function Arguments({ schema }) {
  const members = properties(schema);
  if (members.length === 0) return null;
  return html`<h2>Arguments</h2>
    <ul class="arguments">
      ${members.map(([name, own]) => html`<li>
        <code class="name">${name}</code> <span class="help">${type(own)}${schema.required?.includes(name) ? "" : ", optional"}</span>
        ${own.description && html`<${Prose} text=${own.description} />`}
      </li>`)}
    </ul>`;
}

function Charts({ path, range }) {
  const asked = useAsked(() => admin(`performance?${members({ range, function: path })}`), [path, range], 15_000);
  return html`<div class="head"><h2>Metrics</h2><div class="tools">
      <${Choice} label="Over the last" of=${RANGES} value=${range} choose=${(own) => go(withQuery({ range: own }), { replace: true })} />
    </div></div>
    <${Waiting} asked=${asked}>${({ buckets }) => {
      const times = buckets.map((bucket) => bucket.at);
      const sum = (name) => buckets.reduce((sum, bucket) => sum + bucket[name], 0);
      const [calls, errors] = [sum("calls"), sum("errors")];
      const latency = buckets.map((bucket) => (bucket.calls ? bucket.p95 : null));
      return html`<div class="plots small">
        <${Plot} small label=${`Calls: ${number(calls)}`} summary=${`${calls} in the last ${range}`} times=${times} unit=${number} series=${[["calls", buckets.map((one) => one.calls)]]} />
        <${Plot} small label="Latency, p95" summary=${`highest ${span(Math.max(0, ...latency))}`} times=${times} unit=${span} series=${[["p95", latency]]} />
        <${Plot} small label=${`Failed: ${number(errors)}`} summary=${`${errors} in the last ${range}`} times=${times} unit=${number} series=${[["failed", buckets.map((one) => one.errors), true]]} />
      </div>`;
    }}<//>`;
}

/** The users that the server has seen, and a function that reads them again. */
function useUsers() {
  const may = can("data") && can("act-as");
  const asked = useAsked(() => (may ? admin("tables/_identities?system=true&limit=200&order=desc") : Promise.resolve({ rows: [] })), []);
  return [(asked.value?.rows ?? []).map(({ issuer, subject }) => ({ issuer, subject })), asked.again];
}

function User({ user, set, users }) {
  const choose = (subject) => {
    const known = users.find((one) => one.subject === subject);
    set({ subject, issuer: known?.issuer ?? user.issuer });
  };
  if (!can("act-as")) return html`<p class="help">The call has no user: the key lacks the scope act-as.</p>`;
  const isMissing = user.subject !== "" && user.issuer === "";
  return html`<div class="pair">
    <${Field} label="As the user" help="Subject of the user. If it is empty, the call has no user, and a function that needs one rejects it.">
      <input type="text" list="users" value=${user.subject} onInput=${(event) => choose(event.target.value)} autocomplete="off" spellcheck=${false} />
    <//>
    <${Field} label="Issuer" error=${isMissing ? "A user needs an issuer" : undefined}>
      <input type="text" value=${user.issuer} aria-invalid=${isMissing} onInput=${(event) => set({ ...user, issuer: event.target.value })} autocomplete="off" spellcheck=${false} />
    <//>
    <datalist id="users">${users.map((one) => html`<option value=${one.subject}>${one.issuer}</option>`)}</datalist>
  </div>`;
}

/** The call as a command, for a shell. */
function curl(path, args) {
  const body = JSON.stringify({ args }).replaceAll("'", "'\\''");
  return `curl -s ${location.origin}/api/run/${path} \\\n  -H 'Content-Type: application/json' \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -d '${body}'`;
}

/** The example's values of the required arguments. */
function required({ arguments: schema, example }) {
  const names = schema.required ?? [];
  return Object.fromEntries(Object.entries(example ?? {}).filter(([name]) => names.includes(name)));
}

function Runner({ one }) {
  const [args, write] = useState(() => required(one));
  const [isRaw, raw] = useState(false);
  const [users, readUsers] = useUsers();
  const [user, act] = useState({ subject: "", issuer: session.issuer });
  const [state, set] = useState({});
  const [isWatching, watch] = useState(false);
  const problem = unreadable(args);
  const isBlocked = problem !== undefined || (user.subject !== "" && user.issuer === "");
  const call = async ({ creates = false } = {}) => {
    if (state.isBusy || isBlocked) return;
    set({ isBusy: true });
    try {
      const reply = await run(one.path, args, user, { creates });
      set({ reply: { ...reply, user } });
      if (reply.isUserCreated) readUsers();
    } catch (error) {
      set({ error });
    }
  };
  const submit = (event) => {
    event.preventDefault();
    call();
  };
  const keys = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  const failed = state.reply?.body.status !== "success" && state.reply?.body;
  const wrong = failed && failed.errorData?.field ? { field: failed.errorData.field, message: failed.errorMessage } : undefined;
  return html`<section class="runner">
    <div class="head"><h2>Run</h2><div class="tools">
      <${Choice} label="Arguments as" of=${[[false, "Form"], [true, "JSON"]]} value=${isRaw} choose=${raw} disabled=${problem !== undefined} />
    </div></div>
    <form onSubmit=${submit} onKeyDown=${keys} noValidate>
      ${isRaw
        ? html`<${Json} label="Arguments" value=${args} set=${write} empty=${NONE} isObject rows=${10} />`
        : html`<${Fields} schema=${one.arguments} value=${args} set=${write} wrong=${wrong} />`}
      <${User} user=${user} set=${act} users=${users} />
      <div class="row">
        <button type="submit" class="primary" disabled=${isBlocked} ...${resting(state.isBusy)} title="Ctrl and Enter">${state.isBusy ? "Running…" : "Run"}</button>
        ${one.kind === "query" && html`<button type="button" aria-pressed=${isWatching} disabled=${isBlocked && !isWatching} onClick=${() => watch(!isWatching)}>${isWatching ? "Stop watching" : "Watch"}</button>`}
        ${!isBlocked && html`<${Copy} text=${curl(one.path, args)}>Copy as curl<//>`}
      </div>
      ${problem && html`<p class="wrong" role="status">Correct the marked field to run the function.</p>`}
    </form>
    <${Failed} error=${state.error} />
    ${state.reply && html`<${Reply} ...${state.reply} create=${() => call({ creates: true })} />`}
    ${isWatching && !isBlocked && html`<${Watched} key=${JSON.stringify([args, user])} path=${one.path} args=${args} user=${user} />`}
  </section>`;
}

function Result({ body }) {
  return body.status === "success"
    ? html`<${Code} label="Value">${JSON.stringify(body.value, null, 2)}<//>`
    : html`<p class="failed"><strong>${body.errorData?.code ?? "ERROR"}</strong> ${visible(body.errorMessage ?? "")}</p>`;
}

function Reply({ body, elapsed, requestId, isUserCreated, user, create }) {
  return html`<div class="reply" role="status">
    <p><${Badge} kind=${body.status === "success" ? "good" : "bad"}>${body.status}<//>
      <span class="help"> ${span(elapsed)} with the round trip · request <code>${requestId}</code></span>
      ${" "}<${Copy} text=${requestId} label="Copy the request id" /></p>
    ${isUserCreated && html`<p class="banner good">The user ${visible(user.subject)} was created.</p>`}
    <${Result} body=${body} />
    ${body.errorData?.unknownUser && html`<p><button type="button" onClick=${create}>Create the user ${visible(body.errorData.unknownUser)} and run</button></p>`}
    ${body.logLines?.length > 0 && html`<h3>Log lines</h3><${Code} label="Log lines">${body.logLines.join("\n")}<//>`}
  </div>`;
}

/** The results of a live query. */
function Watched({ path, args, user }) {
  const [results, add] = useState([]);
  const [error, fail] = useState();
  const count = useRef(0);
  useEffect(() => {
    const end = new AbortController();
    (async () => {
      try {
        for await (const { result } of live(path, args, user, end.signal)) {
          count.current += 1;
          const entry = { at: Date.now(), number: count.current, result };
          add((before) => [entry, ...before].slice(0, KEPT));
        }
        fail(new Error("The server closed the connection"));
      } catch (error) {
        if (!end.signal.aborted) fail(error);
      }
    })();
    return () => end.abort();
  }, []);
  return html`<div class="reply">
    <h3>Live results <${Badge} kind=${error ? "bad" : "good"}>${error ? "ended" : "live"}<//></h3>
    <${Failed} error=${error} />
    <ol class="results">
      ${results.map((one) => html`<li key=${one.number}><span class="help">result ${one.number}, ${clock(one.at)}</span><${Result} body=${one.result} /></li>`)}
    </ol>
  </div>`;
}
