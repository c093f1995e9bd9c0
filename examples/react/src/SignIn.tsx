// Sign-in with a pasted token: `convoke token --subject ada --email ada@example.com` creates a token for a development
// server. A real page gets its tokens from an identity provider.

import type { FormEvent, JSX } from "react";

export interface Session {
  readonly server: string;
  readonly token: string;
}

export function SignIn({ hasEnded, onSignIn }: { hasEnded: boolean; onSignIn: (session: Session) => void }): JSX.Element {
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    onSignIn({ server: String(form.get("server")).replace(/\/+$/, ""), token: String(form.get("token")).trim() });
  };
  return (
    <main>
      <h1>Sign in</h1>
      {hasEnded && <p role="alert">The server does not accept the token, or it has expired. Sign in with a new token.</p>}
      <form onSubmit={submit}>
        <label>Server <input name="server" type="url" required defaultValue="http://127.0.0.1:3210" /></label>
        <label>Token <input name="token" required autoComplete="off" /></label>
        <button type="submit">Sign in</button>
      </form>
    </main>
  );
}
