// Secrets by name. Their values come in and never go out.

import { useState } from "../vendor/hooks.js";
import { admin } from "../api.js";
import { AskedNode } from "../node.js";
import { visible } from "../text.js";
import { Failed, Field, Header, html, Sure, Table, Waiting, useAsked } from "../ui.js";

export function Secrets() {
  const asked = useAsked(() => admin("secrets"), []);
  return html`<${Header} title="Secrets" lead="Keys and passwords that functions use. A change takes effect at the next use, without a restart. Values are never shown." />
    <${Waiting} asked=${asked}>${({ items, node }) => html`
      <${AskedNode} node=${node} has="Secrets" />
      <${Table} label="Secrets" head=${["Secret", "Set by", "Change"]} empty="No secret is set.">
        ${items.map((one) => html`<${Secret} key=${one.name} one=${one} again=${asked.again} />`)}
      <//>
      <${Set} names=${items.filter((one) => one.own).map((one) => one.name)} again=${asked.again} />`}<//>`;
}

function Secret({ one, again }) {
  const remove = async () => {
    await admin(`secrets/${encodeURIComponent(one.name)}`, { method: "DELETE" });
    again();
  };
  return html`<tr>
    <th scope="row"><code>${visible(one.name)}</code></th>
    <td class="wrap">${visible(one.place)}</td>
    <td>${one.own
      ? html`<div class="actions"><${Sure} title="Remove the secret" question=${`Functions that use ${one.name} will fail until it is set again.`} does=${remove} yes="Remove it">Remove<//></div>`
      : html`<span class="help">The environment sets it.</span>`}</td>
  </tr>`;
}

function Set({ names, again }) {
  const [name, write] = useState("");
  const [value, type] = useState("");
  const [state, set] = useState({});
  const fits = /^[A-Z0-9_]{1,64}$/.test(name);
  const save = async (event) => {
    event.preventDefault();
    set({ isBusy: true });
    try {
      const { restart } = await admin(`secrets/${encodeURIComponent(name)}`, { method: "POST", body: { value } });
      set({ done: `${name} was set.${restart ? " The server reads it at its next start." : ""}` });
      type("");
      again();
    } catch (error) {
      set({ error });
    }
  };
  return html`<section><h2>Set a secret</h2>
    <form class="sheet" onSubmit=${save}>
      <${Field} label="Name" help="A-Z, 0-9 and _" error=${name && !fits ? "Use A-Z, 0-9 and _, at most 64 characters" : undefined}>
        <input type="text" list="secret-names" value=${name} onInput=${(event) => write(event.target.value.trim())} autocomplete="off" spellcheck=${false} />
      <//>
      <datalist id="secret-names">${names.map((one) => html`<option value=${one} />`)}</datalist>
      <${Field} label="Value" help="It replaces the present value, if there is one">
        <input type="password" value=${value} onInput=${(event) => type(event.target.value)} autocomplete="new-password" spellcheck=${false} />
      <//>
      <div class="row"><button type="submit" class="primary" disabled=${!fits || !value || state.isBusy}>Set it</button>
        ${state.done && html`<span class="help" role="status">${state.done}</span>`}</div>
    </form>
    <${Failed} error=${state.error} />
  </section>`;
}
