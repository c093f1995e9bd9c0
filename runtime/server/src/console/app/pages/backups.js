// Backups in the data folder of the running server: the list, a new one, the schedule, and how to restore one.

import { useEffect, useState } from "../vendor/hooks.js";
import { admin, can, download, lines } from "../api.js";
import { ago, bytes, number, plural, visible } from "../text.js";
import { Act, Badge, Code, Copy, Dialog, Failed, Header, html, Sure, Table, Time, Waiting, useAsked } from "../ui.js";
import { useWork, work } from "../work.js";

const WORK = "backup";

async function make(tell) {
  let made;
  for await (const line of lines("backup", { method: "POST", body: {} })) {
    if (line.error) throw new Error(line.error);
    if (line.name) made = line;
    else tell(line);
  }
  if (!made) throw new Error("The server closed the connection before the backup was complete");
  return made;
}

export function Backups() {
  const asked = useAsked(() => admin("backup"), [], 5_000);
  const { isRunning, at, done, error } = useWork(WORK);
  useEffect(() => {
    if (!isRunning) asked.again();
  }, [isRunning]);
  const isElsewhere = !isRunning && asked.value?.running;
  return html`<${Header} title="Backups" lead="Copies of the database in the data folder. A copy is listed when it is complete and checked.">
      <button type="button" class="primary" onClick=${() => work(WORK, make)} disabled=${isRunning || isElsewhere}>Make a backup</button>
    <//>
    ${isRunning && html`<div class="banner" role="status">
      <p>A backup is being made. It continues if you leave this page.</p>
      ${at && html`<progress max=${Math.max(at.total, 1)} value=${at.done} aria-label="Pages copied"></progress> ${number(at.done)} of ${number(at.total)} pages`}
    </div>`}
    ${isElsewhere && html`<p class="banner" role="status">A copy of the database is being made.</p>`}
    ${done && html`<p class="banner good" role="status"><strong>Made:</strong> ${done.name}, ${bytes(done.bytes)}</p>`}
    ${done?.lacking && html`<p class="banner bad" role="alert"><strong>The server lacks files, and so does this backup:</strong> ${visible(done.lacking)}. Copy them from the folder <code>.files</code> of an earlier backup to the folder of files.</p>`}
    <${Failed} error=${error} />
    <${Waiting} asked=${asked}>${({ items, schedule, folder, copies, following }) => html`
      ${following ? html`<${Following} following=${following} />` : html`<${Copies} copies=${copies} />`}
      <${Schedule} schedule=${schedule} folder=${folder} />
      <${Table} label="Backups" head=${["Backup", "Made", "#Size", "Checked", "Actions"]} empty="There is no backup in the folder yet.">
        ${items.map((one) => html`<tr key=${one.name}>
          <th scope="row"><code>${visible(one.name)}</code></th>
          <td><${Time} at=${one.madeAt} /><span class="help block">${ago(one.madeAt)}</span></td>
          <td class="num">${bytes(one.bytes)}</td>
          <td>${one.sha256 ? html`<${Badge} kind="good">checked<//> <${Copy} text=${one.sha256} label=${`Copy the checksum of ${one.name}`}>Copy SHA-256<//>` : html`<${Badge} kind="warn">no checksum<//>`}</td>
          <td><div class="actions">
            ${can("backup-download") && html`<${Act} does=${() => download(`backup/${one.name}`)}>Download<//>`}
            <${Restore} name=${one.name} disabled=${isRunning || isElsewhere} />
            <${Sure} title="Remove the backup" question=${`This deletes ${one.name} from the data folder.`} does=${async () => { await admin(`backup/${one.name}`, { method: "DELETE" }); asked.again(); }} yes="Remove it">Remove<//>
          </div></td></tr>`)}
      <//>`}<//>`;
}

function Copies({ copies }) {
  if (!copies) return html`<p class="help">Changes between two backups are not copied: set <code>to</code> in the section <code>[copy]</code> of the settings.</p>`;
  const { to, generation, commit, copiedAt, commitsBehind, isMakingSnapshot, error } = copies;
  return html`${error && html`<p class="banner bad" role="alert"><strong>The database is not copied</strong> to <code>${visible(to)}</code>: ${visible(error)}</p>`}
    ${isMakingSnapshot && html`<p class="banner" role="status">A snapshot of the database is being stored in <code>${visible(to)}</code>.</p>`}
    <p class="help">Every change is copied to <code>${visible(to)}</code>${generation !== null && html`, generation ${number(generation)}, commit ${number(commit)}`}.
      ${copiedAt !== null ? html` Complete up to <${Time} at=${copiedAt} />` : " Nothing is copied yet"}${commitsBehind > 0 && html`; ${plural(commitsBehind, "commit is", "commits are")} not copied`}.</p>`;
}

function Following({ following }) {
  const { from, generation, commit, copiedAt, caughtUpAt, error } = following;
  return html`${error && html`<p class="banner bad" role="alert"><strong>The copies cannot be followed</strong> in <code>${visible(from)}</code>: ${visible(error)}</p>`}
    <p class="help">This server follows the copies in <code>${visible(from)}</code> and answers queries only: generation ${number(generation)}, commit ${number(commit)}${copiedAt !== null && html`, copied <${Time} at=${copiedAt} />`}.
      ${caughtUpAt !== null ? html` It had all copies <${Time} at=${caughtUpAt} />` : " It has not caught up yet"}. <code>convoke promote</code> lets it accept changes.</p>`;
}

function Schedule({ schedule, folder }) {
  const place = html`The folder is <code>${visible(folder)}</code>.`;
  if (!schedule) return html`<p class="help">No backups are scheduled: set <code>every</code> in the section <code>[backup]</code> of the settings. ${place}</p>`;
  return html`${schedule.failed && html`<p class="banner bad" role="alert"><strong>The last scheduled backup failed</strong> <${Time} at=${schedule.failed.at} />: ${visible(schedule.failed.error)}</p>`}
    <p class="help">The server makes a backup every ${visible(schedule.every)} and keeps the last ${number(schedule.keep)}. ${place}</p>`;
}

/** Verifies a backup and shows the command that restores it. A running server cannot restore: calls, live queries and jobs use its database. */
function Restore({ name, disabled }) {
  const [isOpen, open] = useState(false);
  return html`<button type="button" onClick=${() => open(true)} disabled=${disabled}>Restore</button>
    ${isOpen && html`<${Verified} name=${name} close=${() => open(false)} />`}`;
}

function Verified({ name, close }) {
  const [state, set] = useState({});
  const verify = async () => {
    set({ isRunning: true });
    try {
      for await (const line of lines(`backup/${name}/verify`, { method: "POST", body: {} })) {
        if (line.error) throw new Error(line.error);
        set(line.verified ? { done: line } : { isRunning: true, at: line });
      }
    } catch (error) {
      set({ error });
    }
  };
  const { isRunning, at, done, error } = state;
  return html`<${Dialog} title="Restore a backup" close=${close}>
    <p>${visible(name)} replaces the database when the server is stopped. What was written since is then only in the former database, which stays beside it.</p>
    <p>First, the server verifies the backup: its checksum, and every page and index.</p>
    ${isRunning && html`<p role="status"><progress max=${Math.max(at?.total ?? 1, 1)} value=${at?.done ?? 0} aria-label="Bytes verified"></progress> Verifying…</p>`}
    ${done && html`<div role="status"><p><${Badge} kind="good">verified<//> ${done.schema.refused.length
        ? `Its schema does not fit this program: ${done.schema.refused.join("; ")}. The program will serve the operator only until it is migrated.`
        : done.schema.pending ? `At the next start the program makes ${plural(done.schema.pending, "change", "changes")} to its schema.` : "Its schema fits this program."}</p>
      <p>Run these on the machine of the server, with the command that stops and starts your service (process ${done.pid}):</p>
      <${Code} label="Commands">${`systemctl stop convoke\n${done.command}\nsystemctl start convoke`}<//>
      <${Copy} text=${done.command}>Copy the restore command<//></div>`}
    <${Failed} error=${error} />
    <div class="row end"><button type="button" onClick=${close}>Close</button>
      ${!done && html`<button type="button" class="primary" onClick=${verify} disabled=${isRunning}>Verify</button>`}</div>
  <//>`;
}
