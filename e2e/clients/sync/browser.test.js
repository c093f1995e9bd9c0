// The unchanged `convex/react` of npm in a browser against a real server: hooks, an optimistic update, an expired token, a
// second tab.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { chromium } from "playwright-core";

import { Server, until } from "./server.js";

// Flags that stop the background traffic of the browser.
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Timeout of a step of the browser on a busy machine. */
const WAIT_MS = 120_000;

const server = await Server.start();
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: QUIET, timeout: WAIT_MS });
// The page has a different origin on this machine, as with a separate development server.
const html = `<!doctype html><div id="root"></div><script>${readFileSync("page.js", "utf8").replaceAll("</script", "<\\/script")}</script>`;
const pages = createServer((_, response) => response.setHeader("Content-Type", "text/html; charset=utf-8").end(html));
await new Promise((resolve) => pages.listen(0, "127.0.0.1", resolve));
after(async () => {
  pages.close();
  await browser.close();
  await server.stop();
});

async function tab() {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.goto(`http://127.0.0.1:${pages.address().port}/?server=${encodeURIComponent(server.url)}`);
  return page;
}

const text = (page, id) => page.locator(`#${id}`).textContent();

test("both tabs see a write, and the writing tab sees its optimistic update first", async () => {
  const [first, second] = [await tab(), await tab()];
  for (const page of [first, second]) await until("the first result", async () => (await text(page, "count")) === "0");
  await first.click("#add");
  for (const page of [first, second]) await until("the count", async () => (await text(page, "count")) === "1");
  const shown = await first.evaluate(() => window.shown);
  assert.deepEqual(shown.filter((count) => count !== null && count !== undefined), [0, 1000, 1], "the guess, and what came of it");
  assert.ok(!(await second.evaluate(() => window.shown)).includes(1000));
  await server.kill();
  await server.again();
  await second.click("#add");
  for (const page of [first, second]) await until("the count after a restart", async () => (await text(page, "count")) === "2");
});

test("pages stay adjacent during inserts and after a kill", async () => {
  const add = async (...amounts) => {
    for (const amount of amounts) await server.call("mutation", "probes/ledger:add", { amount });
  };
  const page = await tab();
  const shows = (what, ...amounts) => until(what, async () => (await text(page, "amounts")) === amounts.join(" "));
  await until("an empty list", async () => (await text(page, "status")) === "Exhausted");
  await add(10, 20, 30, 40, 50, 60, 70);
  // The first page was the whole list at first. It grows and is split.
  await shows("all that came", 10, 20, 30, 40, 50, 60, 70);
  await add(15, 75);
  await shows("the beginning and the end", 10, 15, 20, 30, 40, 50, 60, 70, 75);

  const later = await tab();
  const laterShows = (what, ...amounts) => until(what, async () => (await text(later, "amounts")) === amounts.join(" "));
  await laterShows("the first page", 10, 15, 20);
  await later.click("#more");
  await laterShows("the second page", 10, 15, 20, 30, 40, 50);
  await add(20, 21, 1);
  await laterShows("what came between", 1, 10, 15, 20, 20, 21, 30, 40, 50);
  await server.kill();
  await server.again();
  await add(2, 22, 80);
  await laterShows("the same borders after a restart", 1, 2, 10, 15, 20, 20, 21, 22, 30, 40, 50);
  await later.click("#more");
  await laterShows("the third page", 1, 2, 10, 15, 20, 20, 21, 22, 30, 40, 50, 60, 70, 75);
  await later.click("#more");
  await laterShows("the last page", 1, 2, 10, 15, 20, 20, 21, 22, 30, 40, 50, 60, 70, 75, 80);
  await until("the end", async () => (await text(later, "status")) === "Exhausted");
});

test("page stays signed in after a token expires", async () => {
  const page = await tab();
  await until("nobody", async () => (await text(page, "who")) === "null");
  const [long, short] = [server.token("ada"), server.token("ada", "--ttl", "15s")];
  await page.evaluate((tokens) => window.signIn(tokens), [short, short, long]);
  await until("ada", async () => (await text(page, "who")) === "ada");
  await until("a renewal", async () => (await page.evaluate(() => window.asked)) >= 3);
  await until("ada again", async () => (await text(page, "who")) === "ada");
});
