// Tables, their rows by any index, and a form for each row.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { admin, can, download, query as members } from "../api.js";
import { Json } from "../form.js";
import { go, to, useUnsaved, withQuery } from "../router.js";
import { bytes, isTime, number, plural, short, time, visible } from "../text.js";
import { Conditions, Count } from "./conditions.js";
import { Act, Copy, Failed, Field, Header, html, Sure, Table, Time, Waiting, useAsked } from "../ui.js";
import { readNumber, Unreadable, unreadable } from "../value.js";

const ROWS = 50;

export function Data({ rest, query }) {
  const asked = useAsked(() => admin("tables?estimate=true"), []);
  return html`<${Waiting} asked=${asked}>${({ tables }) => {
    if (rest.length === 0) return html`<${Tables} tables=${tables} />`;
    const [name, row] = rest;
    const table = tables.find((one) => one.name === name);
    if (!table) return html`<${Header} title=${visible(name)} /><p class="empty">There is no such table.</p>`;
    const links = new Map(tables.map((one) => [one.prefix, one]));
    if (row === undefined) return html`<${Rows} key=${name} table=${table} links=${links} query=${query} />`;
    return html`<${Row} key=${`${name}/${row}`} table=${table} links=${links} id=${row} />`;
  }}<//>`;
}

function Tables({ tables }) {
  const part = (title, own) => html`<section><h2>${title}</h2>
    <${Table} label=${title} kind="rows" head=${["Table", "#Rows", "#Bytes", "Ids begin with"]}>
      ${own.map((table) => html`<tr>
        <th scope="row"><a href=${to(["data", table.name])}>${table.name}</a></th>
        <td class="num">${table.estimated ? "≈ " : ""}${number(table.rows)}</td>
        <td class="num">${table.weighed ? "≈ " : ""}${bytes(table.bytes)}</td>
        <td><code>${table.prefix}_</code></td>
      </tr>`)}
    <//></section>`;
  return html`<${Header} title="Data" />
    ${part("Application tables", tables.filter((table) => !table.system))}
    ${part("Runtime tables (read-only)", tables.filter((table) => table.system))}`;
}

/** The content of a cell. All values are shown as text, never as markup. */
function Cell({ column, value, links }) {
  if (value === null || value === undefined) return html`<span class="null">null</span>`;
  if (column.type === "id") {
    const table = links.get(String(value).slice(0, String(value).lastIndexOf("_")));
    return table ? html`<a href=${to(["data", table.name, value])}><code>${short(value, 18)}</code></a>` : html`<code>${value}</code>`;
  }
  if ((column.time && typeof value === "number") || isTime(column.name, value)) return html`<${Time} at=${value} />`;
  if (column.type === "json") return html`<code>${short(JSON.stringify(value), 48)}</code>`;
  return short(value, 48);
}

function Rows({ table, links, query }) {
  const { name, system } = table;
  const [index, order, cursor, back] = ["index", "order", "cursor", "back"].map((member) => query.get(member));
  const wheres = query.getAll("where").filter(Boolean);
  const filter = wheres.map((where) => `&where=${encodeURIComponent(where)}`).join("");
  const wanted = members({ limit: ROWS, system, index, order: order ?? "desc", cursor, back }) + filter;
  const asked = useAsked(() => admin(`tables/${encodeURIComponent(name)}?${wanted}`), [name, wanted]);
  const change = (changes) => go(withQuery({ ...changes, cursor: null, back: null }));
  const exported = (format) => download(`tables/${encodeURIComponent(name)}/export?${members({ format, system })}`);
  return html`<p class="crumbs"><a href=${to(["data"])}>Data</a></p>
    <${Header} title=${name} lead=${`${table.estimated ? "About " : ""}${plural(table.rows, "row", "rows")}${system ? "; read-only" : ""}.`}>
      ${!system && can("data-write") && html`<a class="button primary" href=${to(["data", name, "new"])}>Add a row</a>`}
      <${Act} does=${() => exported("csv")}>Export as CSV<//>
      <${Act} does=${() => exported("jsonl")}>Export as JSON lines<//>
    <//>
    <${Conditions} columns=${asked.value?.columns ?? []} wheres=${wheres} apply=${(where) => change({ where })} />
    <${Waiting} asked=${asked}>${(page) => html`
      <div class="filters" role="search" aria-label="Order">
        <${Field} label="In the order of">
          <select value=${index ?? ""} onChange=${(event) => change({ index: event.target.value })}>
            <option value="">when they were made</option>
            ${page.indexes.map((one) => html`<option value=${one.name}>${one.name} (${one.keys.join(", ")})${one.when ? ` where ${one.when}` : ""}</option>`)}
          </select>
        <//>
        <${Field} label="First">
          <select value=${order ?? "desc"} onChange=${(event) => change({ order: event.target.value })}>
            <option value="desc">${index ? "the greatest" : "the newest"}</option><option value="asc">${index ? "the least" : "the oldest"}</option>
          </select>
        <//>
      </div>
      <${Page} key=${wanted} page=${page} table=${table} links=${links} again=${asked.again} />
      <div class="row" role="navigation" aria-label="Pages of rows">
        ${(cursor || back) && html`<a class="button" href=${withQuery({ cursor: null, back: null })}>First page</a>`}
        ${page.before && html`<a class="button" href=${withQuery({ cursor: page.before, back: true })} rel="prev">Previous rows</a>`}
        ${page.cursor && html`<a class="button" href=${withQuery({ cursor: page.cursor, back: null })} rel="next">Next rows</a>
          <a class="button" href=${withQuery({ cursor: null, back: true })}>Last page</a>`}
        <${Count} table=${table} wheres=${wheres} />
        ${wheres.length > 0 && page.lookedAt > ROWS && html`<span class="help">This page scanned ${number(page.lookedAt)} rows.</span>`}
        ${asked.isOld && html`<span class="help" role="status">Loading…</span>`}
      </div>`}<//>`;
}

function Page({ page, table, links, again }) {
  const columns = page.columns;
  const maySelect = !table.system && can("data-write");
  const [selected, select] = useState([]);
  const isAll = page.rows.length > 0 && page.rows.every((row) => selected.includes(row._id));
  const toggle = (id) => select(selected.includes(id) ? selected.filter((own) => own !== id) : [...selected, id]);
  const remove = async () => {
    await admin(`tables/${encodeURIComponent(table.name)}/delete`, { method: "POST", body: { ids: selected } });
    select([]);
    again();
  };
  const rows = plural(selected.length, "row", "rows");
  return html`${maySelect && page.rows.length > 0 && html`<div class="row">
      <label class="check"><input type="checkbox" checked=${isAll} onChange=${() => select(isAll ? [] : page.rows.map((row) => row._id))} /> <span>Select all rows of this page</span></label>
      ${selected.length > 0 && html`<${Sure} title="Delete the selected rows" question=${`${rows} of ${table.name} will be deleted. Rows that refer to them do not change.`} does=${remove} yes=${`Delete ${rows}`}>Delete ${rows}<//>`}
    </div>`}
    <${Table} label=${`Rows of ${table.name}`} kind="rows" head=${[...(maySelect ? ["Select"] : []), "_id", ...columns.map((column) => column.name), "_creationTime"]} empty=${page.cursor || page.before ? "No match among the rows that this page scanned. Continue with the next rows." : "No row."}>
    ${page.rows.map((row) => html`<tr key=${row._id}>
      ${maySelect && html`<td><input type="checkbox" aria-label=${`Select ${row._id}`} checked=${selected.includes(row._id)} onChange=${() => toggle(row._id)} /></td>`}
      <th scope="row"><a href=${to(["data", table.name, row._id])} title=${row._id}><code>…${row._id.slice(-8)}</code></a></th>
      ${columns.map((column) => html`<td class=${column.type === "integer" || column.type === "float" ? "num" : ""}><${Cell} column=${column} value=${row[column.name]} links=${links} /></td>`)}
      <td><${Time} at=${row._creationTime} /></td>
    </tr>`)}
  <//>`;
}

function Row({ table, links, id }) {
  const isNew = id === "new";
  const path = `tables/${encodeURIComponent(table.name)}?${members({ system: table.system, limit: 1, ...(isNew ? {} : { id }) })}`;
  const asked = useAsked(() => admin(path), [path]);
  const [isSaved, saved] = useState(false);
  const back = to(["data", table.name]);
  return html`<p class="crumbs"><a href=${to(["data"])}>Data</a> / <a href=${back}>${table.name}</a></p>
    <${Waiting} asked=${asked}>${(page) => {
      const row = isNew ? {} : page.rows[0];
      if (!row) return html`<${Header} title=${visible(id)} /><p class="empty">There is no such row. It may have been deleted.</p>`;
      return html`<${Form} table=${table} links=${links} columns=${page.columns} row=${row} isNew=${isNew} isSaved=${isSaved} saved=${saved} again=${asked.again} />`;
    }}<//>`;
}

/** The initial values of the form of a row. */
function begun(columns, row, isNew) {
  if (!isNew) return row;
  const first = { bool: false, integer: 0, float: 0, text: "", id: "", bytes: "", json: {} };
  return Object.fromEntries(columns.map((column) => [column.name, column.default ?? (column.nullable ? null : first[column.type])]));
}

function Form({ table, links, columns, row, isNew, isSaved, saved, again }) {
  const before = begun(columns, row, isNew);
  const [values, set] = useState(before);
  // A reset recreates the fields, because the browser keeps a text that is not a number.
  const [edition, renew] = useState(0);
  const [error, fail] = useState();
  const reset = () => {
    set(before);
    renew(edition + 1);
  };
  // The saved row in the server's form.
  const stored = useRef(row);
  useEffect(() => {
    if (JSON.stringify(stored.current) !== JSON.stringify(row)) set(before);
    stored.current = row;
  }, [row]);
  const mayWrite = !table.system && can("data-write");
  const changed = columns.filter((column) => JSON.stringify(values[column.name]) !== JSON.stringify(before[column.name]));
  const only = (from, of) => Object.fromEntries(of.map((column) => [column.name, from[column.name] ?? null]));
  const problem = unreadable(values);
  useUnsaved(mayWrite && changed.length > 0);
  const base = `tables/${encodeURIComponent(table.name)}`;
  const save = async () => {
    fail();
    saved(false);
    try {
      if (isNew) {
        const { id } = await admin(base, { method: "POST", body: { set: only(values, columns) } });
        go(to(["data", table.name, id]), { isSaved: true });
      } else {
        await admin(`${base}/${row._id}`, { method: "PATCH", body: { set: only(values, changed), was: only(before, changed) } });
        saved(true);
        again();
      }
    } catch (error) {
      fail(error);
    }
  };
  const remove = async () => {
    await admin(`${base}/${row._id}`, { method: "DELETE" });
    go(to(["data", table.name]), { isSaved: true });
  };
  return html`<${Header} title=${isNew ? `A new row of ${table.name}` : html`<code>${row._id}</code>`} lead=${isNew ? null : html`Created <${Time} at=${row._creationTime} />`}>
      ${!isNew && html`<${Copy} text=${row._id}>Copy the id<//><${Copy} text=${JSON.stringify(row, null, 2)}>Copy as JSON<//>`}
      ${!isNew && mayWrite && html`<${Sure} title="Delete the row" question=${`This deletes the row ${row._id} of ${table.name}. Rows that refer to it do not change.`} does=${remove} yes="Delete it">Delete<//>`}
    <//>
    <form class="sheet" key=${edition} onSubmit=${(event) => event.preventDefault()}>
      ${columns.map((column) => html`<${Entry} key=${column.name} column=${column} value=${values[column.name]} links=${links} isReadOnly=${!mayWrite}
        set=${(value) => set((values) => ({ ...values, [column.name]: value }))} error=${error?.field === column.name ? error.message : undefined} />`)}
    </form>
    <${Failed} error=${error} />
    ${mayWrite && html`<div class="row">
      ${isNew
        ? html`<${Sure} kind="primary" title="Add the row" question=${`A row with these values will be added to ${table.name}.`} does=${save} yes="Add it" disabled=${problem !== undefined}>Add the row<//>`
        : html`<${Sure} kind="primary" title="Change the row" question=${html`These fields will change: ${changed.map((column) => html`<code>${column.name}</code> `)}`} does=${save} yes="Change it" disabled=${changed.length === 0 || problem !== undefined}>Save<//>`}
      ${changed.length > 0 && !isNew && html`<button type="button" onClick=${reset}>Reset</button>`}
      ${problem && html`<span class="wrong" role="status">Correct the marked field to save the row.</span>`}
      ${isSaved && changed.length === 0 && html`<span class="help" role="status">Saved.</span>`}
    </div>`}`;
}

function Entry({ column, value, set, links, isReadOnly, error: refusal }) {
  const { name, type, nullable, references, choices } = column;
  const none = value === null;
  const isUnreadable = value instanceof Unreadable;
  const error = isUnreadable ? value.problem : refusal;
  const linked = typeof value === "string" && type === "id" && links.get(references ?? value.slice(0, value.lastIndexOf("_")));
  const notes = [references ? `id of ${links.get(references)?.name ?? references}` : type];
  if (typeof value === "number" && (column.time || isTime(name, value))) notes.push(time(value));
  if (nullable) notes.push("may be null");
  const label = html`<code>${name}</code>`;
  const help = html`${notes.join(", ")}${linked ? html` · <a href=${to(["data", linked.name, value])}>Show the row</a>` : ""}`;
  let input;
  if (type === "json" && !isReadOnly) {
    input = html`<${Json} label=${label} help=${help} value=${value} set=${set} empty=${null} rows=${4} error=${refusal} />`;
  } else {
    const common = { readOnly: isReadOnly, "aria-invalid": Boolean(error), autocomplete: "off", spellcheck: false };
    const text = isUnreadable ? value.text : type === "json" ? JSON.stringify(value, null, 2) : String(value ?? "");
    const isLong = type === "json" || text.length > 60 || text.includes("\n");
    const written = (event) => set(event.target.value);
    const truth = html`<select ...${common} disabled=${isReadOnly} value=${String(value)} onChange=${(event) => set(JSON.parse(event.target.value))}>
      ${(nullable || none) && html`<option value="null">null</option>`}<option value="true">true</option><option value="false">false</option></select>`;
    const amount = html`<input type="number" step=${type === "integer" ? 1 : "any"} ...${common} value=${text} placeholder=${none ? "null" : ""} onInput=${(event) => set(readNumber(event.target, null))} />`;
    const words = isLong
      ? html`<textarea rows="4" ...${common} value=${isReadOnly ? visible(text) : text} onInput=${written}></textarea>`
      : html`<input type="text" ...${common} value=${isReadOnly ? visible(text) : text} placeholder=${none ? "null" : ""} onInput=${written} />`;
    const chosen = choices && html`<select ...${common} disabled=${isReadOnly} value=${value ?? ""} onChange=${(event) => set(event.target.value || null)}>
      ${(none || !choices.includes(value)) && html`<option value=${value ?? ""}>${none ? "null" : value}</option>`}${choices.map((one) => html`<option value=${one}>${one}</option>`)}</select>`;
    const shown = chosen ?? { bool: truth, integer: amount, float: typeof value === "string" ? words : amount }[type] ?? words;
    input = html`<${Field} label=${label} help=${help} error=${error}>${shown}<//>`;
  }
  // The button disappears when the value is null: the keyboard focus moves to the field.
  const clear = (event) => {
    event.currentTarget.closest(".entry").querySelector("input, select, textarea").focus();
    set(null);
  };
  return html`<div class="entry">${input}
    ${nullable && !isReadOnly && !none && html`<button type="button" class="small" onClick=${clear} aria-label=${`Set ${name} to null`}>null</button>`}
  </div>`;
}
