// Opens /docs of a real run in a browser, calls a function with a token and without, and looks that nothing goes
// elsewhere. Started by docs.sh: BINARY FOLDER.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync, spawn } = require("node:child_process");
const readline = require("node:readline");
const { chromium } = require("playwright-core");

const [binary, work] = process.argv.slice(2);
const within = ["--data", `${work}/data`, "--config", `${work}/convoke.toml`];
require("node:fs").writeFileSync(`${work}/convoke.toml`, "");

// The flags that keep a browser from calling home.
const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

async function started() {
  const options = ["serve", "--env", "development", "--listen", "127.0.0.1:0", "--log", "warn", ...within];
  const server = spawn(binary, options, { stdio: ["ignore", "inherit", "pipe"] });
  for await (const line of readline.createInterface({ input: server.stderr })) {
    const found = line.match(/listening on (\S+)/);
    if (found) {
      server.stderr.resume();
      return { server, base: found[1] };
    }
  }
  throw new Error("the server did not start");
}

function token(subject) {
  const options = ["token", "--subject", subject, "--email", `${subject}@example.com`, ...within];
  return execFileSync(binary, options, { encoding: "utf8" }).trim();
}

// Opens an operation and sends what the page proposes; what came back, as the page shows it.
async function call(page, path) {
  const operation = page.locator(`#operations-${path.tag}-${path.id}`);
  if (!(await operation.evaluate((element) => element.classList.contains("is-open")))) {
    await operation.locator(".opblock-summary-control").click();
  }
  const [response] = await Promise.all([
    page.waitForResponse((response) => response.url().includes("/api/run/")),
    operation.locator("button.execute").click(),
  ]);
  const shown = operation.locator(".live-responses-table .response-col_description pre").first();
  await shown.waitFor();
  const status = await operation.locator(".live-responses-table .response-col_status").last().innerText();
  return { status: Number(status.match(/\d+/)[0]), shown: await shown.innerText(), sent: response.request() };
}

async function authorize(page, scheme, value) {
  await page.locator(".auth-wrapper .authorize").first().click();
  const form = page.locator(".auth-container").filter({ hasText: scheme });
  await form.locator("input").fill(value);
  await form.locator("button[type=submit]").click();
  await page.locator(".btn-done").first().click();
}

async function logout(page) {
  await page.locator(".auth-wrapper .authorize").first().click();
  for (const button of await page.locator(".auth-container button", { hasText: "Logout" }).all()) {
    await button.click();
  }
  await page.locator(".btn-done").first().click();
}

async function main() {
  const { server, base } = await started();
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: QUIET });
  const complaints = [];
  const elsewhere = [];
  try {
    const page = await browser.newPage();
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith(`${base}/`) && !request.url().startsWith("data:")) elsewhere.push(request.url());
    });

    await page.goto(`${base}/docs`);
    await page.locator(".opblock").first().waitFor();
    const described = await (await page.request.get(`${base}/openapi.json`)).json();
    assert.equal(await page.locator(".opblock").count(), Object.keys(described.paths).length);
    assert.equal(await page.title(), described.info.title);

    const account = { tag: "Users", id: "users_queries_getCurrentUser" };
    const refused = await call(page, account);
    assert.equal(refused.status, 200);
    assert.match(refused.shown, /"status": "error"/);
    assert.match(refused.shown, /"code": "UNAUTHENTICATED"/);

    await authorize(page, "bearerAuth", token("ada"));
    const succeeded = await call(page, account);
    assert.equal(succeeded.status, 200);
    assert.match(succeeded.shown, /"status": "success"/);
    assert.match(succeeded.shown, /"email": "ada@example.com"/);

    const meeting = await call(page, { tag: "Meetings", id: "meetings_queries_getMeeting" });
    assert.match(meeting.shown, /"code": "FORBIDDEN"/);

    // A deploy key is pasted as it was shown, without the word before it; this one was never made.
    await logout(page);
    await authorize(page, "deployKey", "development:nobody|c2VjcmV0");
    assert.deepEqual(complaints, [], "errors on the console");
    const rejected = await call(page, account);
    assert.equal(rejected.status, 401);
    assert.match(await rejected.sent.headerValue("authorization"), /^Convoke development:nobody\|/);
    // The browser itself notes every answer of 401.
    assert.ok(complaints.every((complaint) => /status of 401/.test(complaint)), complaints.join("\n"));
    assert.deepEqual(elsewhere, [], "requests to elsewhere");
    console.log("the reference was used: a success, refusals, nothing from elsewhere, no complaint");
  } catch (error) {
    for (const complaint of complaints) console.error("console:", complaint);
    for (const url of elsewhere) console.error("elsewhere:", url);
    throw error;
  } finally {
    await browser.close();
    server.kill("SIGTERM");
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
