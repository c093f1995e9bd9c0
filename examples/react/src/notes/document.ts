// The notes as one page shows them: what the server has, and on top of it what was typed here and is not there yet.
//
// One edit at a time is under way to the server; what is typed meanwhile waits. What others did is carried past both, so
// that typing never waits for anybody. Knows no network: `session.ts` does.

import type { NoteEdit, NotesQueriesLoggedOperation as LoggedOperation } from "../api";
import { apply, cross, difference, merged, type Edit } from "./edits";

/** What is sent to the server, and sent again as it is if need be: by its id the server does it once. */
export interface Sending {
  readonly operationId: string;
  /** The last entry of the log that the edit has passed here. */
  readonly clientSequence: number;
  readonly operation: Edit;
}

export class NotesDocument {
  #text: string;
  #sequence: number;
  /** What is under way, as it is behind everything that is known by now. */
  #sent: { readonly request: Sending; edits: Edit[]; version?: number; lastSequence?: number } | undefined;
  #waiting: Edit[] = [];
  #count = 0;
  /** Unlike that of every other page. */
  readonly #page = Array.from({ length: 20 }, () => Math.floor(Math.random() * 36).toString(36)).join("");

  /** The text as the server has it behind the entry `sequence` of the log. */
  constructor(text: string, sequence: number) {
    this.#text = text;
    this.#sequence = sequence;
  }

  /** The last entry of the log that was taken in. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Whether the server has everything. */
  get isSaved(): boolean {
    return this.#sent === undefined && this.#waiting.length === 0;
  }

  /** The text for a text area, which has no carriage returns: they are shown as a sign of the same length. */
  get shown(): string {
    return shown(this.#text);
  }

  /** Takes in what the text area has now. */
  type(value: string): void {
    for (const edit of difference(this.shown, value)) {
      this.#text = apply(this.#text, edit);
      const last = this.#waiting.at(-1);
      const both = last === undefined ? undefined : merged(last, edit);
      if (both === undefined) this.#waiting.push(edit);
      else this.#waiting.splice(-1, 1, both);
    }
  }

  /** What is to be sent now, if anything is. */
  next(): Sending | undefined {
    if (this.#sent !== undefined) return undefined;
    const operation = this.#waiting.shift();
    if (operation === undefined) return undefined;
    this.#count += 1;
    const request = { operationId: `${this.#page}.${String(this.#count)}`, clientSequence: this.#sequence, operation };
    this.#sent = { request, edits: [operation] };
    return request;
  }

  /** What was sent is in the log, up to this entry. */
  applied(lastSequence: number): void {
    if (this.#sent !== undefined) this.#sent.lastSequence = lastSequence;
    this.#settle();
  }

  /** Takes in what the log tells; returns what others did, as it is to be done in the text area. */
  receive(entries: readonly LoggedOperation[]): Edit[] {
    const done: Edit[] = [];
    for (const { sequence, version, operationId, operation } of entries) {
      if (sequence <= this.#sequence) continue;
      this.#sequence = sequence;
      const sent = this.#sent;
      if (sent !== undefined && (operationId === sent.request.operationId || version === sent.version)) {
        // One's own, which is in the text already. It may be several entries of one version.
        sent.version = version;
        sent.edits = [];
        continue;
      }
      let theirs = editsOf(operation);
      if (sent !== undefined) [sent.edits, theirs] = cross(sent.edits, theirs);
      [this.#waiting, theirs] = cross(this.#waiting, theirs);
      for (const edit of theirs) this.#text = apply(this.#text, edit);
      done.push(...theirs.map((edit) => (edit.type === "insert" ? { ...edit, content: shown(edit.content) } : edit)));
    }
    this.#settle();
    return done;
  }

  /** The next one may go when all entries of this one are taken in: it was made behind them. */
  #settle(): void {
    const last = this.#sent?.lastSequence;
    if (last !== undefined && last <= this.#sequence) this.#sent = undefined;
  }
}

function shown(text: string): string {
  return text.replaceAll("\r", "\u240D");
}

function editsOf({ type, position, content, length }: NoteEdit): Edit[] {
  if (type === "insert") return [{ type, position, content }];
  return type === "delete" && length > 0 ? [{ type, position, length }] : [];
}
