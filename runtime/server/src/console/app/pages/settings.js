// The settings of the running server.

import { admin } from "../api.js";
import { go, withQuery } from "../router.js";
import { visible } from "../text.js";
import { Badge, Choice, Header, html, inline, Table, Waiting, useAsked } from "../ui.js";

export function Settings({ query }) {
  const asked = useAsked(() => admin("settings"), []);
  const wanted = (query.get("find") ?? "").toLowerCase();
  const isChanged = query.get("only") === "changed";
  return html`<${Header} title="Settings" lead="The settings of the running server. A change takes effect at the next start.">
      <input type="search" aria-label="Find a setting" placeholder="Find…" value=${query.get("find") ?? ""} onInput=${(event) => go(withQuery({ find: event.target.value }), { replace: true })} />
      <${Choice} label="Which" of=${[["", "All"], ["changed", "Changed"]]} value=${isChanged ? "changed" : ""} choose=${(only) => go(withQuery({ only }), { replace: true })} />
    <//>
    <${Waiting} asked=${asked}>${({ settings, secrets }) => {
      const found = settings.filter((one) => (!isChanged || one.from !== "default") && `${one.name} ${one.doc}`.toLowerCase().includes(wanted));
      return html`<${Table} label="Settings" kind="settings" head=${["Setting", "Value", "From", "Default"]} empty="No setting matches.">
          ${found.map((one) => html`<tr key=${one.name}>
            <th scope="row" class="wide"><code>${one.name}</code><span class="help block">${inline(one.doc)}</span></th>
            <td class="wrap">${one.value == null ? html`<span class="null">off</span>` : html`<code>${visible(one.value)}</code>`}</td>
            <td>${one.from === "default" ? html`<span class="help">default</span>` : html`<${Badge} kind="warn">${one.from}<//>`}</td>
            <td class="wrap">${one.default == null ? "–" : html`<code>${visible(one.default)}</code>`}</td></tr>`)}
        <//>
        <section><h2>Secrets</h2>
          <${Table} label="Secrets" head=${["Secret", "Where it is"]} empty="No secret is set.">
            ${secrets.map((one) => html`<tr><th scope="row"><code>${one.name}</code></th><td>${visible(one.place)}</td></tr>`)}
          <//></section>`;
    }}<//>`;
}
