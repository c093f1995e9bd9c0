/** The options of a client. */
export interface ClientOptions {
  /** The URL of the server, such as `https://api.example.com`. */
  readonly url: string;
  /** The credentials of the calls: a token (JWT), or a function that returns the token of each call. */
  readonly token?: TokenSource | undefined;
  /** A deploy key instead of a token. Never use it in a page: every visitor could read it and would have its rights. */
  readonly deployKey?: string | undefined;
  /** Timeout of a call, including retries. Default: 30 s for queries and mutations, 11 min for actions. */
  readonly timeoutMs?: number | undefined;
  /** Largest number of retries of a call that is safe to retry. Default: 3. */
  readonly retries?: number | undefined;
  /** A custom `fetch`, for example in tests. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Receives the log lines of functions, if the server sends them. */
  readonly onLogLines?: ((lines: readonly string[], call: { readonly path: string; readonly requestId: string }) => void) | undefined;
}

/** The options of a call. */
export interface CallOptions {
  /** Aborts the call. A mutation or action that was sent may still run. */
  readonly signal?: AbortSignal | undefined;
  /** Timeout of this call, including retries. */
  readonly timeoutMs?: number | undefined;
  /** Largest number of retries of this call. */
  readonly retries?: number | undefined;
  /** The id of the call in the server's log: 1 to 64 of `A-Za-z0-9._-`. Default: a random id. */
  readonly requestId?: string | undefined;
  /**
   * The key of a mutation: 1 to 255 visible ASCII characters, at least 16 without an identity. The server runs mutations
   * with the same key only once within a week. Default: a random key. Set one to retry a mutation from another process.
   */
  readonly idempotencyKey?: string | undefined;
  /** The token of this call, for processes that call for many users; `null` for a call without credentials. */
  readonly token?: TokenSource | null | undefined;
}

/**
 * A token, or a function that returns one. The function gets the token that the server has just rejected, if any. If it
 * then returns a different token, the call is sent once more.
 */
export type TokenSource =
  | string
  | ((asked: { readonly rejected: string | undefined }) => string | null | undefined | Promise<string | null | undefined>);

/** The result of a call that does not throw. */
export type Result<Value> =
  | { readonly ok: true; readonly value: Value; readonly requestId: string; readonly logLines: readonly string[] }
  | { readonly ok: false; readonly error: ConvokeError };

/** A function of the server. */
export interface ServerFunction<Kind extends FunctionKind, Args, Value> {
  /** Calls the function. Rejects with a {@link ConvokeError}, which {@link isConvokeError} recognizes. */
  (args: Args, options?: CallOptions): Promise<Value>;
  /** Calls the function. Does not reject: a failure is a result whose `error` is typed by its `code`. */
  safe(args: Args, options?: CallOptions): Promise<Result<Value>>;
  readonly path: string;
  readonly kind: Kind;
}

/** A function of the server without required arguments. */
export interface EasyServerFunction<Kind extends FunctionKind, Args, Value> {
  /** Calls the function. Rejects with a {@link ConvokeError}, which {@link isConvokeError} recognizes. */
  (args?: Args, options?: CallOptions): Promise<Value>;
  /** Calls the function. Does not reject: a failure is a result whose `error` is typed by its `code`. */
  safe(args?: Args, options?: CallOptions): Promise<Result<Value>>;
  readonly path: string;
  readonly kind: Kind;
}

/** A query of the server: a function whose result can be live. */
export interface ServerQuery<Args, Value> extends ServerFunction<"query", Args, Value> {
  /**
   * Calls `onResult` with the result and with each later result that differs from the last one. Ends when
   * `options.signal` aborts or the returned function is called. Reconnects if the connection breaks or is silent for too
   * long.
   *
   * Each watch has its own connection, and over HTTP/1.1 a browser opens at most six to a server. A page with many
   * watches needs HTTP/2, or `convex/react`, which has one WebSocket for all.
   */
  watch(args: Args, onResult: (value: Value) => void, options?: WatchOptions): () => void;
}

/** A query of the server without required arguments. */
export interface EasyServerQuery<Args, Value> extends EasyServerFunction<"query", Args, Value> {
  /** Watches the query, see {@link ServerQuery.watch}. */
  watch(args: Args, onResult: (value: Value) => void, options?: WatchOptions): () => void;
}

/** The options of a watch. */
export interface WatchOptions {
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Receives errors. If `ended` is false, the function returned an error, and a later commit may bring a result. If
   * `ended` is true, the watch has ended, because the credentials are rejected or a limit is reached. Without this
   * function, errors are thrown as uncaught errors.
   */
  readonly onError?: ((error: ConvokeError, ended: boolean) => void) | undefined;
  /** Receives the error of a lost or failed connection, and `undefined` once it is connected. */
  readonly onConnection?: ((lost: ConvokeError | undefined) => void) | undefined;
  /** The token of this watch; `null` for a watch without credentials. */
  readonly token?: TokenSource | null | undefined;
}

/** The kind of a function: it reads, writes in one transaction, or works outside the database. */
export type FunctionKind = "query" | "mutation" | "action";

/** Any JSON. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** Any JSON object. */
export interface JsonObject {
  [member: string]: JsonValue;
}

/** The id of a row. A plain string is accepted; the id of a row of another table is not. */
export type Id<Prefix extends string> = string & { readonly __row?: Prefix };

/** The code of an error, from the server or from this client. */
export type ErrorCode = ServerErrorCode | ClientErrorCode;

/** The codes of this client. */
export type ClientErrorCode =
  /** The caller's signal aborted the call. */
  | "ABORTED"
  /** The call took longer than `timeoutMs`. */
  | "CLIENT_TIMEOUT"
  /** The connection failed, or it broke before the response was complete. */
  | "CONNECTION_FAILED"
  /** The response is not that of a Convoke server, but for example that of a proxy. */
  | "INVALID_RESPONSE"
  /** The function that returns tokens threw. */
  | "TOKEN_UNAVAILABLE"
  /** A code that this client does not know; `data.code` has it. */
  | "UNRECOGNIZED_CODE";

/** The data of an error, by its code. Functions may add members. */
export interface ErrorData extends Record<ErrorCode, JsonObject> {
  INVALID_ARGUMENT: JsonObject & {
    /** The path of the argument, such as `interests[2].category`; empty for all arguments together. */
    field: string;
  };
  FUNCTION_NOT_FOUND: JsonObject & {
    /** The most similar path. */
    nearest?: string;
  };
  UNRECOGNIZED_CODE: JsonObject & { code: string };
}

/** The error of a call: a union, so that `switch (error.code)` narrows the type of `error.data`. */
export type ConvokeError = { [Code in ErrorCode]: CallFailure<Code> }[ErrorCode];

/** Returns true if a caught value is the error of a call. */
export function isConvokeError(caught: unknown): caught is ConvokeError {
  return caught instanceof CallFailure;
}

/** The class of all {@link ConvokeError} values. */
export class CallFailure<Code extends ErrorCode> extends Error {
  override readonly name: string = "ConvokeError";
  /** The code, to switch on. */
  readonly code: Code;
  /** The data of the code. */
  readonly data: ErrorData[Code];
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined;
  /** True if the call may have changed data; false if it certainly has not. */
  readonly mayHaveRun: boolean;
  /** The function's path. */
  readonly path: string;
  /** The id of the call in the server's log. */
  readonly requestId: string;
  /** The log lines of the function, also if its writes were rolled back. */
  readonly logLines: readonly string[];
  /** The number of times that the call was sent. */
  readonly attempts: number;

  constructor(code: Code, message: string, data: ErrorData[Code], details: FailureDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.data = data;
    this.status = details.status;
    this.mayHaveRun = details.mayHaveRun;
    this.path = details.path;
    this.requestId = details.requestId;
    this.logLines = details.logLines;
    this.attempts = details.attempts;
  }
}

/** The details of a failure, in addition to its code. */
export interface FailureDetails {
  readonly status: number | undefined;
  readonly mayHaveRun: boolean;
  readonly path: string;
  readonly requestId: string;
  readonly logLines: readonly string[];
  readonly attempts: number;
  readonly cause: unknown;
}

const TIMEOUT_MS = { query: 30_000, mutation: 30_000, action: 660_000 } as const;
const RETRIES = 3;
const BACKOFF_MS = 100;
const BACKOFF_MS_MAX = 5_000;

/** The reason with which a timeout aborts a call. */
const TIMED_OUT = Symbol("timed out");

/** A failed attempt. */
interface Attempt {
  readonly code: ErrorCode;
  readonly message: string;
  readonly data: JsonObject;
  readonly status: number | undefined;
  readonly logLines: readonly string[];
  readonly requestId: string | undefined;
  readonly cause: unknown;
  /** True if the attempt may have changed data. */
  readonly mayHaveRun: boolean;
  /** True if a retry can succeed. */
  readonly isRetryable: boolean;
  /** The time to wait that the server asked for. */
  readonly waitMs: number | undefined;
}

interface Answer {
  readonly value: unknown;
  readonly logLines: readonly string[];
  readonly requestId: string | undefined;
}

/** Runs a call to its end, with retries. */
async function run(client: ClientOptions, path: string, kind: FunctionKind, args: unknown, own: CallOptions): Promise<Result<unknown>> {
  const requestId = own.requestId ?? randomId();
  const body = JSON.stringify({ args: args ?? {} });
  const idempotencyKey = kind === "mutation" ? (own.idempotencyKey ?? randomId()) : undefined;
  const keyed = idempotencyKey !== undefined || hasIdempotencyKey(args);
  const timeoutMs = own.timeoutMs ?? client.timeoutMs ?? TIMEOUT_MS[kind];
  const retries = own.retries ?? client.retries ?? RETRIES;
  const ends = Date.now() + timeoutMs;
  const stop = new AbortController();
  // setTimeout supports no longer time; above it the call has no timeout.
  const timer = timeoutMs <= 0x7fffffff ? setTimeout(() => { stop.abort(TIMED_OUT); }, timeoutMs) : undefined;
  const aborted = (): void => { stop.abort(own.signal?.reason); };
  if (own.signal?.aborted === true) aborted();
  own.signal?.addEventListener("abort", aborted, { once: true });
  const send = { client, path, kind, body, requestId, idempotencyKey, signal: stop.signal };
  const source = tokenSource(client, own);
  let rejected: string | undefined;
  let mayHaveRun = false;
  let attempts = 0;
  try {
    let token = await tokenOf(source, undefined, stop.signal);
    for (;;) {
      if (typeof token === "object") return failed(token, mayHaveRun);
      if (stop.signal.aborted) return failed(stopped(stop.signal, false, undefined), mayHaveRun);
      attempts += 1;
      const outcome = await attempt(send, token);
      if ("value" in outcome) {
        if (outcome.logLines.length > 0) client.onLogLines?.(outcome.logLines, { path, requestId });
        return { ok: true, value: outcome.value, requestId: outcome.requestId ?? requestId, logLines: outcome.logLines };
      }
      mayHaveRun ||= outcome.mayHaveRun;
      if (outcome.logLines.length > 0) client.onLogLines?.(outcome.logLines, { path, requestId });
      if (outcome.code === "INVALID_CREDENTIALS" && typeof source === "function" && rejected === undefined && token !== undefined) {
        // The function did not run. With a different token, the call is sent once more.
        rejected = token;
        token = await tokenOf(source, rejected, stop.signal);
        if (token === undefined || token === rejected) return failed(outcome, mayHaveRun);
        continue;
      }
      const safe = kind === "query" || keyed || !outcome.mayHaveRun;
      if (!safe || !outcome.isRetryable || attempts > retries) return failed(outcome, mayHaveRun);
      const waitMs = (outcome.waitMs ?? 0) + backoffMs(attempts, BACKOFF_MS_MAX);
      if (Date.now() + waitMs >= ends) return failed(outcome, mayHaveRun);
      if (!(await slept(waitMs, stop.signal))) return failed(stopped(stop.signal, false, undefined), mayHaveRun);
    }
  } finally {
    clearTimeout(timer);
    own.signal?.removeEventListener("abort", aborted);
  }

  function failed(last: Attempt, changed: boolean): Result<never> {
    return { ok: false, error: failureOf(path, { ...last, mayHaveRun: changed }, requestId, attempts) };
  }
}

function failureOf(path: string, last: Attempt, requestId: string, attempts: number): ConvokeError {
  const { status, mayHaveRun, logLines, cause } = last;
  const details = { status, mayHaveRun, path, requestId: last.requestId ?? requestId, logLines, attempts, cause };
  return new CallFailure(last.code, `${path}: ${last.message}`, last.data as never, details) as ConvokeError;
}

/** The pause after so many attempts. It doubles with each attempt and is partly random, so that clients do not synchronize. */
function backoffMs(attempts: number, max: number): number {
  return Math.min(BACKOFF_MS * 2 ** (attempts - 1), max) * (0.5 + Math.random() / 2);
}

interface Sending {
  readonly client: ClientOptions;
  readonly path: string;
  readonly kind: FunctionKind;
  readonly body: string;
  readonly requestId: string;
  readonly idempotencyKey: string | undefined;
  readonly signal: AbortSignal;
}

async function attempt(send: Sending, token: string | undefined): Promise<Answer | Attempt> {
  const { client, path, kind, signal } = send;
  const headers: Record<string, string> = { "Content-Type": "application/json", "X-Request-Id": send.requestId };
  if (send.idempotencyKey !== undefined) headers["Idempotency-Key"] = send.idempotencyKey;
  authorize(headers, client, token);
  const changes = kind !== "query";
  let response: Response;
  let text: string;
  try {
    response = await (client.fetch ?? globalThis.fetch)(addressOf(client, `/api/run/${path}`), { method: "POST", headers, body: send.body, signal });
    text = await response.text();
  } catch (cause) {
    if (signal.aborted) return stopped(signal, changes, cause);
    const message = `The server cannot be reached: ${reasonOf(cause)}`;
    const mayHaveRun = changes && !wasNeverSent(cause);
    return { ...NOTHING, code: "CONNECTION_FAILED", message, cause, mayHaveRun, isRetryable: true };
  }
  const envelope = parsed(text);
  if (response.status === 200 && envelope?.["status"] === "success" && "value" in envelope) {
    const requestId = response.headers.get("X-Request-Id") ?? undefined;
    return { value: envelope["value"], logLines: lines(envelope["logLines"]), requestId };
  }
  return failedResponse(kind, response, envelope, text);
}

/** The URL of a path of the server. */
function addressOf(client: ClientOptions, path: string): string {
  return client.url.replace(/\/+$/, "") + path;
}

/** The source of the token; none if there is a deploy key. */
function tokenSource(client: ClientOptions, own: { readonly token?: TokenSource | null | undefined }): TokenSource | undefined {
  return client.deployKey === undefined && own.token !== null ? (own.token ?? client.token) : undefined;
}

function authorize(headers: Record<string, string>, client: ClientOptions, token: string | undefined): void {
  if (client.deployKey !== undefined) headers["Authorization"] = `Convoke ${client.deployKey}`;
  else if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
}

/** Reads a response that is not a success. */
function failedResponse(kind: FunctionKind, response: Response, envelope: JsonObject | undefined, text: string): Attempt {
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  const waitMs = retryAfterMs(response.headers.get("Retry-After"));
  const { status } = response;
  const changes = kind !== "query";
  const data = objectOf(envelope?.["errorData"]);
  const code = data?.["code"];
  const message = envelope?.["errorMessage"];
  if (envelope?.["status"] !== "error" || data === undefined || typeof code !== "string" || typeof message !== "string") {
    const said = `Status ${String(status)} with a body that is not the response of a function: ${text.slice(0, 200)}`;
    const isRetryable = status === 429 || (status >= 502 && status <= 504);
    return { ...NOTHING, code: "INVALID_RESPONSE", message: said, status, requestId, waitMs, mayHaveRun: changes, isRetryable };
  }
  // A function with a rate limit returns the time of the next allowed call.
  const retryAfter = data["retryAfterMs"];
  const logLines = lines(envelope["logLines"]);
  const failure = { ...NOTHING, message, data, status, logLines, requestId, waitMs: typeof retryAfter === "number" ? retryAfter : waitMs };
  const mayHaveRun = changes && mayHaveChanged(kind, status, code);
  if (!isServerErrorCode(code)) return { ...failure, code: "UNRECOGNIZED_CODE", mayHaveRun, isRetryable: false };
  // If the commit is unknown, a retry with the same key returns the result of a committed mutation.
  return { ...failure, code, mayHaveRun, isRetryable: RETRYABLE[code] || code === "COMMIT_UNKNOWN" };
}

/** Longest silence of a connection. The server sends something every 15 s. */
const SILENCE_MS_MAX = 45_000;
const RECONNECT_MS_MAX = 15_000;
/** A connection with results that lasted this long does not count as a failed attempt. */
const STABLE_MS = 1_000;

/** Runs a watch, from its first connection to its end. */
function watch(client: ClientOptions, path: string, args: unknown, onResult: (value: unknown) => void, own: WatchOptions): () => void {
  const body = JSON.stringify({ queries: [{ path, args: args ?? {} }] });
  const source = tokenSource(client, own);
  const stop = new AbortController();
  /** The id and the data of the last event. */
  const last = { id: "", data: "" };
  /** The last token that the server rejected. */
  let rejected: string | undefined;
  let isConnected = false;
  const end = (): void => {
    own.signal?.removeEventListener("abort", end);
    stop.abort();
  };
  if (own.signal?.aborted !== true) {
    own.signal?.addEventListener("abort", end);
    void follow();
  }
  return end;

  /** Runs a callback in a separate task, so that its errors do not affect the watch. Does nothing after the end. */
  function notify(work: () => void): void {
    queueMicrotask(() => {
      if (!stop.signal.aborted) work();
    });
  }

  function notifyError(error: ConvokeError, ended: boolean): void {
    notify(() => {
      if (own.onError === undefined) throw error;
      own.onError(error, ended);
    });
  }

  async function follow(): Promise<void> {
    let attempts = 0;
    for (;;) {
      const began = Date.now();
      const requestId = randomId();
      const token = await tokenOf(source, rejected, stop.signal);
      // A failed token provider is retried like an unreachable server.
      const outcome = typeof token === "object" ? { ...token, isRetryable: true } : await listen(token, requestId);
      if (stop.signal.aborted) return;
      attempts = isConnected && Date.now() - began > STABLE_MS ? 1 : attempts + 1;
      isConnected = false;
      if (outcome.code === "INVALID_CREDENTIALS" && typeof source === "function" && typeof token === "string" && rejected === undefined) {
        rejected = token;
        continue;
      }
      const error = failureOf(path, outcome, requestId, attempts);
      if (!outcome.isRetryable) {
        own.signal?.removeEventListener("abort", end);
        notifyError(error, true);
        return;
      }
      notify(() => own.onConnection?.(error));
      if (!(await slept((outcome.waitMs ?? 0) + backoffMs(attempts, RECONNECT_MS_MAX), stop.signal))) return;
    }
  }

  /** Runs one connection: passes on its events, and returns the reason for its end. */
  async function listen(token: string | undefined, requestId: string): Promise<Attempt> {
    if (rejected !== undefined && (token === undefined || token === rejected)) {
      return { ...NOTHING, code: "INVALID_CREDENTIALS", message: "The token was rejected, and there is no other token", mayHaveRun: false, isRetryable: false };
    }
    const headers: Record<string, string> = { "Content-Type": "application/json", "X-Request-Id": requestId };
    if (last.id !== "") headers["Last-Event-ID"] = last.id;
    authorize(headers, client, token);
    const connection = new AbortController();
    const cut = (): void => { connection.abort(); };
    stop.signal.addEventListener("abort", cut);
    if (stop.signal.aborted) cut();
    let silence = setTimeout(cut, SILENCE_MS_MAX);
    const resetSilence = (): void => {
      clearTimeout(silence);
      silence = setTimeout(cut, SILENCE_MS_MAX);
    };
    try {
      const request = { method: "POST", headers, body, signal: connection.signal };
      const response = await (client.fetch ?? globalThis.fetch)(addressOf(client, "/api/live"), request);
      const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream") === true;
      // A `fetch` without streams would wait for the end of the text forever.
      if (response.status !== 200 || !isStream || !response.body) {
        const text = isStream ? "" : await response.text();
        return failedResponse("query", response, parsed(text), text);
      }
      for await (const event of eventsOf(response.body, resetSilence)) {
        const ended = handle(event, response);
        if (ended !== undefined) return ended;
      }
      return { ...NOTHING, code: "CONNECTION_FAILED", message: "The connection was closed", mayHaveRun: false, isRetryable: true };
    } catch (cause) {
      const message = `The server cannot be reached: ${connection.signal.aborted ? "it is silent" : reasonOf(cause)}`;
      return { ...NOTHING, code: "CONNECTION_FAILED", message, cause, mayHaveRun: false, isRetryable: true };
    } finally {
      clearTimeout(silence);
      stop.signal.removeEventListener("abort", cut);
      cut();
    }
  }

  /** Handles an event. Returns the reason if the connection has ended. */
  function handle(event: ServerEvent, response: Response): Attempt | undefined {
    if (event.type === "end") {
      const ended = failedResponse("query", response, parsed(event.data), event.data);
      // A retry would exceed the limit again.
      return ended.code === "OVERLOADED" ? { ...ended, isRetryable: false } : ended;
    }
    if (event.type !== "results") return undefined;
    if (!isConnected) notify(() => own.onConnection?.(undefined));
    isConnected = true;
    rejected = undefined;
    if (event.id !== undefined) last.id = event.id;
    const results = parsed(event.data)?.["results"];
    const result = objectOf(Array.isArray(results) ? results[0] : undefined);
    // Nothing has changed since `Last-Event-ID`.
    if (result === undefined) return undefined;
    const requestId = response.headers.get("X-Request-Id") ?? "";
    const failure = result["status"] === "success" && "value" in result ? undefined : failedResponse("query", response, result, event.data);
    // After a restart, the server may send the same result again.
    if (event.data !== last.data) {
      last.data = event.data;
      const logLines = lines(result["logLines"]);
      if (logLines.length > 0) notify(() => client.onLogLines?.(logLines, { path, requestId }));
      if (failure === undefined) notify(() => { onResult(result["value"]); });
      else notifyError(failureOf(path, failure, requestId, 1), false);
    }
    if (failure?.isRetryable !== true) return undefined;
    // The result may change without a commit, so the next connection asks for it without `Last-Event-ID`.
    last.id = "";
    return failure;
  }
}

/** A server-sent event. */
interface ServerEvent {
  readonly type: string;
  readonly data: string;
  readonly id: string | undefined;
}

/**
 * Returns the events of a `text/event-stream` (WHATWG HTML §9.2.6), for any split into chunks. An incomplete event at the
 * end is ignored. `onData` is called for each chunk, including comments.
 */
async function* eventsOf(body: ReadableStream<Uint8Array>, onData: () => void): AsyncGenerator<ServerEvent, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let line = "";
  let isAfterReturn = false;
  let event = { type: "", data: [] as string[], id: undefined as string | undefined };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onData();
      const text = decoder.decode(value, { stream: true });
      if (text === "") continue;
      // A line may end with CR LF, split over two chunks.
      const [first = "", ...more] = (isAfterReturn && text.startsWith("\n") ? text.slice(1) : text).split(/\r\n|\r|\n/);
      isAfterReturn = text.endsWith("\r");
      line += first;
      for (const next of more) {
        const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
        if (name === "data") event.data.push(value);
        else if (name === "event") event.type = value;
        else if (name === "id" && !value.includes("\0")) event.id = value;
        else if (line === "") {
          if (event.data.length > 0) yield { ...event, data: event.data.join("\n") };
          event = { type: "", data: [], id: undefined };
        }
        line = next;
      }
    }
  } finally {
    // The rest of the stream is not needed after the end of the loop.
    reader.cancel().catch(() => undefined);
  }
}

const NOTHING = {
  data: {} as JsonObject,
  status: undefined,
  logLines: [] as readonly string[],
  requestId: undefined,
  cause: undefined,
  waitMs: undefined,
} as const;

/** True if a failed call may have changed data: a failed mutation is rolled back, an action may have run partly. */
function mayHaveChanged(kind: FunctionKind, status: number, code: string): boolean {
  if (code === "COMMIT_UNKNOWN") return true;
  const rejectedBefore = (status >= 400 && status < 500) || status === 503;
  return kind === "action" && !rejectedBefore;
}

function stopped(signal: AbortSignal, mayHaveRun: boolean, cause: unknown): Attempt {
  const timedOut = signal.reason === TIMED_OUT;
  const code = timedOut ? "CLIENT_TIMEOUT" : "ABORTED";
  const message = timedOut ? "The call took longer than its timeout" : "The call was aborted";
  return { ...NOTHING, code, message, cause: timedOut ? cause : signal.reason, mayHaveRun, isRetryable: false };
}

/** Returns the token, `undefined` without a token, or the failure of the provider. */
async function tokenOf(source: TokenSource | undefined, rejected: string | undefined, signal: AbortSignal): Promise<string | undefined | Attempt> {
  if (typeof source !== "function") return source;
  let stop = (): void => undefined;
  const whenStopped = new Promise<typeof ABORTED>((resolve) => {
    stop = () => { resolve(ABORTED); };
  });
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  try {
    const token = await Promise.race([Promise.resolve(source({ rejected })), whenStopped]);
    return token === ABORTED ? stopped(signal, false, undefined) : (token ?? undefined);
  } catch (cause) {
    const message = `The token provider failed: ${reasonOf(cause)}`;
    return { ...NOTHING, code: "TOKEN_UNAVAILABLE", message, cause, mayHaveRun: false, isRetryable: false };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

const ABORTED = Symbol("aborted");

/** Waits. Returns false if the call was aborted meanwhile. */
function slept(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve(false);
      return;
    }
    const wake = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", wake);
      resolve(true);
    }, ms);
    signal.addEventListener("abort", wake, { once: true });
  });
}

/** The errors of Node.js before a byte was sent. Browsers do not distinguish them. */
const BEFORE_SENDING: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

function wasNeverSent(thrown: unknown): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const causes: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return causes.length > 0 && causes.every((item) => BEFORE_SENDING.has(objectOf(item)?.["code"]));
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if (thrown.cause === undefined) return thrown.message;
  const code = objectOf(thrown.cause)?.["code"];
  return `${thrown.message} (${typeof code === "string" ? code : reasonOf(thrown.cause)})`;
}

function hasIdempotencyKey(args: unknown): boolean {
  const key = objectOf(args)?.["idempotencyKey"];
  return typeof key === "string" && key !== "";
}

/** `Retry-After`: seconds, or a date. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function parsed(text: string): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function lines(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((line) => typeof line === "string") : [];
}

/** Returns a unique id, which is not secret. Pages without HTTPS have no `randomUUID`. */
function randomId(): string {
  const digit = (): string => Math.floor(Math.random() * 36).toString(36);
  return typeof crypto !== "undefined" && "randomUUID" in crypto ? crypto.randomUUID() : Array.from({ length: 24 }, digit).join("");
}

/** The functions by the parts of their paths, each with its kind. A function that is also a module has its kind under `""`. */
interface Tree {
  readonly [name: string]: FunctionKind | Tree;
}

function built(client: ClientOptions, tree: Tree, prefix: string): object {
  const itself = tree[""];
  const target = typeof itself === "string" ? callable(client, prefix.slice(0, -1), itself) : {};
  for (const [name, node] of Object.entries(tree)) {
    if (name === "") continue;
    const value = typeof node === "string" ? callable(client, prefix + name, node) : built(client, node, `${prefix}${name}/`);
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true });
  }
  return target;
}

function callable(client: ClientOptions, path: string, kind: FunctionKind): object {
  const safe = (args?: unknown, options?: CallOptions): Promise<Result<unknown>> => run(client, path, kind, args, options ?? {});
  const call = async (args?: unknown, options?: CallOptions): Promise<unknown> => {
    const result = await safe(args, options);
    if (result.ok) return result.value;
    throw result.error;
  };
  if (kind !== "query") return Object.assign(call, { safe, path, kind });
  const watching = (args: unknown, onResult: (value: unknown) => void, options?: WatchOptions): (() => void) =>
    watch(client, path, args, onResult, options ?? {});
  return Object.assign(call, { safe, path, kind, watch: watching });
}
