// Who has live queries now.

import { admin, can } from "../api.js";
import { to } from "../router.js";
import { bytes, short, span, visible } from "../text.js";
import { Badge, Header, html, Sure, Table, Waiting, useAsked } from "../ui.js";

export function Live() {
  const asked = useAsked(() => admin("live"), [], 2_000);
  return html`<${Header} title="Live" lead="Connections whose queries are told of every new result." />
    <${Waiting} asked=${asked}>${({ connections }) => html`
      <${Table} label="Live connections" head=${["#Number", "Who", "#Age", "Queries", "#Bytes", "#Lag", ""]} empty="Nobody has live queries now.">
        ${connections.map((one) => html`<tr key=${one.number}>
          <th scope="row" class="num">${one.number}</th>
          <td class="wide">${visible(one.identity ?? (one.deployKey ? `key ${one.deployKey}` : "nobody"))}</td>
          <td class="num">${span(one.ageMs)}</td>
          <td class="wide"><ul class="plain">${one.queries.map((query) => html`<li><${Path} path=${query.path} /> <code>${short(query.args, 60)}</code></li>`)}</ul></td>
          <td class="num">${bytes(one.bytes)}</td>
          <td class="num">${one.lagMs > 1000 ? html`<${Badge} kind="warn">${span(one.lagMs)}<//>` : span(one.lagMs)}</td>
          <td><${Sure} title="End the connection" question=${`Connection ${one.number} will be ended. Its client is told so, and may come back.`} does=${() => end(one, asked)} yes="End it">End<//></td>
        </tr>`)}
      <//>`}<//>`;
}

const Path = ({ path }) => (can("functions") ? html`<a href=${to(["functions", ...path.split("/")])}>${path}</a>` : path);

async function end(one, asked) {
  await admin(`live/${one.number}`, { method: "DELETE" });
  asked.again();
}
