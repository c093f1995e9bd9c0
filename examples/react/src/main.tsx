// The page: the session of the user, and the open meeting. The URL contains the meeting, so that links can point to it.

import { ConvexProvider, ConvexReactClient, useConvexConnectionState } from "convex/react";
import { StrictMode, useEffect, useState, useSyncExternalStore, type JSX } from "react";
import { createRoot } from "react-dom/client";

import type { MeetingId } from "./api";
import { MeetingPage } from "./MeetingPage";
import { Meetings } from "./Meetings";
import { Problem } from "./Problem";
import { SignIn, type Session } from "./SignIn";

function App(): JSX.Element {
  const [session, setSession] = useState<Session>();
  const [ended, setEnded] = useState(false);
  if (session === undefined) {
    return <SignIn hasEnded={ended} onSignIn={(given) => { setEnded(false); setSession(given); }} />;
  }
  return <SignedIn session={session} onEnd={(byServer) => { setEnded(byServer); setSession(undefined); }} />;
}

function SignedIn({ session, onEnd }: { session: Session; onEnd: (byServer: boolean) => void }): JSX.Element {
  const [client, setClient] = useState<ConvexReactClient>();
  useEffect(() => {
    // The check accepts only addresses of a hosted service, and a self-hosted server can have any address.
    const made = new ConvexReactClient(session.server, { skipConvexDeploymentUrlCheck: true });
    let isOver = false;
    // A page with an identity provider would fetch a new token here. This page has only the pasted token.
    made.setAuth(() => Promise.resolve(session.token), (isAuthenticated) => {
      if (!isAuthenticated && !isOver) onEnd(true);
    });
    setClient(made);
    return () => {
      isOver = true;
      // Components that unmount at the same time may still send calls.
      setTimeout(() => void made.close());
    };
    // One connection per session.
  }, [session]);
  const meetingId = useSyncExternalStore(onHashChange, () => location.hash.slice(1)) as MeetingId;
  if (client === undefined) return <></>;
  return (
    <ConvexProvider client={client}>
      <Connection />
      <Problem key={meetingId}>
        {meetingId === "" ? <Meetings /> : <MeetingPage key={meetingId} meetingId={meetingId} />}
      </Problem>
      <p><button type="button" onClick={() => { onEnd(false); }}>Sign out</button></p>
    </ConvexProvider>
  );
}

function onHashChange(changed: () => void): () => void {
  addEventListener("hashchange", changed);
  return () => { removeEventListener("hashchange", changed); };
}

/** Shows if the page is connected. Without a connection, its data may be out of date. */
function Connection(): JSX.Element {
  const { isWebSocketConnected } = useConvexConnectionState();
  return <p role="status">{isWebSocketConnected ? "Connected" : "Connecting…"}</p>;
}

const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<StrictMode><App /></StrictMode>);
