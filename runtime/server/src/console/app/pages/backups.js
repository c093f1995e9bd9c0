// Backups of the running server: what there is, and a new one.

import { useState } from "../vendor/hooks.js";
import { admin, can, download, lines } from "../api.js";
import { ago, bytes, number, visible } from "../text.js";
import { Act, Badge, Copy, Failed, Header, html, Sure, Table, Waiting, useAsked } from "../ui.js";

export function Backups() {
  const asked = useAsked(() => admin("backup"), [], 5_000);
  const [state, set] = useState({});
  const make = async () => {
    set({ at: { done: 0, total: 0 } });
    try {
      for await (const line of lines("backup", { method: "POST", body: {} })) {
        if (line.error) throw new Error(line.error);
        set(line.name ? { made: line } : { at: line });
      }
    } catch (error) {
      set({ error });
    }
    asked.again();
  };
  const isRunning = state.at || asked.value?.running;
  return html`<${Header} title="Backups" lead="Copies of the database in the data folder, each whole and checked before it has its name.">
      <button type="button" class="primary" onClick=${make} disabled=${isRunning}>Make a backup</button>
    <//>
    ${isRunning && html`<div class="banner" role="status">
      <p>${state.at ? "A backup is being made. You may leave: it is made to its end." : "A copy of the database is being made."}</p>
      ${state.at && html`<progress max=${Math.max(state.at.total, 1)} value=${state.at.done} aria-label="Pages copied"></progress> ${number(state.at.done)} of ${number(state.at.total)} pages`}
    </div>`}
    ${state.made && html`<p class="banner good" role="status"><strong>Made:</strong> ${state.made.name}, ${bytes(state.made.bytes)}</p>`}
    <${Failed} error=${state.error} />
    <${Waiting} asked=${asked}>${({ items }) => html`
      <${Table} label="Backups" head=${["Backup", "Age", "#Size", "Checked", ""]} empty="There is no backup in the data folder yet.">
        ${items.map((one) => html`<tr key=${one.name}>
          <th scope="row"><code>${visible(one.name)}</code></th><td>${ago(one.madeAt)}</td><td class="num">${bytes(one.bytes)}</td>
          <td>${one.sha256 ? html`<${Badge} kind="good">checked<//> <${Copy} text=${one.sha256} label=${`Copy the checksum of ${one.name}`}>Copy SHA-256<//>` : html`<${Badge} kind="warn">no checksum<//>`}</td>
          <td class="row">
            ${can("backup-download") && html`<${Act} does=${() => download(`backup/${one.name}`)}>Download<//>`}
            <${Sure} title="Remove the backup" question=${`${one.name} will be gone from the data folder.`} does=${async () => { await admin(`backup/${one.name}`, { method: "DELETE" }); asked.again(); }} yes="Remove it">Remove<//>
          </td></tr>`)}
      <//>`}<//>`;
}
