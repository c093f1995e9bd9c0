// npm's `convex/react` in a browser, unchanged, against a real server: hooks, an optimistic update, a token that ends, a
// second tab.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { chromium } from "playwright-core";

import { Server, until } from "./server.js";

// The flags that keep a browser from calling home.
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

const server = await Server.start();
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: QUIET });
// The page is of another origin on this machine, as with a development server of its own.
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
  await page.goto(`http://127.0.0.1:${pages.address().port}/?server=${encodeURIComponent(server.url)}`);
  return page;
}

const text = (page, id) => page.locator(`#${id}`).textContent();

test("two tabs see what one of them writes, which sees it before it is done and then as it is", async () => {
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

test("who signs in is known on the page, also when a token ends", async () => {
  const page = await tab();
  await until("nobody", async () => (await text(page, "who")) === "null");
  const [short, long] = [server.token("ada", "--ttl", "4s"), server.token("ada")];
  await page.evaluate((tokens) => window.signIn(tokens), [short, short, long]);
  await until("ada", async () => (await text(page, "who")) === "ada");
  await until("a renewal", async () => (await page.evaluate(() => window.asked)) >= 3);
  await until("ada again", async () => (await text(page, "who")) === "ada");
});
