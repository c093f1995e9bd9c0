// Which page is shown, and what of it: all of that stands in the address, so that it can be sent to somebody.

import { useEffect, useState } from "./vendor/hooks.js";

const ROOT = "/console";

function read() {
  const path = location.pathname.slice(ROOT.length).replace(/^\/+|\/+$/g, "");
  const parts = path === "" ? [] : path.split("/").map(decoded);
  return { page: parts[0] ?? "overview", rest: parts.slice(1), query: new URLSearchParams(location.search) };
}

// An address that somebody mistyped is shown as it stands.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a page: its parts, and what stands behind the question mark. */
export function to(parts, query = {}) {
  const path = [ROOT, ...parts.map(encodeURIComponent)].join("/");
  const members = Object.entries(query).filter(([, value]) => value != null && value !== "");
  const search = new URLSearchParams(members).toString();
  return search ? `${path}?${search}` : path;
}

export function go(address, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}

// Whoever goes back finds the place where they were. What stood there is asked for again and comes later than the browser
// would look for it, so the place is kept with the address and sought until it is there, or they move on by themselves.
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

/** The address with other members of its query, of which one may have several values; those that are empty are left out. */
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
