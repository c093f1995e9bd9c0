// The list of the user's meetings, and a form that creates a meeting.

import { useMutation, useQuery } from "convex/react";
import { useState, type FormEvent, type JSX } from "react";

import { api } from "./api";
import { sentenceFor } from "./Problem";

export function Meetings(): JSX.Element {
  const meetings = useQuery(api.meetings.queries.listUserMeetings, {});
  const create = useMutation(api.meetings.lifecycle.createMeeting);
  const [problem, setProblem] = useState("");
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const title = String(new FormData(event.currentTarget).get("title"));
    try {
      location.hash = (await create({ title })).meetingId;
    } catch (caught) {
      setProblem(sentenceFor(caught));
    }
  };
  return (
    <main>
      <h1>Meetings</h1>
      {meetings === undefined ? <p>Loading…</p> : (
        <ul>{meetings.items.map((meeting) => <li key={meeting._id}><a href={`#${meeting._id}`}>{meeting.title}</a></li>)}</ul>
      )}
      <h2>A new meeting</h2>
      <form onSubmit={(event) => void submit(event)}>
        <label>Title <input name="title" required maxLength={200} /></label>
        <button type="submit">Create</button>
        {problem !== "" && <p role="alert">{problem}</p>}
      </form>
    </main>
  );
}
