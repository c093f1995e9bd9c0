// The typed client of a server's functions, made by `bookshelf codegen typescript`. Do not edit it: make it again.
//
//   import { createClient, isConvokeError } from "./convoke";
//
//   const client = createClient({ url: "https://api.example.com", token: () => session.token });
//   const value = await client.books.list();          // rejects with a ConvokeError
//   const result = await client.books.list.safe();    // { ok: true, value } or { ok: false, error }
//
//   const stop = client.books.list.watch({}, (value) => show(value), { signal });   // and each later result
//
// It needs `fetch` (Node.js 18, or any browser) and nothing else; in tsconfig.json, `lib` with "ES2022" and "DOM".
// Calls that are safe to repeat are retried after errors that may pass: queries, mutations (each call carries a key of its
// own, so that the server runs it once), actions with an `idempotencyKey`, and calls that certainly did not run. No other
// call is ever sent twice.

// ---- The functions, by their path ----------------------------------------------------------------------------------

/** Every function of the server that can be called from outside. */
export interface Client {
  readonly books: {
    /**
     * Puts a book on the shelf.
     *
     * **Errors**
     * - `UNAUTHENTICATED`: nobody is signed in.
     */
    readonly add: ServerFunction<"mutation", BooksAdd, BookId>;
    /** The books by title, twenty a page. Everybody may look. */
    readonly list: EasyServerQuery<BooksList, PageOfBooksRow>;
    /** The books by title, in parts that stay side by side. */
    readonly shelf: ServerQuery<BooksShelf, PaginationResultOfBooksRow>;
  };
  readonly catalog: {
    /**
     * Looks a book up and puts it on the shelf.
     *
     * **Errors**
     * - `NOT_FOUND`: the catalog does not know it.
     * - `PROVIDER_ERROR`, `TIMEOUT`: the catalog does not answer.
     */
    readonly addByIsbn: ServerFunction<"action", CatalogAddByIsbn, BookId>;
  };
  readonly loans: {
    /**
     * Borrows a book, and has its end remembered.
     *
     * **Errors**
     * - `NOT_FOUND`: there is no such book.
     * - `CONFLICT`: somebody has it.
     * - `FAILED_PRECONDITION`: the person has as many as they may.
     */
    readonly borrowBook: ServerFunction<"mutation", LoansBorrowBook, LoanId>;
    /**
     * Gives a book back.
     *
     * **Errors**
     * - `NOT_FOUND`: there is no such loan, or it is somebody else's.
     */
    readonly giveBack: ServerFunction<"mutation", LoansGiveBack, null>;
  };
  readonly migrations: {
    /**
     * Gives every book of the time before there were marks one.
     *
     * For a deploy key or an identity with the role `admin`.
     */
    readonly markBooks: EasyServerFunction<"mutation", Batch, Migrated>;
  };
  readonly upkeep: {
    /**
     * How many books are out. For a deploy key, or `convoke run` beside the data folder.
     *
     * For a deploy key or an identity with the role `admin`.
     */
    readonly booksOut: EasyServerQuery<NoArgs, number>;
  };
}

/** A client of the server at `options.url`. It holds no connection and needs no end. */
export function createClient(options: ClientOptions): Client {
  return built(options, FUNCTIONS, "") as Client;
}

const FUNCTIONS: Tree = {
  books: {
    add: "mutation",
    list: "query",
    shelf: "query",
  },
  catalog: {
    addByIsbn: "action",
  },
  loans: {
    borrowBook: "mutation",
    giveBack: "mutation",
  },
  migrations: {
    markBooks: "mutation",
  },
  upkeep: {
    booksOut: "query",
  },
};

// ---- What they take and return -------------------------------------------------------------------------------------

/** Such as `book_01h455vb4pex5vsknk084sn02q`. */
export type BookId = Id<"book">;

/** Such as `loan_01h455vb4pex5vsknk084sn02q`. */
export type LoanId = Id<"loan">;

/** What a migration takes. */
export interface Batch {
  /** Begin anew, if it has come to its end. */
  again?: boolean | null | undefined;
  /** Rows of this call at most: 500 by default, 10,000 at most. */
  limit?: number | null | undefined;
}

/** What `add` takes. */
export interface BooksAdd {
  /** A book's title, as it stands on the cover. 1 … 200 characters. */
  title: string;
}

/** What `list` takes. */
export interface BooksList {
  /** Where the last page ended; absent for the first. */
  cursor?: Cursor | null | undefined;
}

/** One book. */
export interface BooksRow {
  /** Milliseconds since the epoch. */
  _creationTime: number;
  /** Id of a row of `books`. */
  _id: BookId;
  isbn?: string;
  /** What stands on its back. Books from before this field existed have none until they are migrated. */
  mark?: string;
  /** Books from before this field existed read 0. */
  timesBorrowed: number;
  /** A book's title, as it stands on the cover. 1 … 200 characters. */
  title: string;
}

/** What `shelf` takes. */
export interface BooksShelf {
  paginationOpts: PaginationOptsInput;
}

/** What `addByIsbn` takes. */
export interface CatalogAddByIsbn {
  /** The number on the back of a book. */
  isbn: string;
}

/** Where a page ended: opaque to clients, bound to its query. */
export type Cursor = string;

/** What `borrowBook` takes. */
export interface LoansBorrowBook {
  /** Id of a row of `books`. */
  book: BookId;
  /** The same key, sent again because no answer came, borrows once and is answered the same. */
  idempotencyKey?: string | null | undefined;
}

/** What `giveBack` takes. */
export interface LoansGiveBack {
  /** Id of a row of `loans`. */
  loan: LoanId;
}

/** How far a migration has come. */
export interface Migrated {
  /** Rows it has looked at, in all its calls. */
  done: number;
  /** Whether it is through. */
  finished: boolean;
  /** Rows that there were when it began. */
  total: number;
}

/** No arguments: an empty object on the wire. */
export type NoArgs = Record<string, never>;

/** A part of a list, and where the next part begins. */
export interface PageOfBooksRow {
  /** What to send for the next part; absent at the end. */
  cursor?: Cursor;
  /** The rows of this part. */
  items: BooksRow[];
}

/** What is to be done with a page. */
export type PageStatus = "SplitRequired";

/** Which page of a list is asked for: the argument `paginationOpts` of a query that ends in `paginate`. */
export interface PaginationOptsInput {
  /**
   * Where it begins: the `continueCursor` of the page before; null for the first one.
   *
   * Where a page begins: behind a cursor, or, as null, at the beginning of the list.
   */
  cursor: Cursor | null;
  /** Where it ends, which is then its last row whatever `numItems` says: a `continueCursor` or `splitCursor`. */
  endCursor?: Cursor | null | undefined;
  /** What the client tells its lists apart by; it changes nothing. */
  id?: number | null | undefined;
  /**
   * Bytes of JSON that the page has at most, about.
   *
   * How many rows, or bytes, something has at most.
   *
   * 1 … 4294967295.
   */
  maximumBytesRead?: number | null | undefined;
  /**
   * Rows that are read at most.
   *
   * How many rows, or bytes, something has at most.
   *
   * 1 … 4294967295.
   */
  maximumRowsRead?: number | null | undefined;
  /**
   * How many rows the page has when it is read first.
   *
   * How many rows, or bytes, something has at most.
   *
   * 1 … 4294967295.
   */
  numItems: number;
}

/** A page of a list, as `paginate` reads it. */
export interface PaginationResultOfBooksRow {
  /** Where the page ends, and the next one begins. */
  continueCursor: Cursor;
  /** Whether it is the last page. */
  isDone: boolean;
  /** The rows of this page. */
  page: BooksRow[];
  /** What is to be done with the page, if anything. */
  pageStatus?: PageStatus;
  /** A place in the middle of the page, which has become long: it is better asked for as two. */
  splitCursor?: Cursor;
}


// ---- The errors of the server --------------------------------------------------------------------------------------

/** Every code of the server. Those of functions come first; the others are of the call. */
export type ServerErrorCode =
  /** The function needs a caller and there is none. */
  | "UNAUTHENTICATED"
  /** The caller has no right to do this. */
  | "FORBIDDEN"
  /** The thing named does not exist, or is not the caller's. */
  | "NOT_FOUND"
  /** An argument is missing, unknown, of the wrong type, or out of bounds; `field` names it. */
  | "INVALID_ARGUMENT"
  /** It collides with what is stored. */
  | "CONFLICT"
  /** The idempotency key was used with other arguments. */
  | "IDEMPOTENCY_KEY_REUSED"
  /** The state of things does not allow it. */
  | "FAILED_PRECONDITION"
  /** Too many calls, or too much of something, by this caller. */
  | "RATE_LIMITED"
  /** A service outside failed. */
  | "PROVIDER_ERROR"
  /** The function ran longer than it may; nothing of it was kept. */
  | "TIMEOUT"
  /** It cannot be done now. */
  | "UNAVAILABLE"
  /** The body is not JSON, has a duplicate key, or nests too deep. */
  | "INVALID_JSON"
  /** The body is JSON but not a call's envelope. */
  | "INVALID_ENVELOPE"
  /** `format` names a transport that is not supported. */
  | "UNSUPPORTED_FORMAT"
  /** No public function has this path. */
  | "FUNCTION_NOT_FOUND"
  /** The function is of another kind than the route. */
  | "WRONG_FUNCTION_KIND"
  /** The credentials that were sent are not valid. */
  | "INVALID_CREDENTIALS"
  /** The deploy key is valid and lacks the scope. */
  | "INSUFFICIENT_SCOPE"
  /** Not a route. */
  | "ROUTE_NOT_FOUND"
  /** A route, but not with this method. */
  | "METHOD_NOT_ALLOWED"
  /** The request did not arrive in time. */
  | "REQUEST_TIMEOUT"
  /** The body is larger than the limit. */
  | "PAYLOAD_TOO_LARGE"
  /** The body is not declared as JSON. */
  | "UNSUPPORTED_MEDIA_TYPE"
  /** Too many calls of one address. */
  | "TOO_MANY_REQUESTS"
  /** The header block is larger than the limit. */
  | "HEADERS_TOO_LARGE"
  /** The request cannot be read as HTTP. */
  | "BAD_REQUEST"
  /** Something broke inside; the log has the reason under the request id. */
  | "INTERNAL"
  /** It is unknown whether the mutation was committed. */
  | "COMMIT_UNKNOWN"
  /** More calls wait than may. */
  | "OVERLOADED"
  /** Starting, draining, or the store or identity keys cannot be used now. */
  | "NOT_READY";

/** Whether the same call, sent again later, can succeed without a change by the caller. */
const RETRYABLE: Readonly<Record<ServerErrorCode, boolean>> = {
  UNAUTHENTICATED: false,
  FORBIDDEN: false,
  NOT_FOUND: false,
  INVALID_ARGUMENT: false,
  CONFLICT: false,
  IDEMPOTENCY_KEY_REUSED: false,
  FAILED_PRECONDITION: false,
  RATE_LIMITED: true,
  PROVIDER_ERROR: true,
  TIMEOUT: true,
  UNAVAILABLE: true,
  INVALID_JSON: false,
  INVALID_ENVELOPE: false,
  UNSUPPORTED_FORMAT: false,
  FUNCTION_NOT_FOUND: false,
  WRONG_FUNCTION_KIND: false,
  INVALID_CREDENTIALS: false,
  INSUFFICIENT_SCOPE: false,
  ROUTE_NOT_FOUND: false,
  METHOD_NOT_ALLOWED: false,
  REQUEST_TIMEOUT: true,
  PAYLOAD_TOO_LARGE: false,
  UNSUPPORTED_MEDIA_TYPE: false,
  TOO_MANY_REQUESTS: true,
  HEADERS_TOO_LARGE: false,
  BAD_REQUEST: false,
  INTERNAL: false,
  COMMIT_UNKNOWN: false,
  OVERLOADED: true,
  NOT_READY: true,
};

function isServerErrorCode(code: string): code is ServerErrorCode {
  return Object.hasOwn(RETRYABLE, code);
}

// ---- The client ----------------------------------------------------------------------------------------------------

/** What every call of a client shares. */
export interface ClientOptions {
  /** Where the server is, such as `https://api.example.com`. */
  readonly url: string;
  /** Whose calls they are: a token (JWT), or a function that is asked for one before every call. */
  readonly token?: TokenSource | undefined;
  /** A deploy key instead of a token. Never in a page: whoever reads it may do what it may. */
  readonly deployKey?: string | undefined;
  /** How long a call may take in all, retries included; 30 s for queries and mutations, 11 min for actions. */
  readonly timeoutMs?: number | undefined;
  /** How often a call that is safe to repeat is repeated before its failure is told; 3. */
  readonly retries?: number | undefined;
  /** Another `fetch`, such as one of a test. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Gets what functions log, where the server sends it. */
  readonly onLogLines?: ((lines: readonly string[], call: { readonly path: string; readonly requestId: string }) => void) | undefined;
}

/** What one call has of its own. */
export interface CallOptions {
  /** Aborts the call. A mutation or action that was sent may run all the same. */
  readonly signal?: AbortSignal | undefined;
  /** How long this call may take in all, retries included. */
  readonly timeoutMs?: number | undefined;
  /** How often this call is repeated at most. */
  readonly retries?: number | undefined;
  /** By what the server's log knows it: 1 … 64 of `A-Za-z0-9._-`. Made up unless given. */
  readonly requestId?: string | undefined;
  /**
   * By what the server knows a mutation that is sent again: 1 … 255 visible characters of ASCII, at least 16 without an
   * identity. Made up unless given; give one to repeat a mutation in another process. It does its work once a week.
   */
  readonly idempotencyKey?: string | undefined;
  /** Whose call it is, where one process calls for many; `null` for nobody's. */
  readonly token?: TokenSource | null | undefined;
}

/**
 * A token, or what gets one. A function is told the token that the server has just rejected, if it has: if it then
 * returns another one, the call is sent once more with that.
 */
export type TokenSource =
  | string
  | ((asked: { readonly rejected: string | undefined }) => string | null | undefined | Promise<string | null | undefined>);

/** How a call ended, for those who would rather look than catch. */
export type Result<Value> =
  | { readonly ok: true; readonly value: Value; readonly requestId: string; readonly logLines: readonly string[] }
  | { readonly ok: false; readonly error: ConvokeError };

/** A function of the server. */
export interface ServerFunction<Kind extends FunctionKind, Args, Value> {
  /** Calls it. Rejects with a {@link ConvokeError}, which {@link isConvokeError} recognizes. */
  (args: Args, options?: CallOptions): Promise<Value>;
  /** Calls it. Does not reject: a failure is a result whose `error` is typed by its `code`. */
  safe(args: Args, options?: CallOptions): Promise<Result<Value>>;
  readonly path: string;
  readonly kind: Kind;
}

/** A function of the server for which `{}` is enough. */
export interface EasyServerFunction<Kind extends FunctionKind, Args, Value> {
  /** Calls it. Rejects with a {@link ConvokeError}, which {@link isConvokeError} recognizes. */
  (args?: Args, options?: CallOptions): Promise<Value>;
  /** Calls it. Does not reject: a failure is a result whose `error` is typed by its `code`. */
  safe(args?: Args, options?: CallOptions): Promise<Result<Value>>;
  readonly path: string;
  readonly kind: Kind;
}

/** A query of the server: a function whose result can be watched. */
export interface ServerQuery<Args, Value> extends ServerFunction<"query", Args, Value> {
  /**
   * Tells its result, and from then on each one that differs from the last, until `options.signal` aborts or the returned
   * function is called. A connection that is lost, or silent for too long, is made again.
   *
   * Each watch is a connection of its own, and over HTTP/1.1 a browser has six to a server: a page with many of them is
   * served over HTTP/2, or uses `convex/react`, which has one WebSocket for all.
   */
  watch(args: Args, onResult: (value: Value) => void, options?: WatchOptions): () => void;
}

/** A query of the server for which `{}` is enough. */
export interface EasyServerQuery<Args, Value> extends EasyServerFunction<"query", Args, Value> {
  /** As {@link ServerQuery.watch}. */
  watch(args: Args, onResult: (value: Value) => void, options?: WatchOptions): () => void;
}

/** What one watch has of its own. */
export interface WatchOptions {
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Told what the function refuses (`ended` is false: a later commit may bring a result), and why the watch has ended:
   * the credentials are rejected, or there is a limit. Without it an error is thrown where nobody can catch it.
   */
  readonly onError?: ((error: ConvokeError, ended: boolean) => void) | undefined;
  /** Told why the connection is lost, or could not be made again, and, with nothing, that it is there. */
  readonly onConnection?: ((lost: ConvokeError | undefined) => void) | undefined;
  /** Whose watch it is; `null` for nobody's. */
  readonly token?: TokenSource | null | undefined;
}

/** What a call of a function may do: read, write one transaction, or work outside the database. */
export type FunctionKind = "query" | "mutation" | "action";

/** Any JSON. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** Any JSON object. */
export interface JsonObject {
  [member: string]: JsonValue;
}

/** The id of a row. A plain string will do; the id of a row of another table will not. */
export type Id<Prefix extends string> = string & { readonly __row?: Prefix };

/** What went wrong, by where it was found: by the server, or by this client before or after it. */
export type ErrorCode = ServerErrorCode | ClientErrorCode;

/** What this client finds. */
export type ClientErrorCode =
  /** The caller's signal aborted the call. */
  | "ABORTED"
  /** The call took longer than `timeoutMs`. */
  | "CLIENT_TIMEOUT"
  /** There was no connection, or it broke before the answer was whole. */
  | "CONNECTION_FAILED"
  /** What answered is no server of this kind, such as a proxy with a page of its own. */
  | "INVALID_RESPONSE"
  /** The function that is asked for tokens threw. */
  | "TOKEN_UNAVAILABLE"
  /** A code that this file does not know yet; it stands in `data.code`. */
  | "UNRECOGNIZED_CODE";

/** What comes with an error beside its sentence, by its code. Functions add members of their own. */
export interface ErrorData extends Record<ErrorCode, JsonObject> {
  INVALID_ARGUMENT: JsonObject & {
    /** Which argument, such as `interests[2].category`; empty for all of them together. */
    field: string;
  };
  FUNCTION_NOT_FOUND: JsonObject & {
    /** The path that may have been meant. */
    nearest?: string;
  };
  UNRECOGNIZED_CODE: JsonObject & { code: string };
}

/** Why a call failed: a union, so that `switch (error.code)` knows the type of `error.data`. */
export type ConvokeError = { [Code in ErrorCode]: CallFailure<Code> }[ErrorCode];

/** Whether something that was caught is the failure of a call. */
export function isConvokeError(caught: unknown): caught is ConvokeError {
  return caught instanceof CallFailure;
}

/** The class of every {@link ConvokeError}. */
export class CallFailure<Code extends ErrorCode> extends Error {
  override readonly name: string = "ConvokeError";
  /** What to switch on. */
  readonly code: Code;
  /** What comes with it. */
  readonly data: ErrorData[Code];
  /** The HTTP status, if there was an answer. */
  readonly status: number | undefined;
  /** Whether something may have been changed all the same. `false`: certainly nothing was. */
  readonly mayHaveRun: boolean;
  /** The function's path. */
  readonly path: string;
  /** By what the server's log knows the call. */
  readonly requestId: string;
  /** What the function logged, also where its writes were taken back. */
  readonly logLines: readonly string[];
  /** How often the call was sent. */
  readonly attempts: number;

  constructor(code: Code, message: string, data: ErrorData[Code], told: FailureDetails) {
    super(message, told.cause === undefined ? undefined : { cause: told.cause });
    this.code = code;
    this.data = data;
    this.status = told.status;
    this.mayHaveRun = told.mayHaveRun;
    this.path = told.path;
    this.requestId = told.requestId;
    this.logLines = told.logLines;
    this.attempts = told.attempts;
  }
}

/** What a failure says beside its code. */
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

/** Why the one controller of a call was aborted. */
const TIMED_OUT = Symbol("timed out");

/** One attempt that failed. */
interface Attempt {
  readonly code: ErrorCode;
  readonly message: string;
  readonly data: JsonObject;
  readonly status: number | undefined;
  readonly logLines: readonly string[];
  readonly requestId: string | undefined;
  readonly cause: unknown;
  /** Whether it may have changed something. */
  readonly mayHaveRun: boolean;
  /** Whether a repetition can help. */
  readonly mayPass: boolean;
  /** How long the server asked to wait. */
  readonly waitMs: number | undefined;
}

interface Answer {
  readonly value: unknown;
  readonly logLines: readonly string[];
  readonly requestId: string | undefined;
}

/** One call, from its arguments to its end. */
async function run(client: ClientOptions, path: string, kind: FunctionKind, args: unknown, own: CallOptions): Promise<Result<unknown>> {
  const requestId = own.requestId ?? randomId();
  const body = JSON.stringify({ args: args ?? {} });
  const idempotencyKey = kind === "mutation" ? (own.idempotencyKey ?? randomId()) : undefined;
  const keyed = idempotencyKey !== undefined || hasIdempotencyKey(args);
  const timeoutMs = own.timeoutMs ?? client.timeoutMs ?? TIMEOUT_MS[kind];
  const retries = own.retries ?? client.retries ?? RETRIES;
  const ends = Date.now() + timeoutMs;
  const stop = new AbortController();
  // The longest time that setTimeout knows; beyond it the call is not timed.
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
        // Nothing ran. Another token than the rejected one is worth one more attempt.
        rejected = token;
        token = await tokenOf(source, rejected, stop.signal);
        if (token === undefined || token === rejected) return failed(outcome, mayHaveRun);
        continue;
      }
      const safe = kind === "query" || keyed || !outcome.mayHaveRun;
      if (!safe || !outcome.mayPass || attempts > retries) return failed(outcome, mayHaveRun);
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

/** How long to wait after so many attempts: twice as long each time, and not as long as others. */
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
    return { ...NOTHING, code: "CONNECTION_FAILED", message, cause, mayHaveRun, mayPass: true };
  }
  const envelope = parsed(text);
  if (response.status === 200 && envelope?.["status"] === "success" && "value" in envelope) {
    const requestId = response.headers.get("X-Request-Id") ?? undefined;
    return { value: envelope["value"], logLines: lines(envelope["logLines"]), requestId };
  }
  return refusalOf(kind, response, envelope, text);
}

/** Where something of the server is. */
function addressOf(client: ClientOptions, path: string): string {
  return client.url.replace(/\/+$/, "") + path;
}

/** Whose token is sent: none beside a deploy key. */
function tokenSource(client: ClientOptions, own: { readonly token?: TokenSource | null | undefined }): TokenSource | undefined {
  return client.deployKey === undefined && own.token !== null ? (own.token ?? client.token) : undefined;
}

function authorize(headers: Record<string, string>, client: ClientOptions, token: string | undefined): void {
  if (client.deployKey !== undefined) headers["Authorization"] = `Convoke ${client.deployKey}`;
  else if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
}

/** What an answer says that is no success. */
function refusalOf(kind: FunctionKind, response: Response, envelope: JsonObject | undefined, text: string): Attempt {
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  const waitMs = retryAfterMs(response.headers.get("Retry-After"));
  const { status } = response;
  const changes = kind !== "query";
  const data = objectOf(envelope?.["errorData"]);
  const code = data?.["code"];
  const message = envelope?.["errorMessage"];
  if (envelope?.["status"] !== "error" || data === undefined || typeof code !== "string" || typeof message !== "string") {
    const said = `Status ${String(status)} with a body that is no answer of a function: ${text.slice(0, 200)}`;
    const mayPass = status === 429 || (status >= 502 && status <= 504);
    return { ...NOTHING, code: "INVALID_RESPONSE", message: said, status, requestId, waitMs, mayHaveRun: changes, mayPass };
  }
  // A function that counts its callers' calls says when the next one is welcome.
  const asked = data["retryAfterMs"];
  const logLines = lines(envelope["logLines"]);
  const told = { ...NOTHING, message, data, status, logLines, requestId, waitMs: typeof asked === "number" ? asked : waitMs };
  const mayHaveRun = changes && mayHaveChanged(kind, status, code);
  if (!isServerErrorCode(code)) return { ...told, code: "UNRECOGNIZED_CODE", mayHaveRun, mayPass: false };
  // Nobody knows whether it was committed: a mutation's key makes asking again the way to find out.
  return { ...told, code, mayHaveRun, mayPass: RETRYABLE[code] || code === "COMMIT_UNKNOWN" };
}

/** How long a connection may be silent: the server says something every 15 s. */
const SILENCE_MS_MAX = 45_000;
const RECONNECT_MS_MAX = 15_000;
/** A connection that brought results for so long is no failed attempt. */
const SETTLED_MS = 1_000;

/** One watch, from its first connection to its end. */
function watch(client: ClientOptions, path: string, args: unknown, onResult: (value: unknown) => void, own: WatchOptions): () => void {
  const body = JSON.stringify({ queries: [{ path, args: args ?? {} }] });
  const source = tokenSource(client, own);
  const stop = new AbortController();
  /** Where the last event stood, and what it said. */
  const last = { id: "", data: "" };
  /** The token that the server has just rejected. */
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

  /** Calls the caller, whose errors are not ours, unless nothing more is wanted. */
  function tell(work: () => void): void {
    queueMicrotask(() => {
      if (!stop.signal.aborted) work();
    });
  }

  function tellError(error: ConvokeError, ended: boolean): void {
    tell(() => {
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
      // A provider of tokens that cannot be reached is like a server that cannot.
      const outcome = typeof token === "object" ? { ...token, mayPass: true } : await listen(token, requestId);
      if (stop.signal.aborted) return;
      attempts = isConnected && Date.now() - began > SETTLED_MS ? 1 : attempts + 1;
      isConnected = false;
      if (outcome.code === "INVALID_CREDENTIALS" && typeof source === "function" && typeof token === "string" && rejected === undefined) {
        rejected = token;
        continue;
      }
      const error = failureOf(path, outcome, requestId, attempts);
      if (!outcome.mayPass) {
        own.signal?.removeEventListener("abort", end);
        tellError(error, true);
        return;
      }
      tell(() => own.onConnection?.(error));
      if (!(await slept((outcome.waitMs ?? 0) + backoffMs(attempts, RECONNECT_MS_MAX), stop.signal))) return;
    }
  }

  /** One connection: hands on what arrives, and returns why it ended. */
  async function listen(token: string | undefined, requestId: string): Promise<Attempt> {
    if (rejected !== undefined && (token === undefined || token === rejected)) {
      return { ...NOTHING, code: "INVALID_CREDENTIALS", message: "The token was rejected, and there is no other", mayHaveRun: false, mayPass: false };
    }
    const headers: Record<string, string> = { "Content-Type": "application/json", "X-Request-Id": requestId };
    if (last.id !== "") headers["Last-Event-ID"] = last.id;
    authorize(headers, client, token);
    const connection = new AbortController();
    const cut = (): void => { connection.abort(); };
    stop.signal.addEventListener("abort", cut);
    if (stop.signal.aborted) cut();
    let silence = setTimeout(cut, SILENCE_MS_MAX);
    const heard = (): void => {
      clearTimeout(silence);
      silence = setTimeout(cut, SILENCE_MS_MAX);
    };
    try {
      const asked = { method: "POST", headers, body, signal: connection.signal };
      const response = await (client.fetch ?? globalThis.fetch)(addressOf(client, "/api/live"), asked);
      const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream") === true;
      // Some have a `fetch` without streams, whose text would never end.
      if (response.status !== 200 || !isStream || !response.body) {
        const text = isStream ? "" : await response.text();
        return refusalOf("query", response, parsed(text), text);
      }
      for await (const event of eventsOf(response.body, heard)) {
        const ended = take(event, response);
        if (ended !== undefined) return ended;
      }
      return { ...NOTHING, code: "CONNECTION_FAILED", message: "The connection was closed", mayHaveRun: false, mayPass: true };
    } catch (cause) {
      const message = `The server cannot be reached: ${connection.signal.aborted ? "it is silent" : reasonOf(cause)}`;
      return { ...NOTHING, code: "CONNECTION_FAILED", message, cause, mayHaveRun: false, mayPass: true };
    } finally {
      clearTimeout(silence);
      stop.signal.removeEventListener("abort", cut);
      cut();
    }
  }

  /** Hands on an event; returns why the connection is at its end, if it is. */
  function take(event: ServerEvent, response: Response): Attempt | undefined {
    if (event.type === "end") {
      const ended = refusalOf("query", response, parsed(event.data), event.data);
      // What exceeds a limit now would exceed it again.
      return ended.code === "OVERLOADED" ? { ...ended, mayPass: false } : ended;
    }
    if (event.type !== "results") return undefined;
    if (!isConnected) tell(() => own.onConnection?.(undefined));
    isConnected = true;
    rejected = undefined;
    if (event.id !== undefined) last.id = event.id;
    const results = parsed(event.data)?.["results"];
    const result = objectOf(Array.isArray(results) ? results[0] : undefined);
    // Nothing has changed since `Last-Event-ID`.
    if (result === undefined) return undefined;
    const requestId = response.headers.get("X-Request-Id") ?? "";
    const refusal = result["status"] === "success" && "value" in result ? undefined : refusalOf("query", response, result, event.data);
    // A server that was started anew may say what the former has said.
    if (event.data !== last.data) {
      last.data = event.data;
      const logLines = lines(result["logLines"]);
      if (logLines.length > 0) tell(() => client.onLogLines?.(logLines, { path, requestId }));
      if (refusal === undefined) tell(() => { onResult(result["value"]); });
      else tellError(failureOf(path, refusal, requestId, 1), false);
    }
    if (refusal?.mayPass !== true) return undefined;
    // No commit has to happen for another result: it is asked for anew, whatever has changed since.
    last.id = "";
    return refusal;
  }
}

/** One of what a server tells. */
interface ServerEvent {
  readonly type: string;
  readonly data: string;
  readonly id: string | undefined;
}

/**
 * The events of a `text/event-stream` (WHATWG HTML §9.2.6), however it is cut into chunks. One at whose end it breaks
 * off is none. `heard` is called for whatever arrives, comments too.
 */
async function* eventsOf(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<ServerEvent, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let line = "";
  let isAfterReturn = false;
  let event = { type: "", data: [] as string[], id: undefined as string | undefined };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      const text = decoder.decode(value, { stream: true });
      if (text === "") continue;
      // A line may end with both, and they may be in two chunks.
      const [first = "", ...more] = (isAfterReturn && text.startsWith("\n") ? text.slice(1) : text).split(/\r\n|\r|\n/);
      isAfterReturn = text.endsWith("\r");
      line += first;
      for (const next of more) {
        const [, name = "", said = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
        if (name === "data") event.data.push(said);
        else if (name === "event") event.type = said;
        else if (name === "id" && !said.includes("\0")) event.id = said;
        else if (line === "") {
          if (event.data.length > 0) yield { ...event, data: event.data.join("\n") };
          event = { type: "", data: [], id: undefined };
        }
        line = next;
      }
    }
  } finally {
    // Whoever leaves off has no more use for what still comes.
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

/** Whether an answered failure may have left something: a failed mutation is taken back, an action may be half done. */
function mayHaveChanged(kind: FunctionKind, status: number, code: string): boolean {
  if (code === "COMMIT_UNKNOWN") return true;
  const refusedBefore = (status >= 400 && status < 500) || status === 503;
  return kind === "action" && !refusedBefore;
}

function stopped(signal: AbortSignal, mayHaveRun: boolean, cause: unknown): Attempt {
  const timedOut = signal.reason === TIMED_OUT;
  const code = timedOut ? "CLIENT_TIMEOUT" : "ABORTED";
  const message = timedOut ? "The call took longer than its timeout" : "The call was aborted";
  return { ...NOTHING, code, message, cause: timedOut ? cause : signal.reason, mayHaveRun, mayPass: false };
}

/** The token, nothing, or why there is none. */
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
    const message = `No token could be had: ${reasonOf(cause)}`;
    return { ...NOTHING, code: "TOKEN_UNAVAILABLE", message, cause, mayHaveRun: false, mayPass: false };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

const ABORTED = Symbol("aborted");

/** Waits; `false` if the call was stopped meanwhile. */
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

/** The failures that Node.js reports before a byte was sent. Browsers do not tell them apart. */
const BEFORE_SENDING: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

function wasNeverSent(thrown: unknown): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const causes: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return causes.length > 0 && causes.every((one) => BEFORE_SENDING.has(objectOf(one)?.["code"]));
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

/** Pages outside of HTTPS have no `randomUUID`; this needs to be unlike others, not secret. */
function randomId(): string {
  const digit = (): string => Math.floor(Math.random() * 36).toString(36);
  return typeof crypto !== "undefined" && "randomUUID" in crypto ? crypto.randomUUID() : Array.from({ length: 24 }, digit).join("");
}

/** Paths by their parts; a function is its kind. One that is a module as well has its kind under `""`. */
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
