// The current page and its state. Both are in the address, so that they can be linked.

import { useEffect, useLayoutEffect, useState } from "./vendor/hooks.js";

const ROOT = "/console";

function read() {
  const path = location.pathname.slice(ROOT.length).replace(/^\/+|\/+$/g, "");
  const parts = path === "" ? [] : path.split("/").map(decoded);
  return { page: parts[0] ?? "overview", rest: parts.slice(1), query: new URLSearchParams(location.search) };
}

// A malformed address is shown unchanged.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page: its path and its query. */
export function to(parts, query = {}) {
  const path = [ROOT, ...parts.map(encodeURIComponent)].join("/");
  const members = Object.entries(query).filter(([, value]) => value != null && value !== "");
  const search = new URLSearchParams(members).toString();
  return search ? `${path}?${search}` : path;
}

const QUESTION = "Leave this page? Your changes are not saved.";
/** One entry for each form with unsaved changes. */
const unsaved = new Set();

/** Asks for confirmation before the page is left while `isUnsaved`. */
export function useUnsaved(isUnsaved) {
  useLayoutEffect(() => {
    if (!isUnsaved) return undefined;
    const form = {};
    unsaved.add(form);
    return () => unsaved.delete(form);
  }, [isUnsaved]);
}

/** True if nothing is unsaved or the user confirms that it is lost. */
export const mayLeave = () => unsaved.size === 0 || confirm(QUESTION);

addEventListener("beforeunload", (event) => {
  if (unsaved.size > 0) event.preventDefault();
});

/** The position of this page in the history of the tab, to detect how far the back button went. */
let index = history.state?.index ?? 0;
let isReturning = false;

/** Shows another page. `isSaved`: the form of this page has been saved or its object deleted. */
export function go(address, { replace = false, isSaved = false } = {}) {
  if (replace) {
    history.replaceState({ index }, "", address);
  } else {
    if (!isSaved && !mayLeave()) return;
    index += 1;
    history.pushState({ index }, "", address);
  }
  dispatchEvent(new PopStateEvent("popstate"));
}

// The browser shows the other address before this is called, so staying means going back there. The other listeners do
// not see either of the two steps.
addEventListener("popstate", (event) => {
  if (!event.isTrusted) return;
  const next = history.state?.index ?? 0;
  const stays = !isReturning && next !== index && !mayLeave();
  if (stays) history.go(index - next);
  else if (!isReturning) index = next;
  if (stays || isReturning) event.stopImmediatePropagation();
  isReturning = stays;
});

// The back button restores the scroll position. The page's content arrives later than the browser would scroll, so the
// position is stored with the address and applied until the content is there or the user scrolls.
const SOUGHT_MS = 2_000;
let sought;
let moved;

function leaveIt() {
  cancelAnimationFrame(sought);
}

function seek(place, until = performance.now() + SOUGHT_MS) {
  scrollTo(0, place);
  if (performance.now() < until) sought = requestAnimationFrame(() => seek(place, until));
}

history.scrollRestoration = "manual";
for (const gesture of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(gesture, leaveIt, { passive: true });
addEventListener("scroll", () => {
  clearTimeout(moved);
  const address = location.href;
  moved = setTimeout(() => {
    if (location.href === address) history.replaceState({ ...history.state, place: scrollY }, "");
  }, 100);
}, { passive: true });
addEventListener("popstate", (event) => {
  leaveIt();
  clearTimeout(moved);
  if (event.isTrusted) seek(history.state?.place ?? 0);
});
if (history.state?.place) seek(history.state.place);

/** The address with changed query parameters, which may have several values. Empty ones are omitted. */
export function withQuery(changes) {
  const { query } = read();
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const one of [value].flat()) query.append(name, one ?? "");
  }
  const search = new URLSearchParams([...query].filter(([, value]) => value !== "")).toString();
  return search ? `${location.pathname}?${search}` : location.pathname;
}

export function useRoute() {
  const [route, set] = useState(read);
  useEffect(() => {
    const changed = () => set(read());
    addEventListener("popstate", changed);
    return () => removeEventListener("popstate", changed);
  }, []);
  return route;
}

/** Follows a link within the console without loading the page again. */
export function follow(event) {
  const link = event.target.closest?.("a[href]");
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || event.defaultPrevented || link.target || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  const isOwn = url.origin === location.origin && (url.pathname === ROOT || url.pathname.startsWith(`${ROOT}/`));
  if (!isOwn || url.pathname.startsWith(`${ROOT}/api/`)) return;
  event.preventDefault();
  go(url.pathname + url.search);
  scrollTo(0, 0);
}
