// Backups of the running server: what there is, and a new one.

import { useEffect } from "../vendor/hooks.js";
import { admin, can, download, lines } from "../api.js";
import { ago, bytes, number, visible } from "../text.js";
import { Act, Badge, Copy, Failed, Header, html, Sure, Table, Time, Waiting, useAsked } from "../ui.js";
import { useWork, work } from "../work.js";

const WORK = "backup";

async function make(tell) {
  let made;
  for await (const line of lines("backup", { method: "POST", body: {} })) {
    if (line.error) throw new Error(line.error);
    if (line.name) made = line;
    else tell(line);
  }
  if (!made) throw new Error("The server broke off before the backup was whole");
  return made;
}

export function Backups() {
  const asked = useAsked(() => admin("backup"), [], 5_000);
  const { isRunning, at, done, error } = useWork(WORK);
  useEffect(() => {
    if (!isRunning) asked.again();
  }, [isRunning]);
  const isElsewhere = !isRunning && asked.value?.running;
  return html`<${Header} title="Backups" lead="Copies of the database in the data folder, each whole and checked before it has its name.">
      <button type="button" class="primary" onClick=${() => work(WORK, make)} disabled=${isRunning || isElsewhere}>Make a backup</button>
    <//>
    ${isRunning && html`<div class="banner" role="status">
      <p>A backup is being made. You may leave: it is made to its end.</p>
      ${at && html`<progress max=${Math.max(at.total, 1)} value=${at.done} aria-label="Pages copied"></progress> ${number(at.done)} of ${number(at.total)} pages`}
    </div>`}
    ${isElsewhere && html`<p class="banner" role="status">A copy of the database is being made.</p>`}
    ${done && html`<p class="banner good" role="status"><strong>Made:</strong> ${done.name}, ${bytes(done.bytes)}</p>`}
    <${Failed} error=${error} />
    <${Waiting} asked=${asked}>${({ items }) => html`
      <${Table} label="Backups" head=${["Backup", "Made", "#Size", "Checked", ""]} empty="There is no backup in the data folder yet.">
        ${items.map((one) => html`<tr key=${one.name}>
          <th scope="row"><code>${visible(one.name)}</code></th>
          <td><${Time} at=${one.madeAt} /><span class="help block">${ago(one.madeAt)}</span></td>
          <td class="num">${bytes(one.bytes)}</td>
          <td>${one.sha256 ? html`<${Badge} kind="good">checked<//> <${Copy} text=${one.sha256} label=${`Copy the checksum of ${one.name}`}>Copy SHA-256<//>` : html`<${Badge} kind="warn">no checksum<//>`}</td>
          <td><div class="actions">
            ${can("backup-download") && html`<${Act} does=${() => download(`backup/${one.name}`)}>Download<//>`}
            <${Sure} title="Remove the backup" question=${`${one.name} will be gone from the data folder.`} does=${async () => { await admin(`backup/${one.name}`, { method: "DELETE" }); asked.again(); }} yes="Remove it">Remove<//>
          </div></td></tr>`)}
      <//>`}<//>`;
}
