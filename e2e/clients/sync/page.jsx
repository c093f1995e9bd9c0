// A typical page with npm's `convex/react`. The test finds its elements by id.

import { ConvexProvider, ConvexReactClient, useMutation, usePaginatedQuery, useQuery } from "convex/react";
import { anyApi } from "convex/server";
import { createRoot } from "react-dom/client";

const { ledger, values } = anyApi.probes;
const server = new URLSearchParams(location.search).get("server");
const client = new ConvexReactClient(server, { skipConvexDeploymentUrlCheck: true, authRefreshTokenLeewaySeconds: 0 });

// The test sets the tokens and reads the number of token requests.
window.asked = 0;
window.signIn = (tokens) => {
  client.setAuth(async () => tokens[Math.min(window.asked++, tokens.length - 1)]);
};

function Page() {
  const count = useQuery(values.counted, { name: "page" });
  const who = useQuery(values.who, {});
  const add = useMutation(values.count).withOptimisticUpdate((store, { name }) => {
    const shown = store.getQuery(values.counted, { name });
    if (shown !== undefined) store.setQuery(values.counted, { name }, shown + 1000);
  });
  window.shown ??= [];
  if (window.shown.at(-1) !== count) window.shown.push(count);
  return (
    <>
      <p id="count">{count}</p>
      <p id="who">{who === undefined ? "loading" : String(who)}</p>
      <button id="add" onClick={() => void add({ name: "page" })}>Add</button>
    </>
  );
}

/** A list of amounts with pages of three. */
function Amounts() {
  const { results, status, loadMore } = usePaginatedQuery(ledger.pages, {}, { initialNumItems: 3 });
  return (
    <>
      <p id="amounts">{results.map((entry) => entry.amount).join(" ")}</p>
      <p id="status">{status}</p>
      <button id="more" onClick={() => loadMore(3)}>More</button>
    </>
  );
}

createRoot(document.getElementById("root")).render(<ConvexProvider client={client}><Page /><Amounts /></ConvexProvider>);
