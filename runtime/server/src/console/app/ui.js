// Components that all pages share.

import { h } from "./vendor/preact.js";
import { useEffect, useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";
import { Refusal } from "./api.js";
import { ago, time, visible } from "./text.js";

export const html = htm.bind(h);

/** The first pause before a request to a busy server is retried; each further pause is twice as long. */
const BUSY_MS = 1_000;

/** Requests data now and, while the page is visible, every `every` ms. Retries a request that a busy server rejects. */
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
    // A page in the background sends its request when it becomes visible.
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

/** The children with the value after it has arrived, else the error. */
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

/** The properties of a temporarily disabled button. It keeps the keyboard focus, which `disabled` would drop. */
export const resting = (isResting) => ({ "aria-disabled": isResting ? "true" : undefined });

/** A button that shows its progress and its error. */
export function Act({ does, children, kind = "", title, disabled }) {
  const [state, set] = useState({});
  const own = useRef();
  const click = async () => {
    if (disabled || state.isBusy) return;
    set({ isBusy: true });
    try {
      await does();
      set({});
    } catch (error) {
      set({ error });
    }
    // The action may have removed the row of its button: the keyboard focus stays on the page.
    setTimeout(() => {
      if (!own.current?.isConnected && document.activeElement === document.body) document.querySelector("main")?.focus({ preventScroll: true });
    });
  };
  return html`<span class="act">
    <button type="button" ref=${own} class=${kind} title=${title} onClick=${click} ...${resting(disabled || state.isBusy)}>${children}</button>
    <${Failed} error=${state.error} />
  </span>`;
}

export function Copy({ text, children = "Copy", label }) {
  const [isDone, set] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Over plain HTTP from another host, a page has no clipboard.
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

/** A modal dialog. */
export function Dialog({ title, close, children }) {
  const dialog = useRef();
  useEffect(() => {
    // Closing it before it is removed returns the keyboard focus to the element that had it.
    const own = dialog.current;
    own.showModal();
    return () => own.close();
  }, []);
  return html`<dialog ref=${dialog} aria-label=${title} onClose=${close}>
    <h2>${title}</h2>
    ${children}
  </dialog>`;
}

/** A button that asks for confirmation. */
export function Sure({ title, question, does, children, kind = "danger", yes = children, disabled }) {
  const [isAsked, ask] = useState(false);
  const close = () => ask(false);
  const done = async () => {
    await does();
    close();
  };
  return html`<button type="button" class=${kind} onClick=${() => disabled || ask(true)} ...${resting(disabled)}>${children}</button>
    ${isAsked &&
    html`<${Dialog} title=${title} close=${close}>
      <p>${question}</p>
      <div class="row end">
        <button type="button" onClick=${close}>Cancel</button>
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
  if (Array.isArray(rows) && rows.length === 0) return html`<p class="empty">${empty ?? "No entries."}</p>`;
  return html`<div class=${`scroll ${kind}`} tabindex="0" role="region" aria-label=${label}>
    <table ref=${place}>
      <thead><tr>${head.map((name) => html`<th scope="col" class=${/^[#]/.test(name) ? "num" : ""}>${name.replace(/^#/, "") || html`<span class="unseen">Actions</span>`}</th>`)}</tr></thead>
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

/** Buttons of which one is pressed. */
export function Choice({ label, of, value, choose, disabled }) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${of.map(
      ([own, name]) =>
        html`<button type="button" aria-pressed=${own === value} disabled=${disabled} onClick=${() => choose(own)}>${name}</button>`,
    )}
  </div>`;
}

/** A line of prose with code between backticks. All of it is text, never markup. */
export function inline(line) {
  return visible(line)
    .replace(/\s+/g, " ")
    .replace(/\[(`[^`]+`)\](\([^)]*\))?/g, "$1")
    .split("`")
    .map((part, place) => (place % 2 ? html`<code>${part}</code>` : part));
}

/** A doc comment: paragraphs, headings of this level, and lists. */
export function Prose({ text, level = 3 }) {
  const blocks = [];
  let isOpen = false;
  for (const line of text.split("\n")) {
    const last = blocks.at(-1);
    const item = line.match(/^\s*[-*] (.*)/);
    const heading = line.match(/^#+ (.*)/);
    if (line.trim() === "") isOpen = false;
    else if (heading) blocks.push({ kind: "heading", text: heading[1] });
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
      return kind === "heading" ? html`<${`h${level}`} class="minor">${text}<//>` : html`<p>${inline(text)}</p>`;
    })}
  </div>`;
}
