// Typed references to a server's functions for npm's `convex`, made by `bookshelf codegen convex`. Do not edit it: make it
// again.
//
//   import { useMutation, useQuery } from "convex/react";
//   import { api } from "./api";
//
//   const value = useQuery(api.books.list, {});     // undefined while it loads, then always the latest result
//   const change = useMutation(api.books.add);
//
// Values are those of `convex`: a whole number that may be beyond ±2^53 is a `bigint` if it is, bytes are an `ArrayBuffer`.

import { anyApi, type FunctionReference, type PaginationOptions } from "convex/server";
import { ConvexError, type Value } from "convex/values";

// ---- The functions, by their path ----------------------------------------------------------------------------------

/** Every function of the server that can be called from outside. */
export interface Api {
  readonly books: {
    /**
     * Puts a book on the shelf.
     *
     * **Errors**
     * - `UNAUTHENTICATED`: nobody is signed in.
     */
    readonly add: FunctionReference<"mutation", "public", BooksAdd, BookId>;
    /** The books by title, twenty a page. Everybody may look. */
    readonly list: FunctionReference<"query", "public", BooksList, PageOfBooksRow>;
    /** The books by title, in parts that stay side by side. */
    readonly shelf: FunctionReference<"query", "public", BooksShelf, PaginationResultOfBooksRow>;
  };
  readonly catalog: {
    /**
     * Looks a book up and puts it on the shelf.
     *
     * **Errors**
     * - `NOT_FOUND`: the catalog does not know it.
     * - `PROVIDER_ERROR`, `TIMEOUT`: the catalog does not answer.
     */
    readonly addByIsbn: FunctionReference<"action", "public", CatalogAddByIsbn, BookId>;
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
    readonly borrowBook: FunctionReference<"mutation", "public", LoansBorrowBook, LoanId>;
    /**
     * Gives a book back.
     *
     * **Errors**
     * - `NOT_FOUND`: there is no such loan, or it is somebody else's.
     */
    readonly giveBack: FunctionReference<"mutation", "public", LoansGiveBack, null>;
  };
  readonly migrations: {
    /**
     * Gives every book of the time before there were marks one.
     *
     * For a deploy key or an identity with the role `admin`.
     */
    readonly markBooks: FunctionReference<"mutation", "public", Batch, Migrated>;
  };
  readonly upkeep: {
    /**
     * How many books are out. For a deploy key, or `convoke run` beside the data folder.
     *
     * For a deploy key or an identity with the role `admin`.
     */
    readonly booksOut: FunctionReference<"query", "public", NoArgs, number>;
  };
}

/** What hooks and clients are given. */
export const api: Api = anyApi as unknown as Api;

// ---- What they take and return -------------------------------------------------------------------------------------

/** The id of a row. A plain string will do; the id of a row of another table will not. */
export type Id<Prefix extends string> = string & { readonly __row?: Prefix };

/** What a function refused: the `data` of the `ConvexError` that a hook throws, or with which a call rejects. */
export interface Refusal {
  /** What to switch on. */
  readonly code: ServerErrorCode;
  /** A sentence for people. */
  readonly message: string;
  /** Of `INVALID_ARGUMENT`: which argument, such as `interests[2].category`; empty for all of them together. */
  readonly field?: string;
  /** Functions add members of their own. */
  readonly [member: string]: Value | undefined;
}

/** What a function refused, if that is what was caught. */
export function refusalOf(caught: unknown): Refusal | undefined {
  const data: unknown = caught instanceof ConvexError ? caught.data : undefined;
  return typeof data === "object" && data !== null && "code" in data ? (data as Refusal) : undefined;
}

/** Such as `book_01h455vb4pex5vsknk084sn02q`. */
export type BookId = Id<"book">;

/** Such as `loan_01h455vb4pex5vsknk084sn02q`. */
export type LoanId = Id<"loan">;

/** What a migration takes. */
export type Batch = {
  /** Begin anew, if it has come to its end. */
  again?: boolean | null;
  /** Rows of this call at most: 500 by default, 10,000 at most. */
  limit?: number | null;
};

/** What `add` takes. */
export type BooksAdd = {
  /** A book's title, as it stands on the cover. 1 … 200 characters. */
  title: string;
};

/** What `list` takes. */
export type BooksList = {
  /** Where the last page ended; absent for the first. */
  cursor?: Cursor | null;
};

/** One book. */
export type BooksRow = {
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
};

/** What `shelf` takes. */
export type BooksShelf = {
  paginationOpts: PaginationOptions;
};

/** What `addByIsbn` takes. */
export type CatalogAddByIsbn = {
  /** The number on the back of a book. */
  isbn: string;
};

/** Where a page ended: opaque to clients, bound to its query. */
export type Cursor = string;

/** What `borrowBook` takes. */
export type LoansBorrowBook = {
  /** Id of a row of `books`. */
  book: BookId;
  /** The same key, sent again because no answer came, borrows once and is answered the same. */
  idempotencyKey?: string | null;
};

/** What `giveBack` takes. */
export type LoansGiveBack = {
  /** Id of a row of `loans`. */
  loan: LoanId;
};

/** How far a migration has come. */
export type Migrated = {
  /** Rows it has looked at, in all its calls. */
  done: number;
  /** Whether it is through. */
  finished: boolean;
  /** Rows that there were when it began. */
  total: number;
};

/** No arguments: an empty object on the wire. */
export type NoArgs = Record<string, never>;

/** A part of a list, and where the next part begins. */
export type PageOfBooksRow = {
  /** What to send for the next part; absent at the end. */
  cursor?: Cursor;
  /** The rows of this part. */
  items: BooksRow[];
};

/** What is to be done with a page. */
export type PageStatus = "SplitRequired";

/** Which page of a list is asked for: the argument `paginationOpts` of a query that ends in `paginate`. */
export type PaginationOptsInput = {
  /**
   * Where it begins: the `continueCursor` of the page before; null for the first one.
   *
   * Where a page begins: behind a cursor, or, as null, at the beginning of the list.
   */
  cursor: Cursor | null;
  /** Where it ends, which is then its last row whatever `numItems` says: a `continueCursor` or `splitCursor`. */
  endCursor?: Cursor | null;
  /** What the client tells its lists apart by; it changes nothing. */
  id?: number | null;
  /**
   * Bytes of JSON that the page has at most, about.
   *
   * How many rows, or bytes, something has at most.
   *
   * 1 … 4294967295.
   */
  maximumBytesRead?: number | null;
  /**
   * Rows that are read at most.
   *
   * How many rows, or bytes, something has at most.
   *
   * 1 … 4294967295.
   */
  maximumRowsRead?: number | null;
  /**
   * How many rows the page has when it is read first.
   *
   * How many rows, or bytes, something has at most.
   *
   * 1 … 4294967295.
   */
  numItems: number;
};

/** A page of a list, as `paginate` reads it. */
export type PaginationResultOfBooksRow = {
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
};


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
