/** The id of a row. A plain string is accepted; the id of a row of another table is not. */
export type Id<Prefix extends string> = string & { readonly __row?: Prefix };

/** The error of a function: the `data` of the `ConvexError` that a hook throws or with which a call rejects. */
export interface Refusal {
  /** The code, to switch on. */
  readonly code: ServerErrorCode;
  /** The message for users. */
  readonly message: string;
  /** The path of the argument of an `INVALID_ARGUMENT`, such as `interests[2].category`; empty for all arguments together. */
  readonly field?: string;
  /** Further members of the function. */
  readonly [member: string]: Value | undefined;
}

/** Returns the error of a function if `caught` is one. */
export function refusalOf(caught: unknown): Refusal | undefined {
  const data: unknown = caught instanceof ConvexError ? caught.data : undefined;
  return typeof data === "object" && data !== null && "code" in data ? (data as Refusal) : undefined;
}
