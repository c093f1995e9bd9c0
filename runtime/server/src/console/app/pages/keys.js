// Deploy keys and the record of their uses.

import { useState } from "../vendor/hooks.js";
import { admin, can, query as members, session } from "../api.js";
import { go, to, withQuery } from "../router.js";
import { ago, visible } from "../text.js";
import { Act, Badge, Copy, Dialog, Failed, Field, Header, html, Sure, Table, Time, Waiting, useAsked } from "../ui.js";

const DAY = 24 * 60 * 60 * 1000;
const LIVES = [["", "never"], [30 * DAY, "in 30 days"], [90 * DAY, "in 90 days"], [365 * DAY, "in a year"]];
const OVERLAPS = [[0, "immediately"], [60 * 60 * 1000, "in an hour"], [DAY, "in a day"], [7 * DAY, "in a week"]];

export function Keys({ query }) {
  const asked = useAsked(() => admin("keys"), [], 10_000);
  const [isNew, make] = useState(false);
  const [made, show] = useState();
  return html`<${Header} title="Keys" lead="A deploy key gives access from any machine, within its scopes.">
      <button type="button" class="primary" onClick=${() => make(true)}>Make a key</button>
    <//>
    ${isNew && html`<${New} close=${() => make(false)} done=${(key) => { make(false); show(key); asked.again(); }} />`}
    ${made && html`<${Made} made=${made} close=${() => show()} />`}
    <${Waiting} asked=${asked}>${(keys) => html`
      <${Table} label="Deploy keys" head=${["Key", "State", "Scopes", "Expires", "Last used", ""]} empty="There is no key yet.">
        ${keys.map((key) => html`<${Key} key=${key.name} own=${key} again=${asked.again} show=${show} />`)}
      <//>`}<//>
    <${Record} query=${query} />`;
}

function Key({ own, again, show }) {
  const [isRotating, rotate] = useState(false);
  const isMine = own.name === session.name;
  // A caller cannot give a key a scope that the caller lacks.
  const mayRotate = own.scopes.every(can);
  const revoke = async () => {
    await admin(`keys/${encodeURIComponent(own.name)}/revoke`, { method: "POST" });
    again();
  };
  return html`<tr>
    <th scope="row" class="wrap"><a href=${to(["keys"], { key: own.name })}>${own.name}</a>${isMine && html` <${Badge}>you<//>`}<span class="help block">created by ${own.createdBy}</span></th>
    <td><${Badge} kind=${own.state === "active" ? "good" : "bad"}>${own.state}<//>${own.formerSecretUntil && html`<span class="help block">former secret until <${Time} at=${own.formerSecretUntil} /></span>`}</td>
    <td class="wide">${own.scopes.map((scope) => html`<${Badge}>${scope}<//> `)}</td>
    <td>${own.expiresAt ? html`<${Time} at=${own.expiresAt} />` : "never"}</td>
    <td>${ago(own.lastUsedAt)}</td>
    <td><div class="actions">${own.state === "active" && html`
      ${mayRotate && html`<button type="button" onClick=${() => rotate(true)}>Rotate</button>`}
      <${Sure} title="Revoke the key" question=${isMine ? `${own.name} is the key you are logged in with: you will be logged out.` : `${own.name} will be rejected everywhere.`} does=${revoke} yes="Revoke it">Revoke<//>`}
      ${isRotating && html`<${Rotate} own=${own} close=${() => rotate(false)} done=${(key) => { rotate(false); show(key); again(); }} />`}</div></td>
  </tr>`;
}

function New({ close, done }) {
  const [name, write] = useState("");
  const [scopes, choose] = useState([]);
  const [expiresIn, expire] = useState("");
  const toggle = (scope) => choose(scopes.includes(scope) ? scopes.filter((own) => own !== scope) : [...scopes, scope]);
  const make = async () => done(await admin("keys", { method: "POST", body: { name, scopes, ...(expiresIn && { expiresIn: Number(expiresIn) }) } }));
  return html`<${Dialog} title="Make a key" close=${close}>
    <${Field} label="Name" help="Letters, digits, . _ -"><input type="text" value=${name} onInput=${(event) => write(event.target.value)} autocomplete="off" spellcheck=${false} /><//>
    <fieldset><legend>Scopes</legend>
      ${session.choice.map((scope) => html`<label class="check"><input type="checkbox" checked=${scopes.includes(scope.name)} disabled=${!session.scopes.includes(scope.name)} onChange=${() => toggle(scope.name)} />
        <span><strong>${scope.name}</strong> <span class="help">${scope.allows}</span></span></label>`)}
    </fieldset>
    <${Field} label="Expires"><select value=${expiresIn} onChange=${(event) => expire(event.target.value)}>${LIVES.map(([life, said]) => html`<option value=${life}>${said}</option>`)}</select><//>
    <div class="row end"><button type="button" onClick=${close}>Cancel</button><${Act} kind="primary" does=${make} disabled=${!name || scopes.length === 0}>Make it<//></div>
  <//>`;
}

function Rotate({ own, close, done }) {
  const [overlap, choose] = useState(0);
  const rotate = async () => done(await admin(`keys/${encodeURIComponent(own.name)}/rotate`, { method: "POST", body: { overlap: Number(overlap) } }));
  return html`<${Dialog} title=${`Rotate ${own.name}`} close=${close}>
    <p>The key gets a new secret.${own.name === session.name ? " You are logged in with the former secret, so your session ends with it." : ""}</p>
    <${Field} label="The former secret expires"><select value=${overlap} onChange=${(event) => choose(event.target.value)}>${OVERLAPS.map(([time, said]) => html`<option value=${time}>${said}</option>`)}</select><//>
    <div class="row end"><button type="button" onClick=${close}>Cancel</button><${Act} kind="primary" does=${rotate}>Rotate it<//></div>
  <//>`;
}

function Made({ made, close }) {
  return html`<${Dialog} title=${`The key ${made.name}`} close=${close}>
    <p>Copy the key now. It is shown only once.</p>
    <p class="secret"><code>${made.key}</code></p>
    <div class="row end"><${Copy} text=${made.key} label="Copy the key" /><button type="button" class="primary" onClick=${close}>Done</button></div>
  <//>`;
}

function Record({ query }) {
  const [key, cursor] = [query.get("key"), query.get("cursor")];
  const asked = useAsked(() => admin(`audit?${members({ key, cursor, limit: 50 })}`), [key, cursor], cursor ? undefined : 5_000);
  return html`<section>
    <div class="head"><h2>Record of uses</h2><div class="tools">
      <${Field} label="Key"><input type="text" value=${key ?? ""} placeholder="all" onChange=${(event) => go(withQuery({ key: event.target.value.trim(), cursor: null }))} autocomplete="off" spellcheck=${false} /><//>
    </div></div>
    <${Waiting} asked=${asked}>${({ items, cursor: next, unwritten }) => html`
      ${unwritten > 0 && html`<p class="failed">${unwritten} uses are only in the server's log, because too many arrived at the same time.</p>`}
      <${Table} label="Uses of keys" head=${["When", "Key", "Request", "Outcome", "As", "Address", "Request id"]} empty="No use is recorded.">
        ${items.map((one) => html`<tr><td><${Time} at=${one.at} /></td><td class="wrap">${one.key}</td><td class="wide"><code>${visible(one.what)}</code></td>
          <td><${Badge} kind=${one.outcome === "OK" ? "good" : "bad"}>${one.outcome}<//></td><td class="wrap">${visible(one.actingAs ?? "–")}</td><td>${one.peer ?? "control socket"}</td><td><code>${visible(one.requestId)}</code></td></tr>`)}
      <//>
      <div class="row">${cursor && html`<a class="button" href=${withQuery({ cursor: null })}>Newest uses</a>`}${next && html`<a class="button" href=${withQuery({ cursor: next })}>Older uses</a>`}</div>`}<//>
  </section>`;
}
