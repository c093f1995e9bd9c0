// A form made from a JSON schema: for the arguments of a function. What the schema says in a way that no field shows is
// written as JSON.

import { useState } from "./vendor/hooks.js";
import { number, plural } from "./text.js";
import { Field, html, inline } from "./ui.js";

/** The schema without the alternative of null, and whether there was one. */
function plain(schema) {
  if (!schema || typeof schema !== "object") return { schema: {}, nullable: false };
  const some = schema.anyOf ?? schema.oneOf;
  if (some) {
    const others = some.filter((one) => one.type !== "null");
    if (others.length === 1) return { schema: { ...others[0], description: schema.description ?? others[0].description }, nullable: others.length < some.length };
    // An enumeration whose values are described one by one.
    if (others.length && others.every((one) => "const" in one || one.enum)) {
      return { schema: { ...schema, type: "string", enum: others.flatMap((one) => one.enum ?? [one.const]) }, nullable: others.length < some.length };
    }
    return { schema: { ...schema, type: undefined }, nullable: false };
  }
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== "null");
    return { schema: { ...schema, type: types.length === 1 ? types[0] : undefined, enum: schema.enum?.filter((one) => one !== null) }, nullable: types.length < schema.type.length };
  }
  return { schema, nullable: false };
}

/** A value to begin with. */
function blank(given) {
  const { schema } = plain(given);
  if ("default" in schema) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.type === "object") {
    return Object.fromEntries((schema.required ?? []).map((name) => [name, blank(schema.properties?.[name])]));
  }
  return { array: [], string: "", integer: 0, number: 0, boolean: false }[schema.type] ?? null;
}

/** The first paragraph of what is said of it, and its bounds. */
function help(schema) {
  const bounds = [];
  if (schema.maxLength != null) bounds.push(schema.minLength ? `${number(schema.minLength)} to ${number(schema.maxLength)} characters` : `at most ${number(schema.maxLength)} characters`);
  else if (schema.minLength) bounds.push(`at least ${plural(schema.minLength, "character", "characters")}`);
  if (schema.minimum != null) bounds.push(`at least ${number(schema.minimum)}`);
  // A greater number is that of the last moment, which nobody reads.
  if (schema.maximum < 1e15) bounds.push(`at most ${number(schema.maximum)}`);
  const said = schema.description?.split(/\n\s*\n/)[0].replace(/\s+/g, " ");
  return [said, bounds.length > 0 && `(${bounds.join(", ")})`].filter(Boolean).join(" ");
}

/** A field for a value of this schema. */
export function Input({ name, schema: given, value, set, required, error }) {
  const { schema, nullable } = plain(given);
  const isOptional = !required || nullable;
  const label = html`${name}${required && !nullable ? html`<span class="must" aria-hidden="true"> *</span>` : ""}`;
  const common = { "aria-required": required && !nullable, "aria-invalid": Boolean(error) };
  const said = help(schema);
  if (schema.enum) {
    return html`<${Field} label=${label} help=${said} error=${error}>
      <select ...${common} value=${value === undefined ? "" : JSON.stringify(value)} onChange=${(event) => set(event.target.value ? JSON.parse(event.target.value) : undefined)}>
        ${isOptional && html`<option value="">–</option>`}
        ${schema.enum.map((one) => html`<option value=${JSON.stringify(one)}>${String(one)}</option>`)}
      </select>
    <//>`;
  }
  switch (schema.type) {
    case "string": {
      const isLong = (schema.maxLength ?? 0) > 200 || String(value ?? "").length > 80;
      const change = (event) => set(event.target.value === "" && isOptional ? undefined : event.target.value);
      return html`<${Field} label=${label} help=${said} error=${error}>
        ${isLong
          ? html`<textarea rows="3" ...${common} value=${value ?? ""} onInput=${change}></textarea>`
          : html`<input type="text" ...${common} value=${value ?? ""} onInput=${change} autocomplete="off" spellcheck=${false} />`}
      <//>`;
    }
    case "integer":
    case "number": {
      const change = (event) => set(event.target.value === "" ? undefined : Number(event.target.value));
      return html`<${Field} label=${label} help=${said} error=${error}>
        <input type="number" step=${schema.type === "integer" ? 1 : "any"} ...${common} value=${value ?? ""} onInput=${change} />
      <//>`;
    }
    case "boolean":
      return html`<${Field} label=${label} help=${said} error=${error}>
        <select ...${common} value=${value === undefined ? "" : String(value)} onChange=${(event) => set(event.target.value === "" ? undefined : event.target.value === "true")}>
          ${isOptional && html`<option value="">–</option>`}
          <option value="true">true</option><option value="false">false</option>
        </select>
      <//>`;
    case "object":
      if (schema.properties) {
        return html`<fieldset>
          <legend>${label}</legend>
          ${said && html`<p class="help">${inline(said)}</p>`}
          ${value === undefined
            ? html`<button type="button" class="small" onClick=${() => set(blank(schema))}>Add ${name}</button>`
            : html`<${Fields} schema=${schema} value=${value} set=${set} />
                ${isOptional && html`<button type="button" class="small" onClick=${() => set(undefined)}>Leave ${name} out</button>`}`}
        </fieldset>`;
      }
      break;
    case "array":
      if (schema.items && typeof schema.items === "object") {
        const items = value ?? [];
        const change = (place, item) => set(items.map((own, other) => (other === place ? item : own)));
        return html`<fieldset>
          <legend>${label}</legend>
          ${said && html`<p class="help">${inline(said)}</p>`}
          ${items.map(
            (item, place) => html`<div class="item">
              <${Input} name=${`${name} ${place + 1}`} schema=${schema.items} value=${item} set=${(next) => change(place, next)} required=${true} />
              <button type="button" class="small" aria-label=${`Remove ${name} ${place + 1}`} onClick=${() => set(items.filter((_, other) => other !== place))}>Remove</button>
            </div>`,
          )}
          <button type="button" class="small" onClick=${() => set([...items, blank(schema.items)])}>Add one to ${name}</button>
        </fieldset>`;
      }
      break;
  }
  return html`<${Json} label=${label} help=${said} value=${value} set=${set} error=${error} />`;
}

/** A value as JSON; nothing at all leaves it out. */
export function Json({ label, help: said, value, set, rows = 3, error }) {
  const [text, write] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)));
  const [problem, complain] = useState();
  const change = (event) => {
    write(event.target.value);
    try {
      set(event.target.value.trim() === "" ? undefined : JSON.parse(event.target.value));
      complain();
    } catch (wrong) {
      complain(wrong.message);
    }
  };
  return html`<${Field} label=${label} help=${said} error=${problem ?? error}>
    <textarea class="mono" rows=${rows} value=${text} onInput=${change} spellcheck=${false}></textarea>
  <//>`;
}

/** The members of an object, those first that cannot be left out. */
export function properties(schema) {
  const isRequired = ([name]) => schema.required?.includes(name) ?? false;
  return Object.entries(schema.properties ?? {}).sort((one, other) => isRequired(other) - isRequired(one));
}

/** Fields for all members of an object. */
export function Fields({ schema, value, set, wrong }) {
  const members = properties(schema);
  if (members.length === 0) return html`<p class="help">It takes no arguments.</p>`;
  const change = (name, next) => {
    const { [name]: _, ...rest } = value ?? {};
    set(next === undefined ? rest : { ...rest, [name]: next });
  };
  return members.map(
    ([name, own]) =>
      html`<${Input} key=${name} name=${name} schema=${own} value=${value?.[name]} set=${(next) => change(name, next)}
        required=${schema.required?.includes(name) ?? false} error=${wrong?.field?.split(/[.[]/)[0] === name ? wrong.message : undefined} />`,
  );
}
