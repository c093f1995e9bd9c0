// The first chapter of the tutorial, from `convoke dev` to the new types: the page in a real browser with two users, an
// edited function, an edit with an error, which the console shows, and its repair. The commands and the edits are those of
// the chapter, whose file is named in CHAPTER. Runs in the folder `web` of a new program, with the tool on the PATH. Prints
// the seconds of each step.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { isDeepStrictEqual } from "node:util";

import { chromium } from "playwright-core";

const FUNCTIONS = "../src/books.rs";
const WAIT_MS = 300_000;

// ---- The chapter ----

const chapter = readFileSync(process.env.CHAPTER, "utf8");
const edits = [...chapter.matchAll(/^```diff\n(.*?)^```/gms)].map(([, diff]) => {
  const side = (sign) => diff.split("\n").filter((one) => one[0] === " " || one[0] === sign).map((one) => one.slice(1)).join("\n");
  return { from: side("-"), to: side("+") };
});
const [reorder, mistake, repair, restore, addition] = edits;
assert.equal(edits.length, 5, "the chapter has another number of edits");

function edited(text, { from, to }) {
  assert.equal(text.split(from).length, 2, `not once in ${FUNCTIONS}:\n${from}`);
  return text.replace(from, () => to);
}

/** Starts a command that the chapter has, with options that only a test needs. */
function start(command, options, at) {
  assert.ok(chapter.includes(`\n$ ${command}\n`), `the chapter lacks '${command}'`);
  const [program, ...words] = command.split(" ");
  return spawn(program, [...words, ...options], { ...at, detached: true });
}

// ---- The tool, in the folder of the program ----

rmSync("../data", { recursive: true, force: true });
const dev = start("convoke dev", ["--listen", "127.0.0.1:0", "--log", "warn"], { cwd: "..", stdio: ["ignore", "ignore", "pipe"] });
const lines = [];
createInterface({ input: dev.stderr }).on("line", (line) => { lines.push(line); });

async function until(what, found) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 20))) {
    const result = await found();
    if (result) return result;
  }
  throw new Error(`not reached: ${what}\n${lines.join("\n")}`);
}

/** Waits for a line of the tool after the line `from`. */
const line = (pattern, from = 0) => until(String(pattern), () => lines.slice(from).map((one) => one.match(pattern)).find(Boolean));

/** Edits the functions, and returns the number of the lines before. */
function save(text) {
  writeFileSync(FUNCTIONS, text);
  return lines.length;
}

async function timed(step, work) {
  const start = performance.now();
  const result = await work();
  console.log(`${step}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return result;
}

process.env.VITE_CONVOKE_URL = (await timed("first start", () => line(/^convoke: listening on (\S+)/)))[1];
const web = start("npm run dev", ["--", "--host", "127.0.0.1", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
const address = await timed("start of the page", () => new Promise((resolve, reject) => {
  web.once("exit", (code) => { reject(new Error(`the page's server ended with ${code}`)); });
  createInterface({ input: web.stdout }).on("line", (one) => {
    const found = one.replaceAll(/\x1b\[[0-9;]*m/g, "").match(/http:\/\/127\.0\.0\.1:\d+\//);
    if (found) resolve(found[0]);
  });
}));
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"], timeout: WAIT_MS });
after(async () => {
  await browser.close();
  // npm starts further processes: the whole group ends.
  process.kill(-web.pid, "SIGTERM");
  dev.kill("SIGINT");
  await new Promise((resolve) => { dev.once("exit", resolve); });
});

async function open() {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.goto(address);
  // An empty list has no height.
  await page.getByRole("list").waitFor({ state: "attached" });
  return page;
}

async function add(page, title) {
  await page.getByLabel("Title").fill(title);
  await page.getByRole("button", { name: "Add" }).click();
}

// A page that loads its new types has no list for a moment.
const titles = (page) => page.getByRole("listitem").allTextContents().catch(() => []);
const lists = (page, expected) => until(`${expected} in the list`, async () => isDeepStrictEqual(await titles(page), expected));
const book = (page, title) => page.getByRole("listitem").filter({ hasText: title });
const [ada, bob] = [await open(), await open()];

test("book is shown before the server responds and then to every user", async () => {
  // The tool has become the process that watches; its child serves.
  const server = Number(readFileSync(`/proc/${dev.pid}/task/${dev.pid}/children`, "utf8"));
  process.kill(server, "SIGSTOP");
  await add(ada, "SICP");
  await book(ada, "SICP").waitFor();
  assert.equal(await book(bob, "SICP").count(), 0);
  process.kill(server, "SIGCONT");
  await book(bob, "SICP").waitFor();
  await add(bob, "Gödel, Escher, Bach");
  await lists(ada, ["Gödel, Escher, Bach", "SICP"]);
});

test("rejected book is removed with the sentence of the server", async () => {
  await add(ada, " ");
  await ada.getByRole("alert").filter({ hasText: "A book has a title" }).waitFor();
  await lists(ada, ["Gödel, Escher, Bach", "SICP"]);
});

test("saved function is live in the browser, an error changes nothing, and its repair writes the types", async () => {
  const written = readFileSync(FUNCTIONS, "utf8");
  const descending = edited(written, reorder);
  await timed("edit until both browsers show it", async () => {
    const from = save(descending);
    for (const page of [ada, bob]) await lists(page, ["SICP", "Gödel, Escher, Bach"]);
    console.log(`  ${(await line(/^convoke: (the new program serves .*)/, from))[1]}`);
  });

  const operator = await (await browser.newContext()).newPage();
  operator.setDefaultTimeout(WAIT_MS);
  await operator.goto(execFileSync("convoke", ["console", "--print"], { cwd: "..", encoding: "utf8" }).trim());
  await operator.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  const banner = operator.getByRole("alert").filter({ hasText: "The last build failed." });
  assert.equal(await banner.count(), 0);

  const broken = save(edited(descending, mistake));
  await timed("edit with an error until it is reported", () => line(/the former server goes on/, broken));
  await timed("until the console shows it", () => banner.filter({ hasText: "cannot find value `idd`" }).waitFor());
  assert.ok(lines.slice(broken).some((one) => one.includes("cannot find value `idd`")), lines.join("\n"));
  await add(ada, "Zen");
  await book(bob, "Zen").waitFor();

  const types = readFileSync("src/api.ts", "utf8");
  await timed("repair with a new function until the types have it", async () => {
    save([mistake, repair, restore, addition].reduce(edited, descending));
    await until("the types of the new function", () => readFileSync("src/api.ts", "utf8").includes("count"));
  });
  assert.notEqual(readFileSync("src/api.ts", "utf8"), types);
  await timed("until the console no longer shows the error", () => banner.waitFor({ state: "detached" }));
  await operator.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  // Each page reconnects to the new program on its own.
  for (const page of [ada, bob]) await lists(page, ["Gödel, Escher, Bach", "SICP", "Zen"]);
});
