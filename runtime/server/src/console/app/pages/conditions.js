// Conditions on the rows of a table, and the number of matching rows.

import { useEffect, useRef, useState } from "../vendor/hooks.js";
import { admin, query as members } from "../api.js";
import { number, plural } from "../text.js";
import { Failed, Field, html } from "../ui.js";

/** The comparisons, each with its sign in requests and on the page. */
const SIGNS = [["=", "="], ["!=", "≠"], ["<", "<"], ["<=", "≤"], [">", ">"], [">=", "≥"], ["~", "contains"]];
const CREATED = { name: "_creationTime", type: "integer", time: true };

/** Parses a condition in the address. */
function apart(text) {
  const [, field = "", sign = "=", value = ""] = text.match(/^(\w*)\s*(!=|<=|>=|=|<|>|~)?([^]*)$/) ?? [];
  return { field, sign, value };
}

const joined = ({ field, sign, value }) => `${field}${sign}${value}`;

/** Converts a time between the server's form and that of the browser's field. */
const local = (ms) => {
  const at = new Date(Number(ms));
  return Number.isNaN(at.getTime()) || ms === "" ? "" : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
};
const remote = (text) => (text === "" ? "" : String(new Date(text).getTime()));

/** A form of conditions, one per line. It takes effect when it is applied. */
export function Conditions({ columns, wheres, apply }) {
  const [lines, set] = useState(() => wheres.map(apart));
  const place = useRef();
  // The address has changed by other means, for example the back button.
  const given = wheres.join("\n");
  useEffect(() => {
    set((lines) => (lines.filter(({ value }) => value !== "").map(joined).join("\n") === given ? lines : wheres.map(apart)));
  }, [given]);
  const fields = [...columns, CREATED];
  const change = (line, more) => set(lines.map((own, number) => (number === line ? { ...own, ...more } : own)));
  const complete = (lines) => lines.filter(({ field, value }) => field && value !== "").map(joined);
  const submit = (event) => {
    event.preventDefault();
    apply(complete(lines));
  };
  const remove = (line) => {
    const rest = lines.filter((_, number) => number !== line);
    set(rest);
    apply(complete(rest));
    place.current?.querySelector("button.add")?.focus();
  };
  const add = () => set([...lines, { field: fields[0].name, sign: "=", value: "" }]);
  return html`<form class="conditions" role="search" aria-label="Conditions" onSubmit=${submit} ref=${place}>
    ${lines.map((line, number) => html`<div class="condition" role="group" aria-label=${`Condition ${number + 1}`} key=${number}>
      <${Field} label="Field"><select value=${line.field} onChange=${(event) => change(number, { field: event.target.value, value: "" })}>
        ${fields.map(({ name }) => html`<option value=${name}>${name}</option>`)}
        ${fields.every(({ name }) => name !== line.field) && html`<option value=${line.field}>${line.field || "–"}</option>`}
      </select><//>
      <${Field} label="Comparison"><select value=${line.sign} onChange=${(event) => change(number, { sign: event.target.value })}>
        ${SIGNS.map(([sign, said]) => html`<option value=${sign}>${said}</option>`)}
      </select><//>
      <${Field} label="Value"><${Value} column=${fields.find(({ name }) => name === line.field)} line=${line} set=${(value) => change(number, { value })} /><//>
      <button type="button" onClick=${() => remove(number)} aria-label=${`Remove condition ${number + 1}`}>Remove</button>
    </div>`)}
    <div class="row">
      <button type="button" class="add" onClick=${add} disabled=${columns.length === 0}>Add a condition</button>
      ${lines.length > 0 && html`<button type="submit" class="primary">Apply</button>`}
    </div>
  </form>`;
}

function Value({ column, line, set }) {
  const change = (event) => set(event.target.value);
  const choices = column?.choices ?? (column?.type === "bool" ? ["true", "false"] : undefined);
  if (choices && line.sign !== "~") {
    const all = column.nullable ? [...choices, "null"] : choices;
    return html`<select value=${line.value} onChange=${change}>
      <option value="">–</option>${all.map((one) => html`<option value=${one}>${one}</option>`)}
    </select>`;
  }
  if (column?.time && line.sign !== "~") {
    return html`<input type="datetime-local" step="1" value=${local(line.value)} onInput=${(event) => set(remote(event.target.value))} />`;
  }
  return html`<input type="text" value=${line.value} onInput=${change} autocomplete="off" spellcheck=${false} />`;
}

/** Counts rows in parts until it is stopped. */
export function Count({ table, wheres }) {
  const [state, set] = useState({});
  const end = useRef();
  const filter = wheres.map((where) => `&where=${encodeURIComponent(where)}`).join("");
  useEffect(() => {
    set({});
    return () => end.current?.abort();
  }, [filter]);
  const count = async () => {
    const own = new AbortController();
    end.current = own;
    let [found, seen, cursor] = [0, 0, undefined];
    set({ isRunning: true, found, seen });
    try {
      do {
        const part = await admin(`tables/${encodeURIComponent(table.name)}/count?${members({ system: table.system, cursor })}${filter}`, { signal: own.signal });
        [found, seen, cursor] = [found + part.count, seen + part.lookedAt, part.cursor];
        if (!own.signal.aborted) set({ isRunning: Boolean(cursor), found, seen });
      } while (cursor && !own.signal.aborted);
    } catch (error) {
      if (!own.signal.aborted) set({ error, found, seen });
    }
  };
  const stop = () => {
    end.current?.abort();
    set({ ...state, isRunning: false, isStopped: true });
  };
  const said = wheres.length ? `${plural(state.found, "row matches", "rows match")}` : plural(state.found, "row", "rows");
  return html`<span class="count">
    ${state.isRunning
      ? html`<button type="button" onClick=${stop}>Stop the count</button>`
      : html`<button type="button" onClick=${count}>Count ${wheres.length ? "the matching rows" : "all rows"}</button>`}
    ${state.seen !== undefined && html`<span class="help" role="status">${state.isRunning ? `${said} so far; ${number(state.seen)} of about ${number(table.rows)} read` : `${said}${state.isStopped ? ` among the first ${number(state.seen)}` : "."}`}</span>`}
    <${Failed} error=${state.error} />
  </span>`;
}
