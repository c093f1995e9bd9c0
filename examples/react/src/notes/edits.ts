// Edits of a shared text, and their transformation past each other.
//
// The server puts all edits into one order. Concurrent edits are transformed past each other, so that all pages end with
// the same text (operational transformation, TP1). These are the rules of the server: a page with other rules would show
// a different text.

/** One edit. Positions and lengths count UTF-16 code units, as JavaScript does. */
export type Edit =
  | { readonly type: "insert"; readonly position: number; readonly content: string }
  | { readonly type: "delete"; readonly position: number; readonly length: number };

/** Longest insertion of one edit, in code units. The server accepts 100,000. */
const INSERT_MAX = 50_000;

export function apply(text: string, edit: Edit): string {
  const behind = edit.type === "delete" ? edit.position + edit.length : edit.position;
  return text.slice(0, edit.position) + (edit.type === "insert" ? edit.content : "") + text.slice(behind);
}

/**
 * Transforms two sequences of edits of the same text past each other. `mine` and then the second result give the same
 * text as `theirs` and then the first result. The server received `theirs` first.
 */
export function cross(mine: readonly Edit[], theirs: readonly Edit[]): [mine: Edit[], theirs: Edit[]] {
  const [one, ...moreOfMine] = mine;
  const [other, ...moreOfTheirs] = theirs;
  if (one === undefined || other === undefined) return [[...mine], [...theirs]];
  if (moreOfMine.length > 0) {
    const [passed, left] = cross([one], theirs);
    const [rest, behind] = cross(moreOfMine, left);
    return [[...passed, ...rest], behind];
  }
  if (moreOfTheirs.length > 0) {
    const [passed, left] = cross(mine, [other]);
    const [behind, rest] = cross(passed, moreOfTheirs);
    return [behind, [...left, ...rest]];
  }
  return [past(one, other, false), past(other, one, true)];
}

/** Transforms an edit past another. Of two insertions at one position, the first at the server stays on the left. */
function past(edit: Edit, other: Edit, isFirst: boolean): Edit[] {
  if (other.type === "insert") {
    const size = other.content.length;
    const isBefore = edit.type === "insert" && isFirst ? other.position < edit.position : other.position <= edit.position;
    if (isBefore) return [{ ...edit, position: edit.position + size }];
    if (edit.type === "insert" || other.position >= edit.position + edit.length) return [edit];
    // An insertion inside a deleted range stays.
    const length = other.position - edit.position;
    return [{ ...edit, length }, { ...edit, position: edit.position + size, length: edit.length - length }];
  }
  const position = edit.position <= other.position ? edit.position : Math.max(other.position, edit.position - other.length);
  if (edit.type === "insert") return [{ ...edit, position }];
  const end = Math.min(edit.position + edit.length, other.position + other.length);
  const length = edit.length - Math.max(0, end - Math.max(edit.position, other.position));
  // A range that both delete is deleted once.
  return length === 0 ? [] : [{ ...edit, position, length }];
}

/** Returns the edits from `before` to `after`: at most one deletion, and insertions at its position. */
export function difference(before: string, after: string): Edit[] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  if (cutsCharacter(before, start) || cutsCharacter(after, start)) start -= 1;
  let end = 0;
  while (end < most - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  if (cutsCharacter(before, before.length - end) || cutsCharacter(after, after.length - end)) end -= 1;
  const edits: Edit[] = [];
  const length = before.length - end - start;
  if (length > 0) edits.push({ type: "delete", position: start, length });
  for (let from = start; from < after.length - end;) {
    let to = Math.min(from + INSERT_MAX, after.length - end);
    if (cutsCharacter(after, to)) to -= 1;
    edits.push({ type: "insert", position: from, content: after.slice(from, to) });
    from = to;
  }
  return edits;
}

/** Returns true if `place` is between the two code units of one character. */
function cutsCharacter(text: string, place: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(Math.max(0, place - 1), place + 1));
}

/** Returns two successive edits as one edit, if that is possible. */
export function merged(first: Edit, second: Edit): Edit | undefined {
  if (first.type === "insert") {
    const place = second.position - first.position;
    if (second.type === "delete" || place < 0 || place > first.content.length) return undefined;
    const content = first.content.slice(0, place) + second.content + first.content.slice(place);
    return content.length > INSERT_MAX ? undefined : { ...first, content };
  }
  // Backspace or Delete.
  if (second.type === "insert" || first.position < second.position || first.position > second.position + second.length) return undefined;
  return { ...second, length: first.length + second.length };
}
