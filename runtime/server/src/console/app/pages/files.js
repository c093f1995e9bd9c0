// The files that clients have uploaded: their types, sizes and references.

import { admin, can, download, query as members } from "../api.js";
import { to, withQuery } from "../router.js";
import { number, visible } from "../text.js";
import { Act, Failed, Header, html, Sure, Table, Time, Waiting, useAsked } from "../ui.js";

export function Files({ rest, query }) {
  return rest.length ? html`<${One} id=${rest[0]} />` : html`<${All} query=${query} />`;
}

const Download = ({ id }) => html`<${Act} does=${() => download(`files/${id}/content`)}>Download<//>`;

function All({ query }) {
  const cursor = query.get("cursor");
  const asked = useAsked(() => admin(`files?${members({ cursor, limit: 50 })}`), [cursor], 5_000);
  const sweep = async () => {
    await admin("files/sweep", { method: "POST" });
    asked.again();
  };
  return html`<${Waiting} asked=${asked}>${({ items, cursor: next }) => html`
    <${Header} title="Files">
      ${can("data-write") && html`<${Sure} kind="" title="Remove unused files" question="Files that no row has referred to for a day are removed." does=${sweep} yes="Remove them">Remove unused<//>`}
    <//>
    <${Table} label="Files" head=${["File", "Type", "#Bytes", "#References", "State", "Uploaded", ""]} empty="There are no files.">
      ${items.map((file) => html`<tr key=${file.id}>
        <th scope="row"><a href=${to(["files", file.id])}><code>…${file.id.slice(-8)}</code></a></th>
        <td>${visible(file.contentType)}</td>
        <td class="num">${number(file.bytes)}</td>
        <td class="num">${number(file.references)}</td>
        <td>${file.state}</td>
        <td><${Time} at=${file.createdAt} /></td>
        <td>${file.state === "stored" && html`<${Download} id=${file.id} />`}</td>
      </tr>`)}
    <//>
    ${next && html`<p><a class="button" href=${withQuery({ cursor: next })}>Next files</a></p>`}`}<//>`;
}

function One({ id }) {
  const asked = useAsked(() => admin(`files/${encodeURIComponent(id)}`), [id], 5_000);
  return html`<p class="crumbs"><a href=${to(["files"])}>Files</a></p>
    ${asked.value === undefined && asked.error
      ? html`<${Header} title=${visible(id)} /><${Failed} error=${asked.error} />`
      : html`<${Waiting} asked=${asked}>${(file) => html`
          <${Header} title=${html`<code>${file.id}</code>`}>${file.state === "stored" && html`<${Download} id=${file.id} />`}<//>
          <dl class="sheet">
            <dt>Type</dt><dd>${visible(file.contentType)}</dd>
            <dt>Bytes</dt><dd>${number(file.bytes)}</dd>
            <dt>SHA-256</dt><dd><code>${file.hash}</code></dd>
            <dt>State</dt><dd>${file.state}</dd>
            <dt>References</dt><dd>${number(file.references)}</dd>
            <dt>Owner</dt><dd>${visible(file.owner ?? "–")}</dd>
            <dt>Uploaded</dt><dd><${Time} at=${file.createdAt} /></dd>
            <dt>Unreferenced since</dt><dd><${Time} at=${file.unreferencedAt} /></dd>
          </dl>`}<//>`}`;
}
