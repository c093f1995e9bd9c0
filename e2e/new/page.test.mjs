// The page of the template `react` in a real browser, with two users. Runs in the folder `web` of a new program.
// CONVOKE_BINARY names the program.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";

import { chromium } from "playwright-core";
import { build, preview } from "vite";

const folder = mkdtempSync(join(tmpdir(), "new-"));
const server = spawn(process.env.CONVOKE_BINARY, ["dev", "--listen", "127.0.0.1:0", "--log", "warn"], { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
for await (const line of createInterface({ input: server.stderr })) {
  process.env.VITE_CONVOKE_URL = line.match(/^convoke: listening on (\S+)/)?.[1];
  if (line.startsWith("convoke: listening on ")) break;
}
server.stderr.resume();
await build({ logLevel: "warn" });
const site = await preview({ preview: { host: "127.0.0.1", port: 0 } });
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
after(async () => {
  await browser.close();
  await site.close();
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

async function open() {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(site.resolvedUrls.local[0]);
  // An empty list has no height.
  await page.getByRole("list").waitFor({ state: "attached" });
  return page;
}

async function add(page, title) {
  await page.getByLabel("Title").fill(title);
  await page.getByRole("button", { name: "Add" }).click();
}

const book = (page, title) => page.getByRole("listitem").filter({ hasText: title });
const [ada, bob] = [await open(), await open()];

test("book is shown before the server responds and then to every user", async () => {
  server.kill("SIGSTOP");
  await add(ada, "SICP");
  await book(ada, "SICP").waitFor();
  assert.equal(await book(bob, "SICP").count(), 0);
  server.kill("SIGCONT");
  await book(bob, "SICP").waitFor();
  await add(bob, "Gödel, Escher, Bach");
  await book(ada, "Gödel").waitFor();
  assert.deepEqual(await ada.getByRole("listitem").allTextContents(), ["Gödel, Escher, Bach", "SICP"]);
});

test("rejected book is removed with the sentence of the server", async () => {
  await add(ada, " ");
  await ada.getByRole("alert").filter({ hasText: "A book has a title" }).waitFor();
  assert.equal(await ada.getByRole("listitem").count(), 2);
});
