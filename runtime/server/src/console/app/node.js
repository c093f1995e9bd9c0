// Which node answers, where several serve one database: what it knows of itself alone is not all there is.

import { plural, visible } from "./text.js";
import { html } from "./ui.js";

/** `node` is what the server says of itself; nothing where it serves alone. `has` is what it shows of itself. */
export function AskedNode({ node, has }) {
  if (!node?.others) return null;
  return html`<p class="help node">${has} of node <code>${node.id}</code> (${visible(node.name)}); ${plural(node.others, "other node serves", "other nodes serve")}.</p>`;
}
