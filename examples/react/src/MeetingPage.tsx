// The page of a meeting: its participants, their presence, and the notes. `useQuery` always returns the latest result, so
// nothing here polls.

import { useMutation, useQuery } from "convex/react";
import { useEffect, useRef, useState, type FormEvent, type JSX } from "react";

import { api, type MeetingId } from "./api";
import { Notes } from "./notes/Notes";
import { sentenceFor } from "./Problem";

/** Interval between renewals of the presence lease, which expires after 60 s. */
const RENEWAL_MS = 20_000;

export function MeetingPage({ meetingId }: { meetingId: MeetingId }): JSX.Element {
  const meeting = useQuery(api.meetings.queries.getMeeting, { meetingId });
  const [problem, setProblem] = useState("");
  const updatePresence = useMutation(api.realtime.batchedOperations.batchUpdatePresence);

  const isClosing = useRef(false);

  // A user is present while the page is open. A closed page reports it. After a crash or without a network, the lease
  // expires a minute after the last renewal.
  useEffect(() => {
    const stay = (): void => {
      isClosing.current = false;
      updatePresence({ meetingId, presence: "joined", lease: true }).catch((caught: unknown) => { setProblem(sentenceFor(caught)); });
    };
    const leave = (): void => {
      isClosing.current = true;
      // The connection may already be closed.
      updatePresence({ meetingId, presence: "left" }).catch(() => undefined);
    };
    stay();
    const renewal = setInterval(stay, RENEWAL_MS);
    addEventListener("pagehide", leave);
    // The browser shows a cached page again.
    addEventListener("pageshow", stay);
    return () => {
      clearInterval(renewal);
      removeEventListener("pagehide", leave);
      removeEventListener("pageshow", stay);
      leave();
    };
  }, [meetingId, updatePresence]);

  // The presence belongs to the user: another tab or device that leaves ends it for this open page too.
  const isAbsent = meeting?.userPresence === "left" && (meeting.state === "scheduled" || meeting.state === "active");
  useEffect(() => {
    if (isAbsent && !isClosing.current) {
      updatePresence({ meetingId, presence: "joined", lease: true }).catch((caught: unknown) => { setProblem(sentenceFor(caught)); });
    }
  }, [isAbsent, meetingId, updatePresence]);

  if (meeting === undefined) return <p>Loading…</p>;
  return (
    <main>
      <title>{meeting.title}</title>
      <p><a href="#">All meetings</a></p>
      <h1>{meeting.title}</h1>
      {problem !== "" && <p role="alert">{problem}</p>}
      <Participants meetingId={meetingId} />
      {meeting.userRole === "host" && <Invite meetingId={meetingId} />}
      <Notes meetingId={meetingId} />
    </main>
  );
}

function Participants({ meetingId }: { meetingId: MeetingId }): JSX.Element {
  const participants = useQuery(api.meetings.queries.listMeetingParticipants, { meetingId });
  return (
    <section aria-labelledby="participants">
      <h2 id="participants">Participants</h2>
      <ul>
        {participants?.map(({ _id, user, role, presence }) => (
          <li key={_id} data-presence={presence}>
            {user.displayName}{role === "host" && ", host"} ({presence === "joined" ? "here" : "not here"})
          </li>
        ))}
      </ul>
    </section>
  );
}

function Invite({ meetingId }: { meetingId: MeetingId }): JSX.Element {
  const add = useMutation(api.meetings.lifecycle.addParticipant);
  const [said, setSaid] = useState("");
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const email = String(new FormData(form).get("email"));
    try {
      const { invited } = await add({ meetingId, email });
      setSaid(invited ? `${email} will see the meeting after signing in.` : `${email} is in.`);
      form.reset();
    } catch (caught) {
      setSaid(sentenceFor(caught));
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <label>Invite by e-mail <input name="email" type="email" required /></label>
      <button type="submit">Invite</button>
      <p role="status">{said}</p>
    </form>
  );
}
