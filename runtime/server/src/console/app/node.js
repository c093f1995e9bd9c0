// The node that answers, if several nodes serve one database: its own state is only a part of the whole.

import { plural, visible } from "./text.js";
import { html } from "./ui.js";

/** `node` comes from the server; it is missing if only one node serves. `has` names the data that only this node has. */
export function AskedNode({ node, has }) {
  if (!node?.others) return null;
  return html`<p class="help node">${has} of node <code>${node.id}</code> (${visible(node.name)}); ${plural(node.others, "other node serves", "other nodes serve")}.</p>`;
}
