// Synchronizes the notes of a meeting with the server: subscribes to the log, and sends edits one after the other.

import type { ConvexReactClient } from "convex/react";

import { api, refusalOf, type MeetingId } from "../api";
import { NotesDocument, type Sending } from "./document";
import type { Edit } from "./edits";

/** Number of entries after which the subscription moves to a later part of the log. This keeps messages short. */
const FOLLOWED = 100;

export type NotesStatus = "loading" | "saving" | "saved" | "failed";

/** The view of the notes. */
export interface NotesView {
  /** Shows the first text. */
  readonly open: (text: string) => void;
  /** Applies edits of other users. */
  readonly show: (edits: readonly Edit[]) => void;
  readonly tell: (status: NotesStatus, problem?: unknown) => void;
}

export interface NotesSession {
  /** Records the current text of the text area. */
  readonly type: (value: string) => void;
  /** Pauses updates of the view: a text area must not change while a character is being composed. */
  readonly hold: () => void;
  readonly resume: () => void;
  readonly close: () => void;
}

export function openNotes(client: ConvexReactClient, meetingId: MeetingId, view: NotesView): NotesSession {
  let notes: NotesDocument | undefined;
  let look = (): void => undefined;
  let unwatch = (): void => undefined;
  let isHeld = false;
  let isShown = true;
  let isOver = false;
  view.tell("loading");
  client.query(api.notes.queries.getMeetingNotes, { meetingId }).then(({ content, sequence }) => {
    if (!isShown) return;
    notes = new NotesDocument(content, sequence);
    view.open(notes.shown);
    view.tell("saved");
    follow(notes, sequence + 1);
  }).catch(fail);

  return {
    type: (value) => {
      if (notes === undefined || isOver) return;
      notes.type(value);
      send(notes);
    },
    hold: () => { isHeld = true; },
    resume: () => {
      isHeld = false;
      look();
    },
    // Queued edits are still sent.
    close: () => {
      isShown = false;
      isHeld = false;
      if (notes === undefined || notes.isSaved) end();
      else look();
    },
  };

  function follow(notes: NotesDocument, fromSequence: number): void {
    unwatch();
    const log = client.watchQuery(api.notes.queries.listNoteOperations, { meetingId, fromSequence });
    look = () => {
      if (isHeld || isOver) return;
      try {
        const known = log.localQueryResult();
        if (known === undefined) return;
        const { operations, version, nextSequence } = known;
        const edits = notes.receive(operations);
        if (isShown) view.show(edits);
        send(notes);
        const last = operations.at(-1);
        if (!isOver && last !== undefined && (operations.length >= FOLLOWED || last.version < version)) follow(notes, nextSequence);
      } catch (caught) {
        fail(caught);
      }
    };
    unwatch = log.onUpdate(() => { look(); });
    look();
  }

  function send(notes: NotesDocument): void {
    const next = notes.next();
    if (isShown) view.tell(notes.isSaved ? "saved" : "saving");
    else if (notes.isSaved) end();
    if (next !== undefined) void sendOne(notes, next);
  }

  /** Sends one edit, with retries when the server is busy. The `convex` client itself retries after a lost connection. */
  async function sendOne(notes: NotesDocument, next: Sending): Promise<void> {
    for (;;) {
      try {
        const { serverSequence } = await client.mutation(api.notes.index.applyNoteOperation, { meetingId, ...next });
        notes.applied(serverSequence);
        if (!isOver) send(notes);
        return;
      } catch (caught) {
        const waitMs = retryDelay(caught);
        if (waitMs === undefined) {
          fail(caught);
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
  }

  /** Stops the session after a permanent error. The view keeps its text, so that the user can copy it. */
  function fail(caught: unknown): void {
    if (isOver) return;
    end();
    if (isShown) view.tell("failed", caught);
  }

  function end(): void {
    isOver = true;
    unwatch();
  }
}

/** Returns the delay before a retry in milliseconds, or `undefined` if a retry is useless. */
function retryDelay(caught: unknown): number | undefined {
  const refusal = refusalOf(caught);
  switch (refusal?.code) {
    case "RATE_LIMITED":
    case "OVERLOADED":
    case "NOT_READY":
    case "UNAVAILABLE":
    case "TIMEOUT":
    case "COMMIT_UNKNOWN":
      return typeof refusal["retryAfterMs"] === "number" ? refusal["retryAfterMs"] : 1_000;
    default:
      return undefined;
  }
}
