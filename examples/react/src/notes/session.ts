// The notes of a meeting, kept with the server: the log is followed, and edits are sent one after the other.

import type { ConvexReactClient } from "convex/react";

import { api, refusalOf, type MeetingId } from "../api";
import { NotesDocument, type Sending } from "./document";
import type { Edit } from "./edits";

/** Entries after which a later part of the log is followed, so that no message grows long. */
const FOLLOWED = 100;

export type NotesStatus = "loading" | "saving" | "saved" | "failed";

/** Where the notes are shown. */
export interface NotesView {
  /** The text as it is at first. */
  readonly open: (text: string) => void;
  /** What others did since. */
  readonly show: (edits: readonly Edit[]) => void;
  readonly tell: (status: NotesStatus, problem?: unknown) => void;
}

export interface NotesSession {
  /** Takes in what the text area has now. */
  readonly type: (value: string) => void;
  /** Nothing is shown meanwhile: a text area in which a character is being composed must not change. */
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
    // What is under way is brought to its end.
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

  /** Across a lost connection the client of `convex` sends it again by itself; here it is what the server puts off. */
  async function sendOne(notes: NotesDocument, next: Sending): Promise<void> {
    for (;;) {
      try {
        const { serverSequence } = await client.mutation(api.notes.index.applyNoteOperation, { meetingId, ...next });
        notes.applied(serverSequence);
        if (!isOver) send(notes);
        return;
      } catch (caught) {
        const waitMs = putOff(caught);
        if (waitMs === undefined) {
          fail(caught);
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
  }

  /** What cannot be carried on: the text stays as it is, so that nothing that was typed is lost before it is copied. */
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

/** How long to wait until the same is worth another try; nothing if it is not. */
function putOff(caught: unknown): number | undefined {
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
