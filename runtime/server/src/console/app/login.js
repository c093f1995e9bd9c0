// The login: by a link of `convoke console`, or with a deploy key.

import { useState } from "./vendor/hooks.js";
import { enterByKey } from "./api.js";
import { visible } from "./text.js";
import { Failed, Field, html, resting, useTitle } from "./ui.js";

export function Login({ error: before, reason }) {
  useTitle("Log in");
  const [key, write] = useState("");
  const [state, set] = useState({ error: before });
  const enter = async (event) => {
    event.preventDefault();
    if (state.isBusy) return;
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
      <p>On the server's machine, run <code>convoke console</code> to log in. Elsewhere, log in with a deploy key. The console then has the rights of the key.</p>
      ${reason && !state.error && html`<p class="banner" role="status">${visible(reason)}</p>`}
      <${Field} label="Deploy key">
        <input type="password" class="mono" value=${key} onInput=${(event) => write(event.target.value)} autocomplete="off" placeholder="production:name|…" required autofocus />
      <//>
      <${Failed} error=${state.error} />
      <button type="submit" class="primary" disabled=${!key.trim()} ...${resting(state.isBusy)}>Log in</button>
    </form>
  </main>`;
}
