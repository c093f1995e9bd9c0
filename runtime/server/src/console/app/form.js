// A form made from a JSON schema, for the arguments of a function. Values that no field can show are edited as JSON.

import { useRef, useState } from "./vendor/hooks.js";
import { number, plural } from "./text.js";
import { Field, html, inline } from "./ui.js";
import { readJson, readNumber, Unreadable } from "./value.js";

/** The schema without its alternative null, and true if it has one. */
function plain(schema) {
  if (!schema || typeof schema !== "object") return { schema: {}, nullable: false };
  const some = schema.anyOf ?? schema.oneOf;
  if (some) {
    const others = some.filter((one) => one.type !== "null");
    if (others.length === 1) return { schema: { ...others[0], description: schema.description ?? others[0].description }, nullable: others.length < some.length };
    // An enumeration whose values have descriptions.
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

/** The initial value of a field. */
function blank(given) {
  const { schema } = plain(given);
  if ("default" in schema) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.type === "object") {
    return Object.fromEntries((schema.required ?? []).map((name) => [name, blank(schema.properties?.[name])]));
  }
  return { array: [], string: "", integer: 0, number: 0, boolean: false }[schema.type] ?? null;
}

/** The first paragraph of the description, and the bounds. */
function help(schema) {
  const bounds = [];
  if (schema.maxLength != null) bounds.push(schema.minLength ? `${number(schema.minLength)} to ${number(schema.maxLength)} characters` : `at most ${number(schema.maxLength)} characters`);
  else if (schema.minLength) bounds.push(`at least ${plural(schema.minLength, "character", "characters")}`);
  if (schema.minimum != null) bounds.push(`at least ${number(schema.minimum)}`);
  // Larger bounds are those of the number type itself.
  if (schema.maximum < 1e15) bounds.push(`at most ${number(schema.maximum)}`);
  const text = schema.description?.split(/\n\s*\n/)[0].replace(/\s+/g, " ");
  return [text, bounds.length > 0 && `(${bounds.join(", ")})`].filter(Boolean).join(" ");
}

/** True if the field for this schema can show the value. */
function canShow(schema, value) {
  if (value === undefined || value === null || value instanceof Unreadable) return true;
  if (schema.enum) return schema.enum.includes(value);
  switch (schema.type) {
    case "string":
    case "boolean":
      return typeof value === schema.type;
    case "integer":
    case "number":
      return typeof value === "number";
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && !Array.isArray(value);
    default:
      return false;
  }
}

/** A list of choices; an optional one can be left out, a nullable one can be null. */
function Choices({ of, common, value, set, isOptional, nullable }) {
  const change = (event) => set(event.target.value ? JSON.parse(event.target.value) : undefined);
  return html`<select ...${common} value=${value === undefined ? "" : JSON.stringify(value)} onChange=${change}>
    ${(isOptional || value === undefined) && html`<option value="">–</option>`}
    ${(nullable || value === null) && html`<option value="null">null</option>`}
    ${of.map((one) => html`<option value=${JSON.stringify(one)}>${String(one)}</option>`)}
  </select>`;
}

/** A field for a value of this schema. */
export function Input({ name, schema: given, value, set, required, error: refusal }) {
  const { schema, nullable } = plain(given);
  // Decided once: a field that changes its kind during input would lose the keyboard focus.
  const [isShown] = useState(() => canShow(schema, value));
  const isOptional = !required || nullable;
  const error = value instanceof Unreadable ? value.problem : refusal;
  const label = html`${name}${required && !nullable ? html`<span class="must" aria-hidden="true"> *</span>` : ""}`;
  const common = { "aria-required": required && !nullable, "aria-invalid": Boolean(error) };
  const text = help(schema);
  const shown = value instanceof Unreadable ? value.text : (value ?? "");
  const placeholder = value === null ? "null" : "";
  if (isShown && schema.enum) {
    return html`<${Field} label=${label} help=${text} error=${error}>
      <${Choices} of=${schema.enum} common=${common} value=${value} set=${set} isOptional=${isOptional} nullable=${nullable} />
    <//>`;
  }
  switch (isShown && schema.type) {
    case "string": {
      const isLong = (schema.maxLength ?? 0) > 200 || String(shown).length > 80;
      const change = (event) => set(event.target.value === "" && isOptional ? undefined : event.target.value);
      return html`<${Field} label=${label} help=${text} error=${error}>
        ${isLong
          ? html`<textarea rows="3" ...${common} value=${shown} placeholder=${placeholder} onInput=${change}></textarea>`
          : html`<input type="text" ...${common} value=${shown} placeholder=${placeholder} onInput=${change} autocomplete="off" spellcheck=${false} />`}
      <//>`;
    }
    case "integer":
    case "number":
      return html`<${Field} label=${label} help=${text} error=${error}>
        <input type="number" step=${schema.type === "integer" ? 1 : "any"} ...${common} value=${shown} placeholder=${placeholder} onInput=${(event) => set(readNumber(event.target))} />
      <//>`;
    case "boolean":
      return html`<${Field} label=${label} help=${text} error=${error}>
        <${Choices} of=${[true, false]} common=${common} value=${value} set=${set} isOptional=${isOptional} nullable=${nullable} />
      <//>`;
    case "object":
      if (schema.properties) {
        return html`<fieldset>
          <legend>${label}</legend>
          ${text && html`<p class="help">${inline(text)}</p>`}
          ${value == null
            ? html`${value === null && html`<p class="null">null</p>`}<button type="button" class="small" onClick=${() => set(blank(schema))}>Add ${name}</button>`
            : html`<${Fields} schema=${schema} value=${value} set=${set} />
                ${isOptional && html`<button type="button" class="small" onClick=${() => set(undefined)}>Remove ${name}</button>`}`}
        </fieldset>`;
      }
      break;
    case "array":
      if (schema.items && typeof schema.items === "object") {
        return html`<${Items} label=${label} name=${name} text=${text} schema=${schema} items=${value} set=${set} isOptional=${isOptional} />`;
      }
      break;
  }
  return html`<${Json} label=${label} help=${text} value=${value} set=${set} error=${refusal} />`;
}

/** Fields for the items of a list. */
function Items({ label, name, text, schema, items, set, isOptional }) {
  // Items have no names of their own, and a field must keep its text when another item is removed.
  const keys = useRef([]);
  while (keys.current.length < (items?.length ?? 0)) keys.current.push((keys.next = (keys.next ?? 0) + 1));
  const change = (place, item) => set(items.map((own, other) => (other === place ? item : own)));
  const remove = (place) => {
    keys.current.splice(place, 1);
    set(items.filter((_, other) => other !== place));
  };
  const leaveOut = () => {
    keys.current = [];
    set(undefined);
  };
  return html`<fieldset>
    <legend>${label}</legend>
    ${text && html`<p class="help">${inline(text)}</p>`}
    ${items === null && html`<p class="null">null</p>`}
    ${items?.length === 0 && html`<p class="help">An empty list</p>`}
    ${items?.map(
      (item, place) => html`<div class="item" key=${keys.current[place]}>
        <${Input} name=${`${name} ${place + 1}`} schema=${schema.items} value=${item} set=${(next) => change(place, next ?? null)} required=${true} />
        <button type="button" class="small" aria-label=${`Remove ${name} ${place + 1}`} onClick=${() => remove(place)}>Remove</button>
      </div>`,
    )}
    <button type="button" class="small" onClick=${() => set([...(items ?? []), blank(schema.items)])}>Add an item to ${name}</button>
    ${items && isOptional && html` <button type="button" class="small" onClick=${leaveOut}>Remove ${name}</button>`}
  </fieldset>`;
}

/** A value as JSON text. A field without text has the value `empty`. */
export function Json({ label, help: text, value, set, rows = 3, error, empty, isObject }) {
  const own = useRef({});
  // The text belongs to the value: a new value, for example after a reset, has a new text.
  if (!("text" in own.current) || own.current.value !== value) {
    const written = value instanceof Unreadable ? value.text : value === empty ? "" : JSON.stringify(value, null, 2);
    own.current = { value, text: written };
  }
  const change = (event) => {
    const next = readJson(event.target.value, { empty, isObject });
    own.current = { value: next, text: event.target.value };
    set(next);
  };
  const problem = value instanceof Unreadable ? value.problem : error;
  return html`<${Field} label=${label} help=${text} error=${problem}>
    <textarea class="mono" rows=${rows} value=${own.current.text} aria-invalid=${Boolean(problem)} onInput=${change} spellcheck=${false}></textarea>
  <//>`;
}

/** The members of an object, the required ones first. */
export function properties(schema) {
  const isRequired = ([name]) => schema.required?.includes(name) ?? false;
  return Object.entries(schema.properties ?? {}).sort((one, other) => isRequired(other) - isRequired(one));
}

/** Fields for all members of an object, including those that the schema does not have. */
export function Fields({ schema, value, set, wrong }) {
  const members = properties(schema);
  const unknown = Object.keys(value ?? {}).filter((name) => !Object.hasOwn(schema.properties ?? {}, name));
  if (members.length + unknown.length === 0) return html`<p class="help">It takes no arguments.</p>`;
  const change = (name, next) => {
    const { [name]: _, ...rest } = value ?? {};
    set(next === undefined ? rest : { ...rest, [name]: next });
  };
  const refusal = (name) => (wrong?.field?.split(/[.[]/)[0] === name ? wrong.message : undefined);
  return html`${members.map(
      ([name, own]) =>
        html`<${Input} key=${name} name=${name} schema=${own} value=${value?.[name]} set=${(next) => change(name, next)}
          required=${schema.required?.includes(name) ?? false} error=${refusal(name)} />`,
    )}
    ${unknown.map(
      (name) =>
        html`<${Json} key=${`unknown ${name}`} label=${name} help="The schema has no such member. Clear the field to remove it." value=${value[name]} set=${(next) => change(name, next)} error=${refusal(name)} />`,
    )}`;
}
