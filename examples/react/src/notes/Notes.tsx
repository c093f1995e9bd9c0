// Notes that all participants of a meeting edit concurrently, in one text area.
//
// The text area is uncontrolled. Edits of other participants are inserted at their positions, so the caret and the current
// input stay unchanged.

import { useConvex } from "convex/react";
import { useEffect, useRef, useState, type JSX } from "react";

import type { MeetingId } from "../api";
import { sentenceFor } from "../Problem";
import { openNotes, type NotesSession, type NotesStatus } from "./session";

const SAID: Record<NotesStatus, string> = {
  loading: "Loading…",
  saving: "Saving…",
  saved: "Saved",
  failed: "Your last edits are not saved. Copy them, then load the notes again.",
};

export function Notes({ meetingId }: { meetingId: MeetingId }): JSX.Element {
  const client = useConvex();
  const area = useRef<HTMLTextAreaElement>(null);
  const session = useRef<NotesSession>(undefined);
  const [status, setStatus] = useState<NotesStatus>("loading");
  const [problem, setProblem] = useState("");
  const [round, setRound] = useState(0);

  useEffect(() => {
    const opened = openNotes(client, meetingId, {
      open: (text) => {
        if (area.current !== null) area.current.value = text;
      },
      show: (edits) => {
        for (const edit of edits) {
          const end = edit.type === "delete" ? edit.position + edit.length : edit.position;
          area.current?.setRangeText(edit.type === "insert" ? edit.content : "", edit.position, end, "preserve");
        }
      },
      tell: (told, caught) => {
        setStatus(told);
        setProblem(caught === undefined ? "" : sentenceFor(caught));
      },
    });
    session.current = opened;
    return () => { opened.close(); };
  }, [client, meetingId, round]);

  // The browser asks for confirmation before it closes a page with unsaved edits.
  useEffect(() => {
    if (status !== "saving") return undefined;
    const ask = (event: BeforeUnloadEvent): void => { event.preventDefault(); };
    addEventListener("beforeunload", ask);
    return () => { removeEventListener("beforeunload", ask); };
  }, [status]);

  return (
    <section aria-labelledby="notes">
      <h2 id="notes">Notes</h2>
      <textarea
        ref={area}
        aria-labelledby="notes"
        aria-describedby="notes-status"
        spellCheck
        readOnly={status === "loading" || status === "failed"}
        onInput={(event) => session.current?.type(event.currentTarget.value)}
        onCompositionStart={() => session.current?.hold()}
        onCompositionEnd={() => session.current?.resume()}
      />
      <p id="notes-status" role="status">{SAID[status]} {problem}</p>
      {status === "failed" && <button type="button" onClick={() => { setRound(round + 1); }}>Load again</button>}
    </section>
  );
}
