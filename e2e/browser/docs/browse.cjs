// Tests /docs of a real server in a browser: calls a function with and without a token, and checks that the page sends no
// requests to other servers. docs.sh starts it with the arguments BINARY FOLDER.
"use strict";

const assert = require("node:assert/strict");
const { browser, inaccessible, PATIENCE, Server, surplus, until, Watched } = require("../support.cjs");

// Opens an operation, sends the proposed request, and returns the response and its text on the page.
async function call(page, path) {
  const operation = page.locator(`#operations-${path.tag}-${path.id}`);
  if (!(await operation.evaluate((element) => element.classList.contains("is-open")))) {
    await operation.locator(".opblock-summary-control").click();
  }
  const [response] = await Promise.all([
    page.waitForResponse((response) => response.url().includes("/api/run/")),
    operation.locator("button.execute").click(),
  ]);
  // The former response of the operation stays until then.
  const id = response.headers()["x-request-id"];
  assert.ok(id);
  await operation.locator(".live-responses-table", { hasText: id }).waitFor();
  const shown = operation.locator(".live-responses-table .response-col_description pre").first();
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
  await page.locator(".auth-container button", { hasText: "Logout" }).first().waitFor();
  for (const button of await page.locator(".auth-container button", { hasText: "Logout" }).all()) {
    await button.click();
  }
  await page.locator(".btn-done").first().click();
}

/** Returns the accessibility problems of the list, an open operation and a dialog, in both themes and at two widths. */
async function findings(chromium, base) {
  const found = [];
  for (const [width, colorScheme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]]) {
    const context = await chromium.newContext({ viewport: { width, height: 850 }, colorScheme });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    const look = async (what) => {
      // A dialog and an operation open with a transition.
      await page.waitForTimeout(500);
      const at = `${what} ${width} ${colorScheme}`;
      found.push(...(await inaccessible(page)).map((one) => `${at}: ${one}`));
      if ((await surplus(page)) > 0) found.push(`${at}: ${await surplus(page)} pixels too wide`);
    };
    await page.goto(`${base}/docs`);
    await page.locator(".opblock").first().waitFor();
    await look("the list");
    await call(page, { tag: "Meetings", id: "meetings_queries_getMeeting" });
    await look("an operation");
    await page.locator(".auth-wrapper .authorize").first().click();
    await look("the dialog");
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    // The light theme sets no background.
    const [red, green, blue, alpha] = background.match(/[\d.]+/g).map(Number);
    const isDark = alpha !== 0 && Math.max(red, green, blue) < 80;
    if (isDark !== (colorScheme === "dark")) found.push(`${colorScheme}: the background is ${background}`);
    await context.close();
  }
  return found;
}

async function main() {
  const [binary, folder] = process.argv.slice(2);
  const server = await Server.start(binary, folder);
  const { base } = server;
  const chromium = await browser();
  let watched;
  try {
    const context = await chromium.newContext();
    context.setDefaultTimeout(PATIENCE);
    watched = new Watched(context, base);
    const page = await context.newPage();

    await page.goto(`${base}/docs`);
    await page.locator(".opblock").first().waitFor();
    const described = await (await page.request.get(`${base}/openapi.json`)).json();
    const operations = Object.values(described.paths).flatMap(Object.keys).length;
    await until("every operation", async () => (await page.locator(".opblock").count()) === operations);
    await until("the title", async () => (await page.title()) === described.info.title);

    const account = { tag: "Users", id: "users_queries_getCurrentUser" };
    const refused = await call(page, account);
    assert.equal(refused.status, 200);
    assert.match(refused.shown, /"status": "error"/);
    assert.match(refused.shown, /"code": "UNAUTHENTICATED"/);

    await authorize(page, "bearerAuth", server.token("ada"));
    const succeeded = await call(page, account);
    assert.equal(succeeded.status, 200);
    assert.match(succeeded.shown, /"status": "success"/);
    assert.match(succeeded.shown, /"email": "ada@example.com"/);

    const meeting = await call(page, { tag: "Meetings", id: "meetings_queries_getMeeting" });
    assert.match(meeting.shown, /"code": "FORBIDDEN"/);

    // A deploy key is pasted without its keyword. This key does not exist.
    await logout(page);
    await authorize(page, "deployKey", "development:nobody|c2VjcmV0");
    watched.quiet();
    // The browser itself logs every response with 401.
    watched.expected = /status of 401/;
    const rejected = await call(page, account);
    assert.equal(rejected.status, 401);
    assert.match(await rejected.sent.headerValue("authorization"), /^Convoke development:nobody\|/);
    watched.quiet();
    assert.deepEqual(await findings(chromium, base), []);
    console.log("the reference was used: a success, rejections, no request to other hosts, no finding of axe-core, no overflow");
  } catch (error) {
    console.error(watched?.complaints, watched?.elsewhere);
    throw error;
  } finally {
    await chromium.close();
    await server.stop();
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
