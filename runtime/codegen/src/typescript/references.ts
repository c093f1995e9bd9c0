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
