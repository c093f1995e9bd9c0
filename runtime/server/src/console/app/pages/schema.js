// The tables as the code has them, how the database differs, and migrations.

import { useRef, useState } from "../vendor/hooks.js";
import { admin, can, run } from "../api.js";
import { to } from "../router.js";
import { number, visible } from "../text.js";
import { Act, Badge, Failed, Header, html, Sure, Table, Time, Waiting, useAsked } from "../ui.js";

/** Rows of one part of a migration. */
const PART = 500;
const KINDS = { finished: "good", begun: "warn", "not begun": "" };

export function Schema() {
  const asked = useAsked(() => admin("schema"), [], 5_000);
  const apply = async () => {
    await admin("schema/apply", { method: "POST" });
    asked.again();
  };
  return html`<${Header} title="Schema" />
    <${Waiting} asked=${asked}>${({ state, difference, migrations, tables }) => html`
      ${state === "open"
        ? html`<p class="banner good"><strong>The database fits the program.</strong> It has the tables, fields and indexes below.</p>`
        : html`<div class="banner bad"><strong>The store is closed: the database differs from the program.</strong> ${visible(difference)}
            <p><${Act} does=${apply}>Have it follow where it can<//></p></div>`}
      <section><h2>Migrations</h2>
        ${migrations.length
          ? migrations.map((one) => html`<${Migration} key=${one.name} one=${one} again=${asked.again} />`)
          : html`<p class="empty">There is no migration: an admin mutation in a module <code>migrations</code> is one.</p>`}
      </section>
      <section><h2>Tables</h2>${tables.map((table) => html`<${Shape} key=${table.name} table=${table} tables=${tables} />`)}</section>`}<//>`;
}

function Migration({ one, again }) {
  const [state, set] = useState({});
  const isLeft = useRef(false);
  // In parts, so that other calls come in between; it may be left at any time and goes on where it was.
  const go = async (fromTheBeginning) => {
    isLeft.current = false;
    let isFirst = fromTheBeginning;
    try {
      for (;;) {
        const { body } = await run(one.name, { limit: PART, again: isFirst });
        isFirst = false;
        if (body.status !== "success") throw Object.assign(new Error(body.errorMessage), { code: body.errorData?.code });
        set({ part: body.value, isRunning: true });
        if (body.value.finished || isLeft.current) break;
      }
      if (!isLeft.current) await admin("schema/apply", { method: "POST" });
      set((before) => ({ part: before.part }));
      again();
    } catch (error) {
      set((before) => ({ part: before.part, error }));
    }
  };
  const { done, total } = state.part ?? one;
  return html`<article class="card">
    <div class="head"><div><h3>${can("functions") ? html`<a href=${to(["functions", ...one.name.split("/")])}>${one.name}</a>` : one.name} <${Badge} kind=${KINDS[one.state]}>${one.state}<//></h3>
      <p class="help">${visible(one.doc)}</p></div>
      <div class="tools">
        ${state.isRunning
          ? html`<button type="button" onClick=${() => { isLeft.current = true; }}>Stop after this part</button>`
          : one.state === "finished"
            ? html`<${Sure} kind="" title="Run the migration again" question=${`${one.name} came to its end already. It will begin anew.`} does=${() => go(true)} yes="Run it again">Run again<//>`
            : html`<${Sure} kind="primary" title="Run the migration" question=${`${one.name} will be run to its end, in parts of ${PART} rows. You may leave: it goes on where it was when it is run again.`} does=${() => go(false)} yes="Run it">${one.state === "begun" ? "Go on" : "Run"}<//>`}
      </div></div>
    ${total != null && html`<p><progress max=${Math.max(total, 1)} value=${total ? done : 1} aria-label=${`Rows of ${one.name}`}></progress> ${number(done)} of ${number(total)} rows
      ${one.finishedAt && html`, finished <${Time} at=${one.finishedAt} />`}</p>`}
    <${Failed} error=${state.error} />
  </article>`;
}

function Shape({ table, tables }) {
  const of = (prefix) => tables.find((one) => one.prefix === prefix)?.name ?? prefix;
  return html`<details class="card" id=${table.name}>
    <summary><strong>${table.name}</strong> <span class="help">${table.columns.length} fields, ${table.indexes.length} indexes</span></summary>
    ${can("data") && html`<p><a href=${to(["data", table.name])}>Its rows</a></p>`}
    <${Table} label=${`Fields of ${table.name}`} head=${["Field", "Holds", "Null", "Older rows have"]}>
      ${table.columns.map((column) => html`<tr><th scope="row"><code>${column.name}</code></th>
        <td>${column.references ? `id of ${of(column.references)}` : column.type}</td><td>${column.nullable ? "may be" : "never"}</td>
        <td>${column.default === undefined ? "–" : html`<code>${JSON.stringify(column.default)}</code>`}</td></tr>`)}
    <//>
    <${Table} label=${`Indexes of ${table.name}`} head=${["Index", "Keys", "Unique", "Only rows where"]} empty="No index.">
      ${table.indexes.map((index) => html`<tr><th scope="row"><code>${index.name}</code></th><td>${index.keys.join(", ")}</td><td>${index.unique ? "yes" : "no"}</td><td>${index.when ?? "–"}</td></tr>`)}
    <//>
  </details>`;
}
