// The notes of one page: the text of the server, and the local edits that the server does not have yet.
//
// One edit at a time is sent to the server, and later local edits are queued. Edits of other users are transformed past
// both, so local typing never waits. `session.ts` uses the network; this file does not.

import type { NoteEdit, NotesQueriesLoggedOperation as LoggedOperation } from "../api";
import { apply, cross, difference, merged, type Edit } from "./edits";

/** A request to the server. A retry sends it unchanged, and the server applies each `operationId` once. */
export interface Sending {
  readonly operationId: string;
  /** Sequence of the last log entry that this edit was transformed past. */
  readonly clientSequence: number;
  readonly operation: Edit;
}

export class NotesDocument {
  #text: string;
  #sequence: number;
  /** The edit that is being sent, transformed past all known entries. */
  #sent: { readonly request: Sending; edits: Edit[]; version?: number; lastSequence?: number } | undefined;
  #waiting: Edit[] = [];
  #count = 0;
  /** Random prefix of this page's operation ids. */
  readonly #page = Array.from({ length: 20 }, () => Math.floor(Math.random() * 36).toString(36)).join("");

  /** Creates the document from the text of the server after the log entry `sequence`. */
  constructor(text: string, sequence: number) {
    this.#text = text;
    this.#sequence = sequence;
  }

  /** Sequence of the last applied log entry. */
  get sequence(): number {
    return this.#sequence;
  }

  /** True if the server has all local edits. */
  get isSaved(): boolean {
    return this.#sent === undefined && this.#waiting.length === 0;
  }

  /** The text for a text area. A text area has no carriage returns, so another character of the same length stands for them. */
  get shown(): string {
    return shown(this.#text);
  }

  /** Records the edits that lead to `value`, the current text of the text area. */
  type(value: string): void {
    for (const edit of difference(this.shown, value)) {
      this.#text = apply(this.#text, edit);
      const last = this.#waiting.at(-1);
      const both = last === undefined ? undefined : merged(last, edit);
      if (both === undefined) this.#waiting.push(edit);
      else this.#waiting.splice(-1, 1, both);
    }
  }

  /** Returns the next request, if an edit is queued and no other request is in flight. */
  next(): Sending | undefined {
    if (this.#sent !== undefined) return undefined;
    const operation = this.#waiting.shift();
    if (operation === undefined) return undefined;
    this.#count += 1;
    const request = { operationId: `${this.#page}.${String(this.#count)}`, clientSequence: this.#sequence, operation };
    this.#sent = { request, edits: [operation] };
    return request;
  }

  /** Records that the server has logged the sent edit, up to the entry `lastSequence`. */
  applied(lastSequence: number): void {
    if (this.#sent !== undefined) this.#sent.lastSequence = lastSequence;
    this.#finishSent();
  }

  /** Applies log entries, and returns the edits of other users for the text area. */
  receive(entries: readonly LoggedOperation[]): Edit[] {
    const done: Edit[] = [];
    for (const { sequence, version, operationId, operation } of entries) {
      if (sequence <= this.#sequence) continue;
      this.#sequence = sequence;
      const sent = this.#sent;
      if (sent !== undefined && (operationId === sent.request.operationId || version === sent.version)) {
        // An edit of this page, which the text already contains. It may be several entries of one version.
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
    this.#finishSent();
    return done;
  }

  /** Allows the next request after all entries of the current one are applied, because it is based on them. */
  #finishSent(): void {
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
