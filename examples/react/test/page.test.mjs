// Tests the page in a real browser with two users, against the real application.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { connect, createServer as createWire } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";

import { chromium } from "playwright-core";

const binary = process.env.CONVOKE_BINARY;
assert.ok(binary, "CONVOKE_BINARY must name the program");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// Flags that stop the background traffic of the browser.
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const WAIT_MS = 120_000;

// ---- The server of the application ----

const folder = mkdtempSync(join(tmpdir(), "react-"));
const server = { process: undefined, url: "" };

async function start(listen) {
  server.process = spawn(binary, ["dev", "--listen", listen, "--log", "warn"], { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of createInterface({ input: server.process.stderr })) {
    const found = line.match(/^convoke: listening on (\S+)/);
    if (found === null) continue;
    server.process.stderr.resume();
    server.url = found[1];
    return;
  }
  throw new Error("the server did not start");
}

async function killAndStartAgain() {
  const gone = new Promise((resolve) => server.process.once("exit", resolve));
  server.process.kill("SIGKILL");
  await gone;
  await start(new URL(server.url).host);
}

const tokenOf = (name) => execFileSync(binary, ["token", "--subject", name, "--email", `${name}@example.com`], { cwd: folder, encoding: "utf8" }).trim();

async function call(path, args, token) {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
  const answer = await (await fetch(`${server.url}/api/run/${path}`, { method: "POST", headers, body: JSON.stringify({ args }) })).json();
  assert.equal(answer.status, "success", JSON.stringify(answer));
  return answer.value;
}

async function until(what, holds) {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    if (await holds()) return;
    assert.ok(Date.now() < end, `not reached within two minutes: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// ---- A proxy between the pages and the server, which can pause ----

const ends = new Set();
let isHeld = false;
const wire = createWire((near) => {
  const far = connect(new URL(server.url).port, "127.0.0.1");
  for (const [from, to] of [[near, far], [far, near]]) {
    ends.add(from);
    from.on("data", (data) => to.write(data));
    // Bytes that were written before still arrive.
    from.on("end", () => to.end());
    from.on("error", () => to.destroy());
    from.on("close", () => ends.delete(from));
    if (isHeld) from.pause();
  }
});

/** Pauses the proxy while both users act, so that their edits are concurrent on any machine. */
async function concurrently(both) {
  isHeld = true;
  for (const end of ends) end.pause();
  await both();
  isHeld = false;
  for (const end of ends) end.resume();
}

// ---- The pages ----

await start("127.0.0.1:0");
await new Promise((resolve) => wire.listen(0, "127.0.0.1", resolve));
const wireUrl = `http://127.0.0.1:${wire.address().port}`;
const types = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8" };
// The pages have a different origin than the server, as with a separate development server.
const files = createServer((request, response) => {
  const file = { "/": "index.html", "/main.js": "main.js" }[new URL(request.url, "http://localhost").pathname];
  if (file === undefined) response.writeHead(404).end();
  else response.setHeader("Content-Type", types[file.split(".")[1]]).end(readFileSync(new URL(`../public/${file}`, import.meta.url)));
});
await new Promise((resolve) => files.listen(0, "127.0.0.1", resolve));
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: QUIET, timeout: WAIT_MS });
after(async () => {
  await browser.close();
  files.close();
  wire.close();
  server.process.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const errors = [];

/** Opens a page in a separate browser context and signs in. */
async function signedIn(name) {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(WAIT_MS);
  page.on("pageerror", (error) => errors.push(`${name}: ${error.stack}`));
  await page.goto(`http://127.0.0.1:${files.address().port}/`);
  await page.getByLabel("Server").fill(wireUrl);
  await page.getByLabel("Token").fill(tokenOf(name));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Meetings" }).waitFor();
  return page;
}

const textOf = (page) => page.getByRole("textbox", { name: "Notes" }).inputValue();

/** Edits the notes on a page like a user: selects the range, and types or deletes. */
async function edit(page, from, to, text) {
  await page.getByRole("textbox", { name: "Notes" }).evaluate((area, [from, to]) => {
    area.focus();
    area.setSelectionRange(Math.min(from, area.value.length), Math.min(to, area.value.length));
  }, [from, to]);
  if (to > from) await page.keyboard.press("Delete");
  if (text !== "") await page.keyboard.insertText(text);
}

let meetingId;
const [ada, bob] = [await signedIn("ada"), await signedIn("bob")];
const adaToken = tokenOf("ada");

async function agree(what) {
  const onServer = async () => (await call("notes/queries/getMeetingNotes", { meetingId }, adaToken)).content;
  const saved = async (page) => (await page.locator("#notes-status").textContent()).trim() === "Saved";
  let texts = [];
  try {
    await until(what, async () => {
      if (!(await saved(ada)) || !(await saved(bob))) return false;
      texts = [await textOf(ada), await textOf(bob), await onServer()];
      return texts[0] === texts[1] && texts[1] === texts[2];
    });
  } catch (error) {
    error.message += `\n${JSON.stringify(texts)} ${await ada.locator("#notes-status").textContent()} ${await bob.locator("#notes-status").textContent()}`;
    throw error;
  }
  return texts[0];
}

test("users create a meeting, invite others and see their presence", async () => {
  await ada.getByLabel("Title").fill("Planning");
  await ada.getByRole("button", { name: "Create" }).click();
  await ada.getByRole("heading", { name: "Planning" }).waitFor();
  // Read in the page, because `ada.url()` may be older.
  meetingId = await ada.evaluate(() => location.hash.slice(1));
  const people = (page) => page.locator("section", { hasText: "Participants" }).getByRole("listitem");
  await people(ada).filter({ hasText: "ada, host (here)" }).waitFor();
  assert.equal(await people(ada).count(), 1);
  await ada.getByLabel("Invite by e-mail").fill("bob@example.com");
  await ada.getByRole("button", { name: "Invite" }).click();
  await people(ada).filter({ hasText: "bob (not here)" }).waitFor();
  await bob.getByRole("link", { name: "Planning" }).click();
  await people(ada).filter({ hasText: "bob (here)" }).waitFor();
  await people(bob).filter({ hasText: "ada, host (here)" }).waitFor();
  await bob.getByRole("link", { name: "All meetings" }).click();
  await people(ada).filter({ hasText: "bob (not here)" }).waitFor();
  await bob.getByRole("link", { name: "Planning" }).click();
  await people(ada).filter({ hasText: "bob (here)" }).waitFor();
  assert.equal(await people(ada).count(), 2);
});

test("closed tab reports its absence and crashed tab loses its lease", async () => {
  await ada.getByLabel("Invite by e-mail").fill("cleo@example.com");
  await ada.getByRole("button", { name: "Invite" }).click();
  const cleoIs = (presence, timeout) => ada.getByRole("listitem").filter({ hasText: `cleo (${presence})` }).waitFor({ timeout });
  const open = async () => {
    const cleo = await signedIn("cleo");
    await cleo.evaluate((id) => { location.hash = id; }, meetingId);
    await cleoIs("here", WAIT_MS);
    return cleo;
  };
  await (await open()).close({ runBeforeUnload: true });
  // Before the lease can expire, which lasts for 60 s.
  await cleoIs("not here", 45_000);
  const crashing = await open();
  const session = await crashing.context().newCDPSession(crashing);
  void session.send("Page.crash").catch(() => undefined);
  await cleoIs("not here", 120_000);
  await crashing.context().close();
});

test("second tab of a user stays present when the first one closes", async () => {
  const first = await signedIn("cleo");
  await first.evaluate((id) => { location.hash = id; }, meetingId);
  await first.getByRole("listitem").filter({ hasText: "cleo (here)" }).waitFor();
  const others = new Set(ends);
  const second = await signedIn("cleo");
  // The regular renewals must not come before the one that is tested.
  await second.evaluate(() => { globalThis.setInterval = () => 0; });
  await second.evaluate((id) => { location.hash = id; }, meetingId);
  await second.getByRole("listitem").filter({ hasText: "cleo (here)" }).waitFor();
  // The second tab learns of the absence only after the first user has seen it.
  const own = [...ends].filter((end) => !others.has(end));
  for (const end of own) end.pause();
  await first.close({ runBeforeUnload: true });
  const cleo = (presence) => ada.getByRole("listitem").filter({ hasText: `cleo (${presence})` }).waitFor();
  await cleo("not here");
  for (const end of own) end.resume();
  await cleo("here");
  await second.context().close();
});

test("user outside the meeting sees an error", async () => {
  const eve = await signedIn("eve");
  await eve.evaluate((id) => { location.hash = id; }, meetingId);
  await eve.getByRole("alert").filter({ hasText: "You are not a participant of this meeting." }).waitFor();
  await eve.getByRole("link", { name: "All meetings" }).click();
  await eve.getByRole("heading", { name: "Meetings" }).waitFor();
  await eve.context().close();
});

test("rejected token leads back to the sign-in page", async () => {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.goto(`http://127.0.0.1:${files.address().port}/`);
  await page.getByLabel("Server").fill(wireUrl);
  await page.getByLabel("Token").fill("nonsense");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.context().close();
});

test("concurrent edits converge to the text of the server", async () => {
  await ada.getByRole("textbox", { name: "Notes" }).waitFor();
  await edit(ada, 0, 0, "start middle end");
  await agree("the first text");
  // Each keystroke is a call, so the edits of both users cross.
  await Promise.all([
    (async () => {
      await edit(ada, 0, 0, "");
      await ada.keyboard.type("ADA ", { delay: 5 });
    })(),
    (async () => {
      await edit(bob, 1_000, 1_000, "");
      await bob.keyboard.type(" BOB", { delay: 5 });
    })(),
  ]);
  assert.equal(await agree("both ends"), "ADA start middle end BOB");
  // One user deletes a word in which the other inserts text. The inserted text survives.
  await concurrently(() => Promise.all([edit(ada, 10, 17, ""), edit(bob, 13, 13, "🦀")]));
  assert.equal(await agree("the middle"), "ADA start 🦀end BOB");
  await concurrently(() => Promise.all([edit(ada, 0, 4, ""), edit(bob, 0, 4, "")]));
  assert.equal(await agree("a deletion by both"), "start 🦀end BOB");
});

test("caret stays in place while other users write", async () => {
  await edit(ada, 0, 1_000, "one two");
  await agree("the text");
  await edit(ada, 4, 4, "");
  await edit(bob, 0, 0, "zero ");
  await agree("what the other wrote");
  await ada.keyboard.insertText("and ");
  assert.equal(await agree("what was typed at the caret"), "zero one and two");
});

/** Returns a pseudorandom number below `end`. Every run gets the same numbers. */
let seed = 7;
function random(end) {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return Math.floor((seed / 2 ** 31) * end);
}

async function typeAnything(page, name, rounds) {
  for (let round = 0; round < rounds; round += 1) {
    const { length } = await textOf(page);
    const place = [0, Math.floor(length / 2), length, random(length + 1)][random(4)];
    const mark = `<${name}${String(round)}>`;
    const taken = random(3) === 0 ? random(6) : 0;
    await edit(page, place, place + taken, taken === 0 ? mark : "");
  }
}

test("random edits of both users converge", async () => {
  await edit(ada, 0, 10_000, "");
  await agree("an empty text");
  await Promise.all([typeAnything(ada, "a", 60), typeAnything(bob, "b", 60)]);
  const text = await agree("one text");
  assert.ok(text.length > 100, text);
});

test("server restart during concurrent edits loses nothing", async () => {
  await edit(ada, 0, 10_000, "");
  await agree("an empty text");
  const [mine, theirs] = [[], []];
  const typing = (page, name, marks) => (async () => {
    for (let round = 0; round < 40; round += 1) {
      const mark = `${name}${String(round)};`;
      marks.push(mark);
      await edit(page, 0, 0, mark);
    }
  })();
  for (let time = 0; time < 2; time += 1) {
    const both = Promise.all([typing(ada, `a${String(time)}.`, mine), typing(bob, `b${String(time)}.`, theirs)]);
    await killAndStartAgain();
    await both;
  }
  const text = await agree("one text after the restarts");
  for (const mark of [...mine, ...theirs]) assert.equal(text.split(mark).length, 2, `${mark} must occur once in ${text}`);
  assert.equal(text.length, [...mine, ...theirs].join("").length, "the text must contain nothing else");
});

test("page is accessible", async () => {
  for (const page of [ada, bob]) {
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), []);
  }
});

test("sign-out ends the presence, and closing a page with unsaved edits needs confirmation", async () => {
  await bob.getByRole("button", { name: "Sign out" }).click();
  await bob.getByRole("heading", { name: "Sign in" }).waitFor();
  await ada.getByRole("listitem").filter({ hasText: "bob (not here)" }).waitFor();
  server.process.kill("SIGKILL");
  await ada.getByRole("status").filter({ hasText: "Connecting…" }).waitFor();
  await edit(ada, 0, 0, "unsaved ");
  await ada.getByText("Saving…").waitFor();
  const asked = ada.waitForEvent("dialog");
  void ada.close({ runBeforeUnload: true });
  const dialog = await asked;
  assert.equal(dialog.type(), "beforeunload");
  await dialog.accept();
});

test("pages log no errors", () => {
  assert.deepEqual(errors, []);
});
