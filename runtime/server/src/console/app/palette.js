// A searchable list of all pages, tables and functions. Ctrl and K or a button opens it.

import { useEffect, useRef, useState } from "./vendor/hooks.js";
import { admin, can } from "./api.js";
import { go, to } from "./router.js";
import { visible } from "./text.js";
import { Dialog, html } from "./ui.js";

/** Largest number of shown entries. */
const SHOWN = 12;

/** The rank of a match, the best first: the entry begins with the text, a word of it does, it contains the text, or the letters. */
function rank(text, wanted) {
  const place = text.indexOf(wanted);
  if (place === 0) return 0;
  if (place > 0) return /[\s/_]/.test(text[place - 1]) ? 1 : 2;
  let from = 0;
  for (const letter of wanted) {
    from = text.indexOf(letter, from) + 1;
    if (from === 0) return undefined;
  }
  return 3;
}

function found(entries, wanted) {
  const low = wanted.trim().toLowerCase();
  const ranked = entries.map((entry) => [rank(entry.name.toLowerCase(), low), entry]).filter(([own]) => own !== undefined);
  // Entries of the same rank keep their order: pages, tables, functions.
  return ranked.sort(([one], [other]) => one - other).slice(0, SHOWN).map(([, entry]) => entry);
}

async function entries(pages) {
  const [functions, { tables }] = await Promise.all([
    can("functions") ? admin("functions").catch(() => []) : [],
    can("data") ? admin("tables?estimate=true").catch(() => ({ tables: [] })) : { tables: [] },
  ]);
  return [
    ...pages.map(([name, title]) => ({ kind: "page", name: title, address: to([name]) })),
    ...tables.map(({ name }) => ({ kind: "table", name, address: to(["data", name]) })),
    ...functions.map(({ path, kind }) => ({ kind, name: path, address: to(["functions", ...path.split("/")]) })),
  ];
}

export function Palette({ pages }) {
  const [isOpen, open] = useState(false);
  useEffect(() => {
    const pressed = (event) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      // Another dialog is open.
      if (!document.querySelector("dialog[open]")) open(true);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  return html`<button type="button" class="find" onClick=${() => open(true)}>Find… <kbd>Ctrl K</kbd></button>
    ${isOpen && html`<${Search} pages=${pages} close=${() => open(false)} />`}`;
}

function Search({ pages, close }) {
  const [all, set] = useState(() => pages.map(([name, title]) => ({ kind: "page", name: title, address: to([name]) })));
  const [wanted, write] = useState("");
  const [place, move] = useState(0);
  const list = useRef();
  useEffect(() => {
    let isOver = false;
    entries(pages).then((all) => isOver || set(all));
    return () => {
      isOver = true;
    };
  }, []);
  const shown = found(all, wanted);
  const chosen = Math.min(place, shown.length - 1);
  useEffect(() => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [chosen, wanted]);
  const follow = (entry) => {
    close();
    go(entry.address);
    scrollTo(0, 0);
  };
  const pressed = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && shown.length) move((chosen + step + shown.length) % shown.length);
    else if (event.key === "Enter" && shown[chosen]) follow(shown[chosen]);
    else return;
    event.preventDefault();
  };
  return html`<${Dialog} title="Find a page, a table or a function" close=${close}>
    <input type="search" class="wanted" role="combobox" aria-label="Name" aria-expanded="true" aria-controls="found" aria-autocomplete="list"
      aria-activedescendant=${shown.length ? `found-${chosen}` : undefined} value=${wanted} autocomplete="off" spellcheck=${false}
      onInput=${(event) => { write(event.target.value); move(0); }} onKeyDown=${pressed} />
    <ul id="found" class="found" role="listbox" aria-label="Found" ref=${list}>
      ${shown.map((entry, own) => html`<li key=${`${entry.kind} ${entry.name}`} id=${`found-${own}`} role="option" aria-selected=${own === chosen} onClick=${() => follow(entry)}>
        <span>${visible(entry.name)}</span> <span class="help">${entry.kind}</span></li>`)}
    </ul>
    ${shown.length === 0 && html`<p class="help" role="status">Nothing has this name.</p>`}
  <//>`;
}
