// The tables of the code beside the tables of the database, and the migrations.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { admin, can, run } from "../api.js";
import { go, to, withQuery } from "../router.js";
import { number, plural, visible } from "../text.js";
import { Act, Badge, Failed, Header, html, Sure, Table, Time, Waiting, useAsked } from "../ui.js";
import { useWork, work } from "../work.js";

/** Rows of one part of a migration. */
const PART = 500;
const KINDS = { finished: "good", begun: "warn", "not begun": "" };

export function Schema({ query }) {
  const asked = useAsked(() => admin("schema"), [], 5_000);
  const apply = async () => {
    await admin("schema/apply", { method: "POST" });
    asked.again();
  };
  return html`<${Header} title="Schema" />
    <${Waiting} asked=${asked}>${({ state, difference, migrations, tables, database }) => html`
      ${state === "open"
        ? html`<p class="banner good"><strong>The database fits the program.</strong> It has the tables, fields and indexes below.</p>`
        : html`<div class="banner bad"><strong>The store is closed: the database differs from the program.</strong> ${visible(difference)}
            <p><${Act} does=${apply}>Apply the possible changes<//></p></div>`}
      <section><h2>Migrations</h2>
        ${migrations.length
          ? migrations.map((one) => html`<${Migration} key=${one.name} one=${one} again=${asked.again} />`)
          : html`<p class="empty">There is no migration: an admin mutation in a module <code>migrations</code> is one.</p>`}
      </section>
      <${Tables} tables=${beside(tables, database)} query=${query} />`}<//>`;
}

/** Migrations that stop after the current part. */
const stopped = new Set();

/** Runs a migration in parts, so that other calls run between them. It can stop after each part and continue later. */
async function migrate(name, fromTheBeginning, tell) {
  stopped.delete(name);
  let isFirst = fromTheBeginning;
  for (;;) {
    const { body } = await run(name, { limit: PART, again: isFirst });
    isFirst = false;
    if (body.status !== "success") throw Object.assign(new Error(body.errorMessage), { code: body.errorData?.code });
    tell(body.value);
    if (body.value.finished) break;
    if (stopped.has(name)) return;
  }
  await admin("schema/apply", { method: "POST" });
}

function Migration({ one, again }) {
  const { isRunning, at, error } = useWork(one.name);
  const begin = async (fromTheBeginning) => {
    // The dialog closes while the migration runs.
    work(one.name, (tell) => migrate(one.name, fromTheBeginning, tell)).then(again);
  };
  const { done, total } = (isRunning && at) || one;
  return html`<article class="card">
    <div class="head"><div><h3>${can("functions") ? html`<a href=${to(["functions", ...one.name.split("/")])}>${one.name}</a>` : one.name} <${Badge} kind=${KINDS[one.state]}>${one.state}<//></h3>
      <p class="help">${visible(one.doc)}</p></div>
      <div class="tools">
        ${isRunning
          ? html`<button type="button" onClick=${() => stopped.add(one.name)}>Stop after this part</button>`
          : one.state === "finished"
            ? html`<${Sure} kind="" title="Run the migration again" question=${`${one.name} has finished. It will start again from the beginning.`} does=${() => begin(true)} yes="Run it again">Run again<//>`
            : html`<${Sure} kind="primary" title="Run the migration" question=${`${one.name} runs to its end in parts of ${PART} rows. You can use other pages meanwhile. If this tab is closed, the next run continues where this one stopped.`} does=${() => begin(false)} yes="Run it">${one.state === "begun" ? "Continue" : "Run"}<//>`}
      </div></div>
    ${total != null && html`<p><progress max=${Math.max(total, 1)} value=${total ? done : 1} aria-label=${`Rows of ${one.name}`}></progress> ${number(done)} of ${number(total)} rows
      ${one.finishedAt && html`, finished <${Time} at=${one.finishedAt} />`}</p>`}
    <${Failed} error=${error} />
  </article>`;
}

/** Two lists as one by name: of each what the code has and what the database has, either of which may be missing. */
function pairs(code = [], database = []) {
  const held = new Map(database.map((one) => [one.name, one]));
  const both = code.map((one) => ({ name: one.name, code: one, held: held.get(one.name) }));
  const known = new Set(code.map((one) => one.name));
  return [...both, ...database.filter((one) => !known.has(one.name)).map((one) => ({ name: one.name, held: one }))];
}

const same = (code, held) =>
  code.type === held.type && (code.references ?? null) === (held.references ?? null) && code.nullable === held.nullable;

/** The difference between the two; null if there is none. */
function judged({ code, held }, isSame) {
  if (!held) return ["bad", "not in the database"];
  if (!code) return held.retired ? ["", "retired"] : ["bad", "not in the code"];
  return isSame(code, held) ? null : ["bad", "differs"];
}

function beside(tables, database) {
  return pairs(tables, database).map((table) => {
    const columns = pairs(table.code?.columns, table.held?.columns).map((one) => ({ ...one, says: judged(one, same) }));
    const indexes = pairs(table.code?.indexes, table.held?.indexes).map((one) => ({ ...one, says: judged(one, (_, held) => held.asInCode) }));
    const differs = [...columns, ...indexes].some(({ says }) => says?.[0] === "bad");
    const own = judged(table, () => !differs && table.code.prefix === table.held.prefix);
    return { ...table, columns, indexes, says: own };
  });
}

function Tables({ tables, query }) {
  // The address names the open table.
  const opened = query.get("table");
  const prefixes = new Map(tables.map((table) => [(table.code ?? table.held).prefix, table.name]));
  const part = (title, own) => own.length > 0 && html`<section><h2>${title}</h2>
    ${own.map((table) => html`<${Both} key=${table.name} table=${table} prefixes=${prefixes} isWanted=${opened === table.name} isOpen=${opened === table.name || (opened === null && table.says !== null)} />`)}</section>`;
  return html`
    ${part("Tables", tables.filter(({ name }) => !name.startsWith("_")))}
    ${part("Runtime tables", tables.filter(({ name }) => name.startsWith("_")))}`;
}

const Says = ({ says }) => (says ? html`<${Badge} kind=${says[0]}>${says[1]}<//>` : html`<span class="help">the same</span>`);

function Both({ table, prefixes, isWanted, isOpen }) {
  const place = useRef();
  const [wasOpen, opened] = useState(isOpen);
  const holds = (one) => {
    if (!one) return html`<span class="null">–</span>`;
    const what = one.references ? `id of ${prefixes.get(one.references) ?? one.references}` : one.type;
    return `${what}${one.nullable ? ", may be null" : ""}`;
  };
  const toggled = ({ target }) => {
    opened(target.open);
    if (target.open !== isOpen) go(withQuery({ table: target.open ? table.name : null }), { replace: true });
  };
  const inCode = (index) => html`${index.keys.join(", ")}${index.unique ? html` <${Badge}>unique<//>` : ""}${index.when ? html`<span class="help block">where ${index.when}</span>` : ""}`;
  useEffect(() => {
    if (isWanted) place.current.scrollIntoView({ block: "nearest" });
  }, []);
  const { code, held } = table;
  return html`<details class="card" ref=${place} open=${wasOpen} onToggle=${toggled}>
    <summary><strong>${table.name}</strong> <span class="help">${plural(table.columns.length, "field", "fields")}, ${plural(table.indexes.length, "index", "indexes")}</span> ${table.says && html`<${Says} says=${table.says} />`}</summary>
    ${wasOpen && html`
      <p class="help">Its ids begin with <code>${(held ?? code).prefix}_</code>${held && code && held.prefix !== code.prefix ? html`, in the code with <code>${code.prefix}_</code>` : ""}.
        ${can("data") && code && held && html` <a href=${to(["data", table.name])}>Show rows</a>`}</p>
      <${Table} label=${`Fields of ${table.name}`} head=${["Field", "In the code", "In the database", "Default for older rows", "Comparison"]} empty="No field.">
        ${table.columns.map((one) => html`<tr key=${one.name}><th scope="row"><code>${one.name}</code></th>
          <td>${holds(one.code)}</td><td>${holds(one.held)}</td>
          <td>${one.code?.default === undefined ? "–" : html`<code>${JSON.stringify(one.code.default)}</code>`}</td>
          <td><${Says} says=${one.says} /></td></tr>`)}
      <//>
      <${Table} label=${`Indexes of ${table.name}`} head=${["Index", "In the code", "In the database", "Comparison"]} empty="No index.">
        ${table.indexes.map((one) => html`<tr key=${one.name}><th scope="row"><code>${one.name}</code></th>
          <td>${one.code ? inCode(one.code) : html`<span class="null">–</span>`}</td>
          <td class="wide">${one.held ? html`<code>${one.held.text}</code>` : html`<span class="null">–</span>`}</td>
          <td><${Says} says=${one.says} /></td></tr>`)}
      <//>`}
  </details>`;
}
