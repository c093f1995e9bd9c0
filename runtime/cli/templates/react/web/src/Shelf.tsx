// The books. `useQuery` always returns the latest result, so nothing here polls.

import { useMutation, useQuery } from "convex/react";
import { useState, type FormEvent, type JSX } from "react";

import { api, refusalOf, type BookId } from "./api";

export function Shelf(): JSX.Element {
  const books = useQuery(api.books.list);
  const [problem, setProblem] = useState("");
  // The list shows a new book immediately. The result of the server replaces it, or a rejection removes it.
  const add = useMutation(api.books.add).withOptimisticUpdate((store, { title }) => {
    const shown = store.getQuery(api.books.list);
    if (shown === undefined) return;
    const added = { _id: `new ${title}` as BookId, _creationTime: Date.now(), title };
    const sorted = [...shown, added].sort((a, b) => (a.title < b.title ? -1 : 1));
    store.setQuery(api.books.list, {}, sorted);
  });

  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const title = String(new FormData(form).get("title"));
    form.reset();
    try {
      await add({ title });
      setProblem("");
    } catch (caught) {
      setProblem(refusalOf(caught)?.message ?? "Something went wrong.");
    }
  };

  return (
    <main>
      <h1>Books</h1>
      {books === undefined ? <p>Loading…</p> : <ul>{books.map(({ _id, title }) => <li key={_id}>{title}</li>)}</ul>}
      <form onSubmit={(event) => void submit(event)}>
        <label>Title <input name="title" /></label> <button type="submit">Add</button>
        {problem !== "" && <p role="alert">{problem}</p>}
      </form>
    </main>
  );
}
