// Edits of a text that several people write at once, and how two of them pass each other.
//
// The server puts all edits into one order. An edit that was made before one heard of another is carried past it, so that
// everybody has the same text in the end, whatever they saw first (operational transformation, TP1). These are the server's
// own rules: a page that had others would show another text.

/** One edit. Positions and lengths count UTF-16 code units, as JavaScript does. */
export type Edit =
  | { readonly type: "insert"; readonly position: number; readonly content: string }
  | { readonly type: "delete"; readonly position: number; readonly length: number };

/** How much one edit inserts at most; the server takes 100,000. */
const INSERT_MAX = 50_000;

export function apply(text: string, edit: Edit): string {
  const behind = edit.type === "delete" ? edit.position + edit.length : edit.position;
  return text.slice(0, edit.position) + (edit.type === "insert" ? edit.content : "") + text.slice(behind);
}

/**
 * Two sequences of edits that were made on the same text, each as it has to be behind the other. Whoever applies `mine`
 * and then the second has the same text as whoever applies `theirs` and then the first. The server had `theirs` first.
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

/** One edit behind another. Of two insertions at one place the one that the server had first stays left. */
function past(edit: Edit, other: Edit, isFirst: boolean): Edit[] {
  if (other.type === "insert") {
    const size = other.content.length;
    const isBefore = edit.type === "insert" && isFirst ? other.position < edit.position : other.position <= edit.position;
    if (isBefore) return [{ ...edit, position: edit.position + size }];
    if (edit.type === "insert" || other.position >= edit.position + edit.length) return [edit];
    // What is inserted inside of what is deleted stays.
    const length = other.position - edit.position;
    return [{ ...edit, length }, { ...edit, position: edit.position + size, length: edit.length - length }];
  }
  const position = edit.position <= other.position ? edit.position : Math.max(other.position, edit.position - other.length);
  if (edit.type === "insert") return [{ ...edit, position }];
  const end = Math.min(edit.position + edit.length, other.position + other.length);
  const length = edit.length - Math.max(0, end - Math.max(edit.position, other.position));
  // What is deleted by two is deleted once.
  return length === 0 ? [] : [{ ...edit, position, length }];
}

/** What was done to a text: at most one deletion, and insertions at its place. */
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

/** Whether a place is between the two units of one character. */
function cutsCharacter(text: string, place: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(Math.max(0, place - 1), place + 1));
}

/** Two edits, made one after the other, as one, where that can be. */
export function merged(first: Edit, second: Edit): Edit | undefined {
  if (first.type === "insert") {
    const place = second.position - first.position;
    if (second.type === "delete" || place < 0 || place > first.content.length) return undefined;
    const content = first.content.slice(0, place) + second.content + first.content.slice(place);
    return content.length > INSERT_MAX ? undefined : { ...first, content };
  }
  // Backspace, or the other way.
  if (second.type === "insert" || first.position < second.position || first.position > second.position + second.length) return undefined;
  return { ...second, length: first.length + second.length };
}
