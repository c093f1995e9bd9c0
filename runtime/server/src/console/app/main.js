// The frame around the pages: the session, the navigation and the theme.

import { render } from "./vendor/preact.js";
import { useEffect, useLayoutEffect, useRef, useState } from "./vendor/hooks.js";
import * as api from "./api.js";
import { follow, mayLeave, to, useRoute } from "./router.js";
import { Act, Failed, Header, html, useAsked } from "./ui.js";
import { Login } from "./login.js";
import { visible } from "./text.js";
import { Palette } from "./palette.js";
import { Overview } from "./pages/overview.js";
import { Functions } from "./pages/functions.js";
import { Calls } from "./pages/calls.js";
import { Data } from "./pages/data.js";
import { Files } from "./pages/files.js";
import { Jobs } from "./pages/jobs.js";
import { Webhooks } from "./pages/webhooks.js";
import { Workflows } from "./pages/workflows.js";
import { Live } from "./pages/live.js";
import { Schema } from "./pages/schema.js";
import { Keys } from "./pages/keys.js";
import { Backups } from "./pages/backups.js";
import { Secrets } from "./pages/secrets.js";
import { Settings } from "./pages/settings.js";

/** Each page with the scope that it needs. Pages without the scope are not shown. */
const PAGES = [
  ["overview", "Overview", Overview, null],
  ["functions", "Functions", Functions, "functions"],
  ["calls", "Calls", Calls, "logs"],
  ["data", "Data", Data, "data"],
  ["files", "Files", Files, "data"],
  ["jobs", "Jobs", Jobs, "jobs"],
  ["webhooks", "Webhooks", Webhooks, "webhooks"],
  ["workflows", "Workflows", Workflows, "jobs"],
  ["live", "Live", Live, "live"],
  ["schema", "Schema", Schema, "functions"],
  ["keys", "Keys", Keys, "keys"],
  ["backups", "Backups", Backups, "backup"],
  ["secrets", "Secrets", Secrets, "secrets"],
  ["settings", "Settings", Settings, "data"],
];

const THEME = "convoke-theme";

function wear(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  dispatchEvent(new Event("convoke-theme"));
}
wear(localStorage.getItem(THEME));

function Theme() {
  const [theme, set] = useState(localStorage.getItem(THEME) ?? "");
  const choose = (event) => {
    const next = event.target.value;
    if (next) localStorage.setItem(THEME, next);
    else localStorage.removeItem(THEME);
    set(next);
    wear(next);
  };
  return html`<select aria-label="Theme" class="theme" value=${theme} onChange=${choose}>
    <option value="">System theme</option><option value="light">Light</option><option value="dark">Dark</option>
  </select>`;
}

const BUILD_MS = 2_000;

/** The failure of the last build, while the former program serves. */
function Build() {
  const failure = useAsked(api.buildError, [], BUILD_MS).value;
  return failure && html`<section class="banner bad" role="alert">
    <strong>The last build failed.</strong> This server still runs the former program.
    <pre>${visible(failure)}</pre>
  </section>`;
}

function Frame({ session }) {
  const route = useRoute();
  const [isOpen, open] = useState(false);
  const may = PAGES.filter(([, , , scope]) => !scope || session.scopes.includes(scope));
  const known = PAGES.find(([name]) => name === route.page);
  const shown = may.find(([name]) => name === route.page);
  useEffect(() => open(false), [location.href]);
  const menu = useRef();
  // The listener exists as soon as the menu is visible.
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    const close = (event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      open(false);
      menu.current.focus();
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [isOpen]);
  // The keyboard focus moves to the content of the new page.
  const shownBefore = useRef(location.pathname);
  useEffect(() => {
    if (shownBefore.current === location.pathname) return;
    shownBefore.current = location.pathname;
    document.querySelector("main").focus({ preventScroll: true });
  }, [location.pathname]);
  return html`<div class="frame" onClick=${follow}>
    <a class="skip" href="#content" onClick=${(event) => {
      event.preventDefault();
      document.querySelector("main")?.focus();
    }}>To the content</a>
    <div class="side"><header class="bar">
      <button type="button" ref=${menu} class="menu" aria-expanded=${isOpen} aria-controls="pages" onClick=${() => open(!isOpen)}>Menu</button>
      <a class="brand" href=${to(["overview"])}><span class="mark" aria-hidden="true">C</span> Convoke</a>
      <span class="badge ${session.environment === "production" ? "bad" : ""}">${session.environment}</span>
    </header>
    <nav id="pages" class=${isOpen ? "open" : ""} aria-label="Pages">
      <ul>
        ${may.map(([name, title]) => html`<li><a href=${to([name])} aria-current=${name === route.page ? "page" : undefined}>${title}</a></li>`)}
      </ul>
      <${Palette} pages=${may} />
      <div class="who">
        <p title=${session.scopes.join(", ")}>Logged in as <strong>${session.name}</strong></p>
        <${Theme} />
        <${Act} does=${() => mayLeave() && api.leave()}>Log out<//>
        <p class="help">Version ${session.version}</p>
      </div>
    </nav></div>
    <main id="content" tabindex="-1">
      ${"buildError" in session && html`<${Build} />`}
      ${shown
        ? html`<${shown[2]} key=${shown[0]} ...${route} />`
        : html`<${Header} title=${known ? known[1] : "Page not found"} /><p class="empty">${known ? `The key ${session.name} lacks the scope ${known[3]}.` : "There is no such page."}</p>`}
    </main>
  </div>`;
}

function App() {
  const [state, set] = useState({ isNew: true });
  useEffect(() => {
    const stop = api.onSession((session, reason) => set({ session, reason }));
    const begin = async () => {
      const code = location.hash.slice(1);
      try {
        if (code) {
          // The code is removed from the address first: it works once and must not be visible.
          history.replaceState(null, "", location.pathname + location.search);
          await api.enterByCode(code);
        } else {
          await api.resume();
        }
        if (api.session) set({ session: api.session });
        else set(({ isNew, ...before }) => before);
      } catch (error) {
        set({ error });
      }
    };
    begin();
    return stop;
  }, []);
  if (state.isNew) return html`<p class="wait" role="status">Loading…</p>`;
  if (state.session) return html`<${Frame} session=${state.session} />`;
  if (state.error?.code === "UNREACHABLE") return html`<main class="login"><${Failed} error=${state.error} /></main>`;
  return html`<${Login} error=${state.error} reason=${state.reason} />`;
}

const place = document.getElementById("app");
place.replaceChildren();
render(html`<${App} />`, place);
