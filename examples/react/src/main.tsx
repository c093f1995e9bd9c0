// The page: who is signed in, and which meeting is open. The meeting stands in the address, so that a link leads to it.

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
    // A server of one's own is at any address; the check is for addresses of a hosted service.
    const made = new ConvexReactClient(session.server, { skipConvexDeploymentUrlCheck: true });
    let isOver = false;
    // A page with real sessions asks its identity provider for a new token here. This one has the token it was given.
    made.setAuth(() => Promise.resolve(session.token), (isAuthenticated) => {
      if (!isAuthenticated && !isOver) onEnd(true);
    });
    setClient(made);
    return () => {
      isOver = true;
      // Parts of the page that go at the same time may still have something to say.
      setTimeout(() => void made.close());
    };
    // One connection a session, whatever else changes.
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

/** Says that what is shown may be old. */
function Connection(): JSX.Element {
  const { isWebSocketConnected } = useConvexConnectionState();
  return <p role="status">{isWebSocketConnected ? "Connected" : "Connecting…"}</p>;
}

const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<StrictMode><App /></StrictMode>);
