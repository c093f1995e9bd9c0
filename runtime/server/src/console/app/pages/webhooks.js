// Webhooks that the server sends: endpoints, their deliveries, and redelivery.

import { admin, query as members } from "../api.js";
import { go, to, withQuery } from "../router.js";
import { visible } from "../text.js";
import { Act, Choice, Code, Failed, Header, html, Sure, Table, Time, Waiting, useAsked } from "../ui.js";

const STATES = ["failed", "pending", "delivered"];

export function Webhooks({ rest, query }) {
  if (rest.length === 0) return html`<${Endpoints} />`;
  return rest.length === 1 ? html`<${Endpoint} id=${rest[0]} query=${query} />` : html`<${Delivery} endpoint=${rest[0]} id=${rest[1]} />`;
}

const path = (id) => `webhooks/${encodeURIComponent(id)}`;

function Switch({ endpoint, again }) {
  const enable = (enabled) => async () => {
    await admin(path(endpoint.id), { method: "PATCH", body: { enabled } });
    again();
  };
  return endpoint.state === "disabled"
    ? html`<${Act} does=${enable(true)}>Enable<//>`
    : html`<${Sure} kind="" title="Disable the endpoint" question="New events are not delivered to it. Pending deliveries wait until it is enabled." does=${enable(false)} yes="Disable it">Disable<//>`;
}

function State({ endpoint }) {
  const { state, disabledReason, failingSince } = endpoint;
  if (disabledReason) return html`<span class="wrong">${state}: ${visible(disabledReason)}</span>`;
  return failingSince ? html`<span class="wrong">${state}, failing since <${Time} at=${failingSince} /></span>` : state;
}

function Endpoints() {
  const asked = useAsked(() => admin("webhooks"), [], 3_000);
  return html`<${Waiting} asked=${asked}>${(endpoints) => html`
    <${Header} title="Webhooks" />
    <${Table} label="Endpoints" head=${["Endpoint", "URL", "Events", "Owner", "State", ""]} empty="There are no endpoints. Add one with: convoke webhooks add URL">
      ${endpoints.map((endpoint) => html`<tr key=${endpoint.id}>
        <th scope="row"><a href=${to(["webhooks", endpoint.id])}><code>…${endpoint.id.slice(-8)}</code></a></th>
        <td class="wide">${visible(endpoint.url)}</td>
        <td>${endpoint.events.length ? visible(endpoint.events.join(", ")) : "all"}</td>
        <td>${visible(endpoint.owner ?? "–")}</td>
        <td><${State} endpoint=${endpoint} /></td>
        <td><${Switch} endpoint=${endpoint} again=${asked.again} /></td>
      </tr>`)}
    <//>`}<//>`;
}

const Redeliver = ({ id, again }) => {
  const redeliver = async () => {
    await admin(`webhook-deliveries/${encodeURIComponent(id)}/redeliver`, { method: "POST" });
    again();
  };
  return html`<${Act} does=${redeliver}>Send again<//>`;
};

function Endpoint({ id, query }) {
  const state = STATES.includes(query.get("state")) ? query.get("state") : "failed";
  const cursor = query.get("cursor");
  const endpoint = useAsked(() => admin(path(id)), [id], 3_000);
  const deliveries = useAsked(() => admin(`${path(id)}/deliveries?${members({ state, cursor, limit: 50 })}`), [id, state, cursor], 3_000);
  const redeliver = async () => {
    await admin(`${path(id)}/redeliver`, { method: "POST", body: { since: 0 } });
    deliveries.again();
  };
  return html`<p class="crumbs"><a href=${to(["webhooks"])}>Webhooks</a></p>
    <${Waiting} asked=${endpoint}>${(own) => html`
      <${Header} title=${html`<code>${own.id}</code>`}><${Switch} endpoint=${own} again=${endpoint.again} /><//>
      <dl class="sheet">
        <dt>URL</dt><dd>${visible(own.url)}</dd>
        <dt>Description</dt><dd>${visible(own.description || "–")}</dd>
        <dt>Events</dt><dd>${own.events.length ? visible(own.events.join(", ")) : "all"}</dd>
        <dt>Owner</dt><dd>${visible(own.owner ?? "–")}</dd>
        <dt>State</dt><dd><${State} endpoint=${own} /></dd>
        <dt>Created</dt><dd><${Time} at=${own.createdAt} /></dd>
      </dl>`}<//>
    <${Header} title="Deliveries">
      <${Choice} label="State" of=${STATES.map((one) => [one, one])} value=${state} choose=${(one) => go(to(["webhooks", id], { state: one }))} />
      ${state === "failed" && html`<${Sure} kind="" title="Send all failed deliveries again" question="Each failed delivery of this endpoint is sent again, with the id of its event." does=${redeliver} yes="Send them again">Send all again<//>`}
    <//>
    <${Waiting} asked=${deliveries}>${({ items, cursor: next }) => html`
      <${Table} label="Deliveries" head=${["Delivery", "Event", "At", "#Tries", "Status", "Error", ""]} empty=${`There are no ${state} deliveries.`}>
        ${items.map((one) => html`<tr key=${one.id}>
          <th scope="row"><a href=${to(["webhooks", id, one.id])}><code>…${one.id.slice(-8)}</code></a></th>
          <td>${visible(one.event)}</td>
          <td><${Time} at=${one.eventAt} /></td>
          <td class="num">${one.attempts}</td>
          <td>${one.status ?? "–"}</td>
          <td class="wide">${one.error ? visible(one.error) : "–"}</td>
          <td><${Redeliver} id=${one.id} again=${deliveries.again} /></td>
        </tr>`)}
      <//>
      ${next && html`<p><a class="button" href=${withQuery({ cursor: next })}>Next deliveries</a></p>`}`}<//>`;
}

function Delivery({ endpoint, id }) {
  const asked = useAsked(() => admin(`webhook-deliveries/${encodeURIComponent(id)}`), [id], 3_000);
  return html`<p class="crumbs"><a href=${to(["webhooks"])}>Webhooks</a> / <a href=${to(["webhooks", endpoint])}>Endpoint</a></p>
    ${asked.value === undefined && asked.error
      ? html`<${Header} title=${visible(id)} /><${Failed} error=${asked.error} />`
      : html`<${Waiting} asked=${asked}>${(one) => html`
          <${Header} title=${html`<code>${one.id}</code>`}><${Redeliver} id=${one.id} again=${asked.again} /><//>
          <dl class="sheet">
            <dt>Event</dt><dd>${visible(one.event)}, <${Time} at=${one.eventAt} /></dd>
            <dt>Message</dt><dd><code>${visible(one.message)}</code></dd>
            <dt>State</dt><dd>${one.state}</dd>
            <dt>Tries</dt><dd>${one.attempts}</dd>
            <dt>Last try</dt><dd><${Time} at=${one.triedAt} /></dd>
            <dt>Next try</dt><dd><${Time} at=${one.dueAt} /></dd>
            <dt>Status</dt><dd>${one.status ?? "–"}</dd>
            ${one.error && html`<dt>Error</dt><dd class="wrong">${visible(one.error)}</dd>`}
          </dl>
          <h2>Body</h2>
          <${Code} label="Body">${JSON.stringify(one.body, null, 2)}<//>
          ${one.answer && html`<h2>Response</h2><${Code} label="Response">${one.answer}<//>`}`}<//>`}`;
}
