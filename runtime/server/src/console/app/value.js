// Values of forms. A form sends exactly the values that its fields show: a field whose text is not a value holds an
// `Unreadable`, never its last valid value, and a form with an unreadable field cannot be sent.

/** The value of a field whose text is not a value: the text and the problem. */
export class Unreadable {
  constructor(text, problem) {
    this.text = text;
    this.problem = problem;
  }
}

/** The first unreadable value in a value and its members, or undefined. */
export function unreadable(value) {
  if (value instanceof Unreadable) return value;
  if (value === null || typeof value !== "object") return undefined;
  for (const inner of Object.values(value)) {
    const found = unreadable(inner);
    if (found) return found;
  }
  return undefined;
}

const INEXACT = "cannot be sent exactly: an integer must be between -9007199254740991 and 9007199254740991";

/** False for an integer that JavaScript rounds, and for a number that is too large for it. */
const isExact = (text) => (/^-?\d+$/.test(text) ? Number.isSafeInteger(Number(text)) : Number.isFinite(Number(text)));

/** The number in a field of type `number`; `empty` if the field is empty. */
export function readNumber(input, empty) {
  // The browser does not reveal text that is not a number.
  if (input.validity.badInput) return new Unreadable("", "Not a number");
  if (input.value === "") return empty;
  return isExact(input.value) ? Number(input.value) : new Unreadable(input.value, `${input.value} ${INEXACT}`);
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** A part of valid JSON that JSON.parse would silently change: a duplicate name in an object, an inexact number. */
function altered(text) {
  const tokens = text.match(TOKEN) ?? [];
  const open = [];
  for (const [place, token] of tokens.entries()) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token.startsWith('"') && tokens[place + 1] === ":") {
      const name = JSON.parse(token);
      if (open.at(-1).has(name)) return `The name ${token} is used twice in one object`;
      open.at(-1).add(name);
    } else if (/^-?\d/.test(token) && !isExact(token)) return `${token} ${INEXACT}`;
  }
  return undefined;
}

/** The value of JSON text; `empty` if there is no text. With `isObject`, only an object is accepted. */
export function readJson(text, { empty, isObject = false }) {
  if (text.trim() === "") return empty;
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return new Unreadable(text, error.message);
  }
  const problem = altered(text);
  if (problem) return new Unreadable(text, problem);
  if (isObject && (value === null || typeof value !== "object" || Array.isArray(value))) {
    return new Unreadable(text, "Not a JSON object: write {\"name\": value, …}");
  }
  return value;
}
