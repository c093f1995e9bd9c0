// Long work. It continues while other pages are shown, and its page shows the state again.

import { useEffect, useState } from "./vendor/hooks.js";

/** The state of each work: `isRunning`, its progress (`at`), its result (`done`) or its error (`error`). */
const known = new Map();
const watchers = new Set();

function tell(name, state) {
  known.set(name, state);
  for (const watcher of watchers) watcher();
}

/** Runs long work, once at a time. `does` gets a function that reports the progress. */
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

/** The state of this work. */
export function useWork(name) {
  const [, draw] = useState(0);
  useEffect(() => {
    const changed = () => draw((turn) => turn + 1);
    watchers.add(changed);
    return () => watchers.delete(changed);
  }, []);
  return known.get(name) ?? {};
}
