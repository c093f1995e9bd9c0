// Requests to the server: the same admin handlers and functions as the command line, with the rights of the session.

const BASE = "/console/api";
const KEPT = "convoke-console";
/** Longest wait for a response of the other tabs. */
const ANSWERED_MS = 80;
const channel = new BroadcastChannel(KEPT);

/** The session: name, scopes, environment, version; null if logged out. */
export let session = null;
const watchers = new Set();

function keep(next, secret, reason) {
  session = next;
  if (secret) sessionStorage.setItem(KEPT, secret);
  if (!next) sessionStorage.removeItem(KEPT);
  for (const watcher of watchers) watcher(session, reason);
}

export function onSession(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export const can = (scope) => session?.scopes.includes(scope) ?? false;

/** A request that was rejected or failed. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body?.errorMessage || `The server answered ${status}`);
    this.code = body?.errorData?.code ?? String(status);
    /** True if the same request may succeed soon. */
    this.passes = status === 429 || status === 503 || this.code === "TIMEOUT";
    this.field = body?.errorData?.field;
    this.data = body?.errorData ?? {};
    this.logLines = body?.logLines ?? [];
  }
}

function fields(more = {}) {
  const secret = sessionStorage.getItem(KEPT);
  return { ...(secret && { "x-convoke-console": secret }), ...more };
}

async function send(path, { method = "GET", body, headers, signal } = {}) {
  const options = { method, headers: fields(headers), signal, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  try {
    return await fetch(BASE + path, options);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw Object.assign(new Refusal(0), { message: "The server cannot be reached", code: "UNREACHABLE" });
  }
}

async function refusal(response) {
  const body = await response.json().catch(() => null);
  const refused = new Refusal(response.status, body);
  if (response.status === 401 && session) keep(null, undefined, refused.message);
  return refused;
}

async function envelope(response) {
  if (!response.ok) throw await refusal(response);
  const body = await response.json();
  if (body.status !== "success") throw new Refusal(response.status, body);
  return body;
}

/** Sends an admin request, whose path is without `/api/admin/`, and returns the value of the response. */
export async function admin(path, options) {
  return (await envelope(await send(`/admin/${path}`, options))).value;
}

export const query = (members) => {
  const kept = Object.entries(members).filter(([, value]) => value != null && value !== "");
  return new URLSearchParams(kept).toString();
};

const named = (user, creates) => {
  if (!user?.subject) return {};
  const bytes = new TextEncoder().encode(JSON.stringify({ issuer: user.issuer, subject: user.subject, create: creates ? true : undefined }));
  return { "x-convoke-act-as": btoa(String.fromCharCode(...bytes)) };
};

/** Runs a function, optionally as a user. `creates`: an unknown user is created; otherwise in development only. */
export async function run(path, args, user, { creates = false } = {}) {
  const begun = performance.now();
  const response = await send(`/run/${path}`, { method: "POST", body: { args }, headers: named(user, creates) });
  const elapsed = performance.now() - begun;
  const requestId = response.headers.get("x-request-id");
  if (response.status === 401) throw await refusal(response);
  const isUserCreated = response.headers.has("x-convoke-user-created");
  const body = await response.json();
  return { body, elapsed, requestId, isUserCreated };
}

async function* pieces(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

async function* split(response, end) {
  let held = "";
  for await (const piece of pieces(response)) {
    held += piece;
    const parts = held.split(end);
    held = parts.pop();
    yield* parts;
  }
  if (held) yield held;
}

/** The lines of a streamed response, each a JSON value. */
export async function* lines(path, options) {
  const response = await send(`/admin/${path}`, options);
  const type = response.headers.get("content-type") ?? "";
  if (!response.ok || type.startsWith("application/json")) throw await refusal(response);
  for await (const line of split(response, "\n")) {
    if (line.trim()) yield JSON.parse(line);
  }
}

/** The results of a live query. */
export async function* live(path, args, user, signal) {
  const body = { queries: [{ path, args }] };
  const response = await send("/live", { method: "POST", body, headers: named(user), signal });
  if (!response.ok || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
    throw await refusal(response);
  }
  for await (const block of split(response, "\n\n")) {
    const members = block.split("\n").map((line) => line.split(/: ?/, 1).concat(line.replace(/^[^:]*: ?/, "")));
    const of = (name) => members.filter(([own]) => own === name).map(([, value]) => value).join("\n");
    if (!of("data")) continue;
    const data = JSON.parse(of("data"));
    if (of("event") === "end") throw new Refusal(200, data);
    for (const result of data.results) yield { result, commit: of("id").split("-")[0] };
  }
}

/** Downloads the response of an admin request as a file. */
export async function download(path) {
  const { value } = await envelope(await send("/downloads", { method: "POST", body: { path } }));
  const link = Object.assign(document.createElement("a"), { href: value.url, download: "" });
  document.body.append(link);
  link.click();
  link.remove();
}

async function enter(options) {
  const { value } = await envelope(await send("/session", { method: "POST", body: {}, ...options }));
  const { secret, ...who } = value;
  keep(who, secret);
}

/** Logs in with the one-time code of a link. */
export const enterByCode = (code) => enter({ body: { code } });

/** Logs in with a deploy key, with or without its scheme. */
export function enterByKey(text) {
  const key = text.trim().replace(/^\S+\s+/, "");
  return enter({ headers: { authorization: `Convoke ${key}` } });
}

/** Resumes the session of this tab, or of another tab of the same console. */
export async function resume() {
  if (!sessionStorage.getItem(KEPT)) await asked();
  if (!sessionStorage.getItem(KEPT)) return;
  try {
    const { value } = await envelope(await send("/session"));
    keep(value);
  } catch (error) {
    if (error.code === "UNREACHABLE") throw error;
    keep(null, undefined, error.message);
  }
}

/** The text of the last build's failure, if the server watches its sources; null after a build that succeeded. */
export const buildError = async () => (await envelope(await send("/session"))).value.buildError ?? null;

export async function leave() {
  const response = await send("/session", { method: "DELETE" });
  // A session that has already ended needs no logout.
  if (!response.ok && response.status !== 401) throw await refusal(response);
  channel.postMessage({ left: true });
  keep(null);
}

// A new tab has the cookie but lacks the secret, so it requests the secret from the open tabs. The channel belongs to this origin with its
// port.
let told;

function asked() {
  return new Promise((resolve) => {
    told = () => {
      told = undefined;
      resolve();
    };
    setTimeout(() => told?.(), ANSWERED_MS);
    channel.postMessage({ wanted: true });
  });
}

channel.addEventListener("message", ({ data }) => {
  const secret = sessionStorage.getItem(KEPT);
  if (data.wanted && session && secret) channel.postMessage({ secret });
  if (data.left && session) keep(null, undefined, "The session was logged out in another tab.");
  if (data.secret && !secret) {
    sessionStorage.setItem(KEPT, data.secret);
    // A busy tab may respond when this one already shows the login.
    if (told) told();
    else resume().catch(() => {});
  }
});
