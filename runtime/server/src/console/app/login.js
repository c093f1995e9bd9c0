// Who gets in: by a link of `convoke console`, or with a deploy key.

import { useState } from "./vendor/hooks.js";
import { enterByKey } from "./api.js";
import { Failed, Field, html, useTitle } from "./ui.js";

export function Login({ error: before }) {
  useTitle("Log in");
  const [key, write] = useState("");
  const [state, set] = useState({ error: before });
  const enter = async (event) => {
    event.preventDefault();
    set({ isBusy: true });
    try {
      await enterByKey(key);
    } catch (error) {
      set({ error });
    }
  };
  return html`<main class="login">
    <form onSubmit=${enter}>
      <p class="brand"><span class="mark" aria-hidden="true">C</span> Convoke</p>
      <h1>Log in</h1>
      <p>On the server's machine, <code>convoke console</code> opens this page for you. From anywhere else, use a deploy key: you may do here what the key may do.</p>
      <${Field} label="Deploy key">
        <input type="password" class="mono" value=${key} onInput=${(event) => write(event.target.value)} autocomplete="off" placeholder="production:name|…" required autofocus />
      <//>
      <${Failed} error=${state.error} />
      <button type="submit" class="primary" disabled=${state.isBusy || !key.trim()}>Log in</button>
    </form>
  </main>`;
}
