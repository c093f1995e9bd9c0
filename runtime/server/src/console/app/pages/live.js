// The live connections.

import { admin, can } from "../api.js";
import { AskedNode } from "../node.js";
import { to } from "../router.js";
import { bytes, short, span, visible } from "../text.js";
import { Badge, Header, html, Sure, Table, Waiting, useAsked } from "../ui.js";

export function Live() {
  const asked = useAsked(() => admin("live"), [], 2_000);
  return html`<${Header} title="Live" lead="Connections with live queries." />
    <${Waiting} asked=${asked}>${({ connections, node }) => html`
      <${AskedNode} node=${node} has="Connections" />
      <${Table} label="Live connections" head=${["#Number", "Caller", "#Age", "Queries", "#Bytes", "#Lag", ""]} empty="There are no live connections.">
        ${connections.map((one) => html`<tr key=${one.number}>
          <th scope="row" class="num">${named(one)}</th>
          <td class="wide">${visible(one.identity ?? (one.deployKey ? `key ${one.deployKey}` : "anonymous"))}</td>
          <td class="num">${span(one.ageMs)}</td>
          <td class="wide"><ul class="plain">${one.queries.map((query) => html`<li><${Path} path=${query.path} /> <code>${short(query.args, 60)}</code></li>`)}</ul></td>
          <td class="num">${bytes(one.bytes)}</td>
          <td class="num">${one.lagMs > 1000 ? html`<${Badge} kind="warn">${span(one.lagMs)}<//>` : span(one.lagMs)}</td>
          <td><${Sure} title="End the connection" question=${`Connection ${named(one)} will be closed. The client is notified and may reconnect.`} does=${() => end(one, asked)} yes="End it">End<//></td>
        </tr>`)}
      <//>`}<//>`;
}

const Path = ({ path }) => (can("functions") ? html`<a href=${to(["functions", ...path.split("/")])}>${path}</a>` : path);

/** The name of a connection, unique among all nodes. */
const named = (one) => one.id ?? one.number;

async function end(one, asked) {
  await admin(`live/${named(one)}`, { method: "DELETE" });
  asked.again();
}
