// The parts that all pages are made of.

import { h } from "./vendor/preact.js";
import { useEffect, useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";
import { Refusal } from "./api.js";
import { ago, time, visible } from "./text.js";

export const html = htm.bind(h);

/** How soon a busy server is asked again; the next time, twice as late. */
const BUSY_MS = 1_000;

/** Asks for something now and, every `every` ms, again while the page is looked at. What a busy server refuses is asked again soon. */
export function useAsked(ask, inputs, every) {
  const [state, set] = useState({});
  const [turn, again] = useState(0);
  useEffect(() => {
    let isOver = false;
    let soon;
    let pause = BUSY_MS;
    let isMissed = false;
    const look = async () => {
      isMissed = document.hidden;
      if (isMissed) return;
      try {
        const value = await ask();
        if (!isOver) set({ value });
      } catch (error) {
        if (isOver) return;
        set((before) => ({ value: before.value, error }));
        if (every || !error.passes) return;
        soon = setTimeout(look, pause);
        pause *= 2;
      }
    };
    set((before) => ({ value: before.value, isOld: true }));
    look();
    const timer = every && setInterval(look, every);
    // A page that was opened behind others asks once it is looked at.
    const shown = () => isMissed && look();
    document.addEventListener("visibilitychange", shown);
    return () => {
      isOver = true;
      document.removeEventListener("visibilitychange", shown);
      clearInterval(timer);
      clearTimeout(soon);
    };
  }, [...inputs, turn]);
  return { ...state, again: () => again((turn) => turn + 1) };
}

export function useTitle(title) {
  useEffect(() => {
    document.title = `${title} · Convoke`;
  }, [title]);
}

export function Header({ title, children, lead }) {
  useTitle(typeof title === "string" ? title : "Console");
  return html`<header class="head">
    <div><h1 tabindex="-1">${title}</h1>${lead && html`<p class="lead">${lead}</p>`}</div>
    <div class="tools">${children}</div>
  </header>`;
}

export function Failed({ error }) {
  if (!error) return null;
  const code = error instanceof Refusal ? error.code : "ERROR";
  return html`<p class="failed" role="alert"><strong>${code}</strong> ${visible(error.message)}</p>`;
}

/** What is there once it is there, and what went wrong if it is not. */
export function Waiting({ asked, children }) {
  if (asked.value !== undefined) return html`<${Failed} error=${asked.error} />${children(asked.value)}`;
  return asked.error ? html`<${Failed} error=${asked.error} />` : html`<p class="wait" role="status">Loading…</p>`;
}

export function Time({ at }) {
  if (at == null) return "–";
  return html`<time datetime=${new Date(at).toISOString()} title=${ago(at)}>${time(at)}</time>`;
}

export function Code({ children, label }) {
  return html`<pre class="code" tabindex="0" aria-label=${label}>${visible(children)}</pre>`;
}

export function Badge({ kind, children }) {
  return html`<span class="badge ${kind ?? ""}">${children}</span>`;
}

/** A button that shows that it is at work, and what went wrong. */
export function Act({ does, children, kind = "", title, disabled }) {
  const [state, set] = useState({});
  const click = async () => {
    set({ isBusy: true });
    try {
      await does();
      set({});
    } catch (error) {
      set({ error });
    }
  };
  return html`<span class="act">
    <button type="button" class=${kind} title=${title} onClick=${click} disabled=${disabled || state.isBusy}>${children}</button>
    <${Failed} error=${state.error} />
  </span>`;
}

export function Copy({ text, children = "Copy", label }) {
  const [isDone, set] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Over plain HTTP from another name a page has no clipboard.
      const area = Object.assign(document.createElement("textarea"), { value: text, className: "off" });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    set(true);
    setTimeout(() => set(false), 1500);
  };
  return html`<button type="button" class="small" onClick=${copy} aria-label=${label}>${isDone ? "Copied" : children}</button>`;
}

/** A question before something is done that cannot be undone. */
export function Dialog({ title, close, children }) {
  const dialog = useRef();
  useEffect(() => {
    // Closed while it is still there, it hands the keyboard back to where it was.
    const own = dialog.current;
    own.showModal();
    return () => own.close();
  }, []);
  return html`<dialog ref=${dialog} aria-label=${title} onClose=${close}>
    <h2>${title}</h2>
    ${children}
  </dialog>`;
}

/** A button that asks first. */
export function Sure({ title, question, does, children, kind = "danger", yes = children, disabled }) {
  const [isAsked, ask] = useState(false);
  const close = () => ask(false);
  const done = async () => {
    await does();
    close();
  };
  return html`<button type="button" class=${kind} onClick=${() => ask(true)} disabled=${disabled}>${children}</button>
    ${isAsked &&
    html`<${Dialog} title=${title} close=${close}>
      <p>${question}</p>
      <div class="row end">
        <button type="button" onClick=${close}>Keep it as it is</button>
        <${Act} kind=${kind} does=${done}>${yes}<//>
      </div>
    <//>`}`;
}

/**
 * A table. On a narrow screen each row is a card whose cells are named by the head, or, with the kind `rows`, the table
 * scrolls by itself.
 */
export function Table({ label, head, children, empty, kind = "" }) {
  const place = useRef();
  useLayoutEffect(() => {
    for (const row of place.current?.tBodies[0].rows ?? []) {
      [...row.cells].forEach((cell, number) => (cell.dataset.name = head[number]?.replace(/^#/, "") ?? ""));
    }
  });
  const rows = Array.isArray(children) ? children.flat().filter(Boolean) : children;
  if (Array.isArray(rows) && rows.length === 0) return html`<p class="empty">${empty ?? "Nothing here."}</p>`;
  return html`<div class=${`scroll ${kind}`} tabindex="0" role="region" aria-label=${label}>
    <table ref=${place}>
      <thead><tr>${head.map((name) => html`<th scope="col" class=${/^[#]/.test(name) ? "num" : ""}>${name.replace(/^#/, "")}</th>`)}</tr></thead>
      <tbody>${rows}</tbody>
    </table>
  </div>`;
}

export function Field({ label, help, children, error }) {
  return html`<label class="field">
    <span class="name">${label}</span>
    ${children}
    ${help && html`<span class="help">${typeof help === "string" ? inline(help) : help}</span>`}
    ${error && html`<span class="wrong" role="alert">${visible(error)}</span>`}
  </label>`;
}

/** Choices of which one holds. */
export function Choice({ label, of, value, choose }) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${of.map(
      ([own, name]) =>
        html`<button type="button" aria-pressed=${own === value} onClick=${() => choose(own)}>${name}</button>`,
    )}
  </div>`;
}

/** A line of prose: what stands between backticks is code. Everything is text. */
export function inline(line) {
  return visible(line)
    .replace(/\s+/g, " ")
    .replace(/\[(`[^`]+`)\](\([^)]*\))?/g, "$1")
    .split("`")
    .map((part, place) => (place % 2 ? html`<code>${part}</code>` : part));
}

/** A doc comment: paragraphs, headings and lists. */
export function Prose({ text }) {
  const blocks = [];
  let isOpen = false;
  for (const line of text.split("\n")) {
    const last = blocks.at(-1);
    const item = line.match(/^\s*[-*] (.*)/);
    const heading = line.match(/^#+ (.*)/);
    if (line.trim() === "") isOpen = false;
    else if (heading) blocks.push({ kind: "h3", text: heading[1] });
    else if (item && last?.kind === "ul") last.items.push(item[1]);
    else if (item) blocks.push({ kind: "ul", items: [item[1]] });
    else if (isOpen && last?.kind === "ul") last.items[last.items.length - 1] += ` ${line.trim()}`;
    else if (isOpen && last?.kind === "p") last.text += ` ${line.trim()}`;
    else blocks.push({ kind: "p", text: line });
    if (line.trim() !== "") isOpen = !heading;
  }
  return html`<div class="prose">
    ${blocks.map(({ kind, text, items }) => {
      if (kind === "ul") return html`<ul>${items.map((item) => html`<li>${inline(item)}</li>`)}</ul>`;
      return kind === "h3" ? html`<h3>${text}</h3>` : html`<p>${inline(text)}</p>`;
    })}
  </div>`;
}
