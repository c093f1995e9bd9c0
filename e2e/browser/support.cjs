// A separate server for each script, and a browser that records errors and requests to other servers.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const readline = require("node:readline");
const { chromium } = require("playwright-core");

/** Flags that stop the background traffic of the browser. */
const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Timeout of a step on a busy machine. */
const PATIENCE = 120_000;

const browser = () => chromium.launch({ executablePath: "/usr/bin/chromium", args: QUIET, timeout: PATIENCE });

/** Waits until a condition holds. */
async function until(what, holds) {
  for (const end = Date.now() + PATIENCE; !(await holds()); await new Promise((later) => setTimeout(later, 20))) {
    assert.ok(Date.now() < end, `not reached: ${what}`);
  }
}

/** Returns the address of a page. It is read in the page, because `page.url()` may be older. */
const address = (page) => page.evaluate(() => location.href);

class Server {
  /** Starts a server on a folder with a settings file (`settings`), further flags (`flags`) and an address (`listen`). */
  static async start(binary, folder, { settings = "", flags = [], listen = "127.0.0.1:0" } = {}) {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(`${folder}/convoke.toml`, settings);
    const within = ["--data", `${folder}/data`, "--config", `${folder}/convoke.toml`];
    const options = ["serve", "--env", "development", ...flags, "--listen", listen, "--log", "warn", ...within];
    const child = spawn(binary, options, { stdio: ["ignore", "inherit", "pipe"] });
    for await (const line of readline.createInterface({ input: child.stderr })) {
      const found = line.match(/listening on (\S+)/);
      if (found) {
        child.stderr.resume();
        return new this(binary, within, child, found[1], folder);
      }
    }
    throw new Error("the server did not start");
  }

  constructor(binary, within, child, base, folder) {
    Object.assign(this, { binary, within, child, base, folder });
  }

  command(...words) {
    return execFileSync(this.binary, [...words, ...this.within], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  }

  token(subject, name = subject) {
    return this.command("token", "--subject", subject, "--email", `${subject}@example.com`, "--name", name);
  }

  async stop() {
    const ended = new Promise((done) => this.child.once("exit", done));
    this.child.kill("SIGTERM");
    await ended;
  }
}

/** Tabs of a browser. They record all errors except the rejections that a test expects. */
class Watched {
  constructor(context, base, expected) {
    Object.assign(this, { context, base, expected, complaints: [], elsewhere: [] });
    context.on("page", (page) => this.watch(page));
  }

  watch(page) {
    page.on("console", (message) => {
      if (message.type() === "error" && !this.expected?.test(message.text())) this.complaints.push(message.text());
    });
    page.on("pageerror", (error) => this.complaints.push(String(error.stack ?? error)));
    page.on("request", (request) => {
      const isOwn = [`${this.base}/`, "data:", "blob:"].some((own) => request.url().startsWith(own));
      if (!isOwn) this.elsewhere.push(request.url());
    });
  }

  quiet() {
    assert.deepEqual(this.complaints, [], "errors in the browser");
    assert.deepEqual(this.elsewhere, [], "requests to other servers");
  }
}

const AXE = require.resolve("axe-core/axe.min.js");

/**
 * The findings of axe-core that are serious, and those of the rules in `others`. The script is evaluated from outside:
 * the page's own policy runs no foreign scripts.
 */
async function inaccessible(page, others = []) {
  // It reads colors, so each transition must have ended.
  await page.evaluate(() => Promise.allSettled(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished)));
  await page.evaluate(fs.readFileSync(AXE, "utf8"));
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const counted = violations.filter(({ id, impact }) => impact === "serious" || impact === "critical" || others.includes(id));
  return counted.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ target, failureSummary }) => `${target} ${failureSummary}`).join(" | ")}`);
}

/** Returns the number of pixels by which the page is wider than the screen. */
const surplus = (page) => page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));

module.exports = { address, browser, inaccessible, PATIENCE, Server, surplus, until, Watched };
