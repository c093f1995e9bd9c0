// Long work: it goes on while other pages are looked at, and is found again by whoever comes back to its own.

import { useEffect, useState } from "./vendor/hooks.js";

/** What is known of each: `isRunning`, how far it is (`at`), what came of it (`done`) or why it failed (`error`). */
const known = new Map();
const watchers = new Set();

function tell(name, state) {
  known.set(name, state);
  for (const watcher of watchers) watcher();
}

/** Does something that takes long, once at a time. `does` is handed a function that takes how far it is. */
export async function work(name, does) {
  if (known.get(name)?.isRunning) return;
  let at;
  tell(name, { isRunning: true });
  try {
    const done = await does((now) => {
      at = now;
      tell(name, { isRunning: true, at });
    });
    tell(name, { at, done });
  } catch (error) {
    tell(name, { at, error });
  }
}

/** What is known of this work now. */
export function useWork(name) {
  const [, draw] = useState(0);
  useEffect(() => {
    const changed = () => draw((turn) => turn + 1);
    watchers.add(changed);
    return () => watchers.delete(changed);
  }, []);
  return known.get(name) ?? {};
}
