// Values as text for people, never as markup.

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** The text with visible marks for control characters, so that they cannot move the cursor or change the direction. */
export function visible(text) {
  return String(text).replace(CONTROL, (character) => {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
  });
}

export function short(text, most = 80) {
  const characters = Array.from(visible(text).replace(/\s+/g, " "));
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : characters.join("");
}

const NUMBER = new Intl.NumberFormat("en");

export const number = (value) => (value == null ? "–" : NUMBER.format(value));

export const plural = (count, one, more) => `${number(count)} ${count === 1 ? one : more}`;

export function bytes(value) {
  if (value == null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Milliseconds as a duration. */
export function span(ms) {
  if (ms == null) return "–";
  if (ms === 0) return "0 ms";
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = seconds / 60;
  if (minutes < 60) return `${Math.round(minutes)} min`;
  const hours = minutes / 60;
  return hours < 48 ? `${Math.round(hours)} h` : `${Math.round(hours / 24)} days`;
}

const two = (value) => String(value).padStart(2, "0");

export function time(ms) {
  if (ms == null) return "–";
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return String(ms);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function clock(ms) {
  const at = new Date(ms);
  const fraction = String(at.getMilliseconds()).padStart(3, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${fraction}`;
}

export function ago(ms, now = Date.now()) {
  if (ms == null) return "never";
  const passed = now - ms;
  if (Math.abs(passed) < 1000) return "now";
  return passed > 0 ? `${span(passed)} ago` : `in ${span(-passed)}`;
}

/** True if the name and the value of a field look like a time in milliseconds. */
export function isTime(name, value) {
  return typeof value === "number" && (name === "_creationTime" || /At$/.test(name)) && value > 1e11;
}
