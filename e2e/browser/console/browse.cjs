// Tests the console in a browser: login by link and by key, function runs, recorded calls, row edits, files, webhooks, jobs,
// backups and keys. Then checks every page with axe-core in both themes and at two widths, and searches for injected markup.
// console.sh starts it with the arguments BINARY FOLDER.
"use strict";

const assert = require("node:assert/strict");
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const http = require("node:http");
const { address, browser, closed, furnished, inaccessible, NASTY, PATIENCE, Server, succeeded, surplus, until, Watched } = require("./support.cjs");

/** Error responses that the tests expect. */
const REFUSED = /status of 4\d\d/;

/** Tabs of a user who is not logged in. */
async function stranger(context, server) {
  const other = await context.browser().newContext();
  other.setDefaultTimeout(PATIENCE);
  return { other, watched: new Watched(other, server.base, REFUSED) };
}

const steps = [];
const step = (name, does) => steps.push([name, does]);

/** Opens the page of this name by its link. */
async function open(page, name) {
  await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

const confirm = (page, name) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click();

step("login link works once and leaves no code in the address", async ({ page, server }) => {
  const link = server.link();
  await page.goto(link);
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  assert.equal(new URL(await address(page)).hash, "");
  await page.getByText("Serving", { exact: true }).waitFor();
  const other = await page.context().browser().newContext();
  other.setDefaultTimeout(PATIENCE);
  const stranger = await other.newPage();
  await stranger.goto(link);
  await stranger.getByText("was already used").waitFor();
  await other.close();
});

/** Returns the times of the first paint and of the heading, in milliseconds of the browser's clock. */
async function painted(page) {
  await page.getByRole("heading", { level: 1 }).waitFor();
  // The browser reports a paint after it.
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  return Math.round(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
}

step("page is small and requests each resource once", async ({ page: own, context, server }) => {
  const cold = [];
  for (let time = 0; time < 5; time += 1) {
    const { other } = await stranger(context, server);
    const page = await other.newPage();
    await page.goto(`${server.base}/console`);
    cold.push(await painted(page));
    const { bytes, names } = await page.evaluate(() => {
      const files = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/console/assets/"));
      return { bytes: files.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0), names: files.map(({ name }) => name) };
    });
    assert.ok(bytes > 0 && bytes < 128 * 1024, `${bytes}`);
    assert.equal(new Set(names).size, names.length);
    if (time === 0) console.log(`${names.length} files, ${bytes} bytes`);
    await other.close();
  }
  const warm = [];
  for (let time = 0; time < 5; time += 1) {
    await own.reload();
    warm.push(await painted(own));
  }
  // No limit, because the time also depends on the load of the machine.
  console.log(`first paint without a cache after ${cold.join(", ")} ms, logged in after ${warm.join(", ")} ms`);
});

step("link in a new tab is logged in", async ({ page, context, server }) => {
  const tab = await context.newPage();
  await tab.goto(`${server.base}/console/keys`);
  await tab.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
  await tab.close();
  assert.ok(page);
});

step("background tab loads when it becomes visible", async ({ context, server }) => {
  const behind = await context.newPage();
  await behind.addInitScript(() => Object.defineProperty(document, "hidden", { get: () => !globalThis.isLookedAt }));
  await behind.goto(`${server.base}/console/functions`);
  await behind.getByRole("heading", { level: 1, name: "Functions" }).waitFor();
  await behind.waitForTimeout(500);
  assert.equal(await behind.getByRole("link", { name: "createMeeting", exact: true }).count(), 0);
  await behind.evaluate(() => {
    globalThis.isLookedAt = true;
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await behind.getByRole("link", { name: "createMeeting", exact: true }).waitFor();
  await behind.close();
});

step("form runs a function as a user and shows errors at their fields", async ({ page }) => {
  await open(page, "Functions");
  await page.getByRole("searchbox", { name: "Find a function" }).fill("createMeeting");
  await page.getByRole("link", { name: "createMeeting", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "createMeeting" }).waitFor();
  await page.getByLabel("title", { exact: false }).first().fill("Made in the console");
  await page.getByLabel("As the user").fill("ada");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".reply .badge.good").waitFor();
  assert.match(await page.locator(".reply pre").first().innerText(), /"meetingId": "meeting_/);
  await page.getByLabel("title", { exact: false }).first().fill(" ");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".reply .badge.bad").waitFor();
  await page.locator(".field .wrong").waitFor();
});

step("call copies as a command and query result updates live", async ({ page, context, server, ada }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.base });
  await page.goto(`${server.base}/console/functions/meetings/queries/listUserMeetings`);
  await page.getByRole("button", { name: "Copy as curl" }).click();
  let copied = "";
  await until("the command in the clipboard", async () => {
    copied = await page.evaluate(() => navigator.clipboard.readText());
    return copied !== "";
  });
  assert.match(copied, /^curl -s http:\/\/127\.0\.0\.1:\d+\/api\/run\/meetings\/queries\/listUserMeetings/);
  await page.getByLabel("As the user").fill("ada");
  await page.getByRole("button", { name: "Watch", exact: true }).click();
  await page.getByText("result 1,").waitFor();
  const live = await context.newPage();
  await live.goto(`${server.base}/console/live`);
  await live.getByText("meetings/queries/listUserMeetings").first().waitFor();
  await succeeded(ada("meetings/lifecycle/createMeeting", { title: "Seen by the one who watches" }));
  await page.getByText("result 2,").waitFor();
  await page.locator(".results").getByText("Seen by the one who watches").first().waitFor();
  await live.getByRole("button", { name: "End", exact: true }).first().click();
  await confirm(live, "End it");
  await page.locator(".reply .badge.bad").waitFor();
  await live.getByText("There are no live connections.").waitFor();
  await live.close();
});

step("new call appears and is found by filters", async ({ page, ada }) => {
  await open(page, "Calls");
  await page.locator(".call").first().waitFor();
  await succeeded(ada("meetings/queries/listUserMeetings", {}));
  const arrived = page.locator(".call", { hasText: "meetings/queries/listUserMeetings" });
  await arrived.first().waitFor();
  await page.getByLabel("Outcome").fill("error");
  await page.getByLabel("Outcome").press("Enter");
  await page.waitForURL(/outcome=error/);
  const onlyErrors = () => page.waitForFunction(() => document.querySelector(".call .badge:not(.good)") && !document.querySelector(".call .badge.good"));
  await onlyErrors();
  await page.goBack();
  // The filter has replaced the address, so this leads to the page before.
  await page.getByRole("button", { name: "Copy as curl" }).waitFor();
  await page.goForward();
  await onlyErrors();
  await page.locator(".call").first().click();
  await page.locator(".details").getByText("Request id").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
});

step("calls are found by text, caller, outcome and time", async ({ page, server, ada }) => {
  for (let call = 0; call < 130; call += 1) await ada("meetings/queries/getMeeting", { meetingId: `nothing-${call}` });
  await succeeded(ada("meetings/lifecycle/createMeeting", { title: "Recorded with its title", description: "x ".repeat(300) }));
  const shown = (count) => page.waitForFunction((count) => document.querySelectorAll(".call").length === count, count);
  await page.goto(`${server.base}/console/calls?text=${encodeURIComponent("recorded WITH")}`);
  await shown(1);
  await page.locator(".call").click();
  const details = page.locator(".details");
  await details.getByText("Recorded with its title").waitFor();
  await details.getByText(/… \(600 characters\)/).waitFor();
  assert.match(await details.innerText(), /Result\s+\d+ B[^]*written/);
  await page.goto(`${server.base}/console/calls?text=nothing-1&outcome=refused&since=1h&caller=ada`);
  await shown(41);
  assert.equal(await page.locator(".call .badge.warn").count(), 41);
  await page.getByRole("button", { name: "Failed", exact: true }).click();
  await page.waitForURL(/outcome=failed/);
  await page.getByText("No call matches.").waitFor();
  await page.goto(`${server.base}/console/calls?text=nothing-`);
  await shown(100);
  await page.getByRole("button", { name: "Older calls" }).click();
  await shown(130);
  const secret = await page.evaluate(() => document.body.innerText.includes("Bearer "));
  assert.ok(!secret);
});

step("recorded calls survive a restart and are searchable on the command line", async ({ binary, folder }) => {
  const { Server } = require("./support.cjs");
  const first = await Server.start(binary, `${folder}/restarted`, "");
  await succeeded(first.user("ada")("meetings/lifecycle/createMeeting", { title: "Before the restart" }));
  await first.stop();
  const second = await Server.start(binary, `${folder}/restarted`, "");
  try {
    const found = second.command("logs", "--since", "1h", "--text", "before the restart", "--details");
    assert.match(found, /OK .*createMeeting.*ada/);
    assert.match(found, /arguments \{.*"title":"Before the restart"/);
  } finally {
    await second.stop();
  }
});

/** Adds a condition to the page and applies it. */
async function where(page, field, sign, value) {
  await page.getByRole("button", { name: "Add a condition" }).click();
  const line = page.locator(".condition").last();
  await line.getByLabel("Field").selectOption(field);
  await line.getByLabel("Comparison").selectOption(sign);
  const input = line.getByLabel("Value");
  if (await input.evaluate((input) => input.tagName === "SELECT")) await input.selectOption(value);
  else await input.fill(value);
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForFunction((text) => new URLSearchParams(location.search).getAll("where").includes(text), `${field}${sign}${value}`);
}

step("row is changed, rejected if invalid, added and deleted", async ({ page }) => {
  await open(page, "Data");
  await page.getByRole("link", { name: "meetings", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "meetings" }).waitFor();
  await where(page, "title", "=", "Made in the console");
  // The former rows stay until then.
  await page.waitForFunction(() => {
    const rows = [...document.querySelectorAll("tbody tr")];
    return rows.length === 1 && rows[0].innerText.includes("Made in the console");
  });
  await page.locator("tbody tr").first().getByRole("link").first().click();
  const title = page.getByLabel("title", { exact: false });
  await title.fill("Changed in the console");
  await page.getByRole("button", { name: "Save" }).click();
  await confirm(page, "Change it");
  await page.getByText("Saved.").waitFor();
  await page.reload();
  await page.waitForFunction(() => [...document.querySelectorAll("input")].some((input) => input.value === "Changed in the console"));
  await page.getByLabel("maxParticipants", { exact: false }).fill("-1");
  await page.getByRole("button", { name: "Save" }).click();
  await confirm(page, "Change it");
  await page.locator(".field .wrong").waitFor();
  await page.goto(await address(page));
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await confirm(page, "Delete it");
  await page.getByRole("heading", { level: 1, name: "meetings" }).waitFor();
  await page.locator("tbody tr").first().waitFor();
  await until("the deletion", async () => (await page.locator("tbody").getByText("Changed in the console").count()) === 0);
});

step("table is exported", async ({ page, server }) => {
  await page.goto(`${server.base}/console/data/meetings`);
  const [csv] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export as CSV" }).click()]);
  assert.equal(csv.suggestedFilename(), "meetings.csv");
  const text = fs.readFileSync(await csv.path(), "utf8");
  assert.match(text, /^_id,_creationTime,organizerId,title/);
  assert.match(text, /"'=HYPERLINK/, "a formula must be exported as text");
});

step("large table is paged in both directions and each page reads only its rows", async ({ page, context, server }) => {
  const answers = [];
  const heard = (response) => {
    if (/\/admin\/tables\/auditEntries\?/.test(response.url())) answers.push(response.json().catch(() => ({})));
  };
  page.on("response", heard);
  await open(page, "Data");
  const listed = page.locator("tr", { hasText: "auditEntries" });
  // The number of rows is an estimate.
  await listed.getByText(/^≈ 25,0\d\d$/).waitFor();
  await listed.getByRole("link").click();
  await page.getByText(/^About 25,0\d\d rows/).waitFor();
  const shows = (first, last) => page.waitForFunction(
    ([first, last]) => {
      const rows = [...document.querySelectorAll("tbody tr")].map((row) => row.innerText);
      return rows.length === 50 && rows[0].includes(first) && rows[49].includes(last);
    },
    [first, last],
  );
  await page.getByRole("link", { name: "Last page" }).click();
  await shows("row-00049", "row-00000");
  assert.equal(await page.getByRole("link", { name: "Next rows" }).count(), 0);
  await page.getByRole("link", { name: "Previous rows" }).click();
  await shows("row-00099", "row-00050");
  await page.getByRole("link", { name: "Previous rows" }).click();
  await shows("row-00149", "row-00100");
  await page.getByRole("link", { name: "Next rows" }).click();
  await shows("row-00099", "row-00050");
  await page.goBack();
  await shows("row-00149", "row-00100");
  const sent = await context.newPage();
  await sent.goto(await address(page));
  await sent.getByText("row-00149").waitFor();
  await sent.close();

  await page.getByLabel("In the order of").selectOption("by_resource");
  await page.getByLabel("First").selectOption("asc");
  await shows("row-00000", "row-00049");
  await page.getByRole("link", { name: "Next rows" }).click();
  await shows("row-00050", "row-00099");
  await page.getByRole("link", { name: "Previous rows" }).click();
  await shows("row-00000", "row-00049");
  assert.equal(await page.getByRole("link", { name: "Previous rows" }).count(), 0);
  await where(page, "resourceId", "=", "row-07000");
  await page.locator("tbody").getByText("row-07000").waitFor();
  page.off("response", heard);
  // A busy server may reject a request, which is then retried, and a page may be left before its response.
  const pages = (await Promise.all(answers)).filter(({ value }) => value).map(({ value }) => value.lookedAt);
  const looked = pages.pop();
  assert.ok(looked <= 20_001, "a condition without an index must report the number of rows that it read");
  await page.getByText("This page scanned").waitFor();
  assert.ok(pages.length >= 8 && pages.every((looked) => looked <= 51), `${pages}`);
});

step("conditions combine, and rows are counted and deleted together", async ({ page, server, ada }) => {
  for (const title of ["Batch one", "Batch two", "Batch three"]) await succeeded(ada("meetings/lifecycle/createMeeting", { title }));
  await page.goto(`${server.base}/console/data/meetings`);
  await where(page, "title", "~", "batch");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 3);
  await where(page, "title", "!=", "Batch two");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2);
  const sent = await address(page);
  await where(page, "state", "=", "cancelled");
  await page.getByText("No row.").waitFor();
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2 && document.querySelectorAll(".condition").length === 2);
  assert.equal(await address(page), sent);
  await page.getByRole("button", { name: "Count the matching rows" }).click();
  await page.getByText("2 rows match").waitFor();
  await page.getByLabel("Select all rows of this page").check();
  await page.getByRole("button", { name: "Delete 2 rows" }).click();
  await confirm(page, "Delete 2 rows");
  await page.getByText("No row.").waitFor();
  await page.getByRole("button", { name: "Remove condition 2" }).click();
  await page.locator("tbody").getByText("Batch two").waitFor();
  await page.goto(`${server.base}/console/data/auditEntries`);
  await page.getByRole("button", { name: "Count all rows" }).click();
  await page.getByText(/^25,0\d\d rows\./).waitFor();
});

step("functions are listed by their calls, errors and latency", async ({ page, server }) => {
  await page.goto(`${server.base}/console/functions?order=calls`);
  await page.getByText("of the last 24 hours").waitFor();
  const numbers = (column) => page.locator("tbody tr").evaluateAll((rows, column) => rows.map((row) => Number(row.cells[column].innerText.replaceAll(",", ""))), column);
  await page.locator("tbody tr").nth(2).waitFor();
  const descends = (numbers) => numbers.every((own, place) => place === 0 || own <= numbers[place - 1]);
  await until("the order by calls", async () => descends(await numbers(2)));
  await page.getByRole("button", { name: "Errors" }).click();
  await page.waitForURL(/order=errors/);
  await page.locator("tbody tr", { hasText: "getMeeting" }).first().waitFor();
  await until("the order by errors", async () => {
    const errors = await numbers(3);
    return errors[0] >= 130 && descends(errors);
  });
});

step("secret is set, listed without its value and removed", async ({ page, server }) => {
  await open(page, "Secrets");
  await page.getByLabel("Name").fill("CONSOLE_KEY");
  await page.getByLabel("Value").fill("hush hush");
  await page.getByRole("button", { name: "Set it" }).click();
  await page.getByText("CONSOLE_KEY was set.").waitFor();
  const row = page.locator("tbody tr", { hasText: "CONSOLE_KEY" });
  await row.waitFor();
  await until("an empty field", async () => (await page.getByLabel("Value").inputValue()) === "");
  assert.ok(!(await page.content()).includes("hush hush"));
  assert.match(server.command("secret", "list"), /CONSOLE_KEY\s+.*secrets\/CONSOLE_KEY/);
  await row.getByRole("button", { name: "Remove" }).click();
  await confirm(page, "Remove it");
  await row.waitFor({ state: "detached" });
});

step("palette finds pages, tables and functions by keyboard", async ({ page, server }) => {
  await page.goto(`${server.base}/console/overview`);
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  const palette = page.getByRole("dialog");
  const search = async (text) => {
    await page.keyboard.press("Control+k");
    await palette.waitFor();
    await page.waitForFunction(() => document.activeElement.getAttribute("role") === "combobox");
    await page.keyboard.type(text);
  };
  await search("createmeet");
  await palette.getByRole("option", { name: /createMeeting/ }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "createMeeting" }).waitFor();
  await search("meetingpart");
  await palette.getByRole("option", { name: /^meetingParticipants/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "meetingParticipants" }).waitFor();
  await search("s");
  const first = await palette.locator("[aria-selected=true]").innerText();
  await page.keyboard.press("ArrowDown");
  await until("the next entry", async () => (await palette.locator("[aria-selected=true]").innerText()) !== first);
  await page.keyboard.press("Tab");
  assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest("dialog")), "the focus must stay in the palette");
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
  assert.match(await address(page), /meetingParticipants$/);
});

step("operator runs an internal function", async ({ page, server }) => {
  await page.goto(`${server.base}/console/functions`);
  await page.getByText("internal", { exact: true }).first().waitFor();
  const internal = page.locator(".functions li", { hasText: "internal" }).filter({ hasText: "query" }).or(page.locator(".functions li", { hasText: "internal" })).first();
  await internal.getByRole("link").click();
  await page.getByRole("button", { name: "Run", exact: true }).waitFor();
});

step("back button restores each view and addresses are shareable", async ({ page, context, server }) => {
  const been = [];
  const is = (url, heading) => page.waitForFunction(
    ([url, heading]) => location.href === url && document.querySelector("h1")?.textContent === heading,
    [url, heading],
  );
  // Reads the address in the page, because `page.url()` may lag behind.
  const at = () => page.evaluate(() => location.href);
  const note = async (heading) => {
    await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
    been.push([await at(), heading]);
  };
  await page.goto(`${server.base}/console/overview`);
  await note("Overview");
  await page.getByRole("button", { name: "Week" }).click();
  await note("Overview");
  await open(page, "Functions");
  await page.getByRole("searchbox", { name: "Find a function" }).fill("getMeeting");
  await note("Functions");
  await page.getByRole("link", { name: "getMeeting", exact: true }).click();
  await note("getMeeting");
  await page.getByRole("link", { name: "Show its calls" }).click();
  await note("Calls");
  await open(page, "Data");
  await note("Data");
  await page.getByRole("link", { name: "meetings", exact: true }).click();
  await note("meetings");
  await page.getByLabel("First").selectOption("asc");
  await note("meetings");
  // Read in one step, because the reordered rows may arrive in between.
  const id = await page.locator("tbody th a").first().evaluate((row) => {
    row.click();
    return row.title;
  });
  await note(id);
  await open(page, "Jobs");
  await page.getByRole("button", { name: /^pending/ }).click();
  await note("Jobs");
  await open(page, "Schema");
  await page.locator("summary", { hasText: "meetingParticipants" }).click();
  await page.waitForURL(/table=meetingParticipants/);
  await note("Schema");
  // The page Jobs has a separate address before a state is chosen.
  const distinct = new Set(been.map(([url]) => url));
  assert.equal(distinct.size, been.length, "each view must have a separate address");
  const back = [...been].reverse();
  for (const [place, [url, heading]] of back.entries()) {
    for (let here = await at(); here !== url; here = await at()) {
      await page.goBack();
      await page.waitForFunction((here) => location.href !== here, here);
    }
    await is(url, heading);
    if (place === back.length - 1) break;
  }
  for (const [url, heading] of been) {
    const tab = await context.newPage();
    await tab.goto(url);
    await tab.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
    await tab.close();
  }

  await page.goto(`${server.base}/console/data/auditEntries`);
  const far = page.locator("tbody th a").nth(40);
  await far.scrollIntoViewIfNeeded();
  await page.waitForFunction(() => scrollY > 300 && history.state?.place > 300);
  await far.click();
  await page.getByText("Copy the id").waitFor();
  await page.goBack();
  await page.waitForFunction(() => scrollY > 300 && document.querySelectorAll("tbody tr").length === 50);
});

step("failed job runs again, job in back-off runs now, pending job is cancelled", async ({ page, server }) => {
  await page.goto(`${server.base}/console/jobs?state=failed`);
  const row = page.locator("tbody tr", { hasText: "mediaServer" }).first();
  await row.waitFor();
  await row.getByRole("button", { name: "Run again" }).click();
  await page.waitForFunction(() => document.querySelectorAll("tbody tr th a").length === 0 || !document.body.innerText.includes("failed (1)"));
  // Its media server is unreachable, so the job waits for its next attempt.
  await page.goto(`${server.base}/console/jobs?state=pending`);
  const tries = async () => Number(await row.locator("td.num").innerText());
  await row.getByRole("button", { name: "Run now" }).waitFor();
  const before = await tries();
  await row.getByRole("button", { name: "Run now" }).click();
  await page.waitForFunction((before) => {
    const row = [...document.querySelectorAll("tbody tr")].find((row) => row.innerText.includes("mediaServer"));
    return Number(row?.querySelector("td.num").innerText) > before;
  }, before);
  await row.getByRole("button", { name: "Cancel" }).click();
  await confirm(page, "Cancel the job");
  await page.waitForFunction(() => ![...document.querySelectorAll("tbody tr")].some((row) => row.innerText.includes("mediaServer")));
});

step("backup continues after its page is left", async ({ page }) => {
  await open(page, "Backups");
  await page.getByRole("button", { name: "Make a backup" }).click();
  await open(page, "Overview");
  await open(page, "Backups");
  await page.getByRole("button", { name: "Download" }).waitFor();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await confirm(page, "Remove it");
  await page.getByText("There is no backup in the folder yet.").waitFor();
});

step("backup shows its progress, is downloaded and removed", async ({ page }) => {
  await open(page, "Backups");
  await page.getByRole("button", { name: "Make a backup" }).click();
  await page.getByText("Made:").waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).first().click()]);
  assert.match(file.suggestedFilename(), /^(backup-)?convoke-.*\.db$/);
  assert.equal(fs.readFileSync(await file.path()).subarray(0, 15).toString(), "SQLite format 3");
  await page.getByRole("button", { name: "Restore" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Verify" }).click();
  await page.getByRole("dialog").getByText("verified", { exact: true }).waitFor();
  const commands = await page.getByRole("dialog").locator("pre").innerText();
  assert.match(commands, /restore '\/.*\/convoke-\d{8}-\d{6}\.db' --data '\/.*'/);
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).first().click();
  await confirm(page, "Remove it");
  await page.getByText("There is no backup in the folder yet.").waitFor();
});

step("migration runs to its end", async ({ page }) => {
  await open(page, "Schema");
  await page.locator("article").first().getByRole("button", { name: "Run", exact: true }).click();
  await confirm(page, "Run it");
  await page.locator("article").first().getByText("finished", { exact: true }).waitFor();
});

step("console is usable with the keyboard only", async ({ page, server }) => {
  const tabTo = async (is, what) => {
    for (let presses = 0; presses < 200; presses += 1) {
      if (await page.evaluate(is, what)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`the keyboard never came to ${what}`);
  };
  const toText = async (text) => {
    await page.getByText(text, { exact: true }).first().waitFor({ state: "attached" });
    await tabTo((text) => document.activeElement.textContent.trim() === text, text);
  };
  const toField = (name) => tabTo((name) => document.activeElement.closest(".field")?.querySelector(".name").textContent === name, name);
  const follow = async (name) => {
    await toText(name);
    await page.keyboard.press("Enter");
  };
  const heading = (name) => page.getByRole("heading", { level: 1, name }).waitFor();

  await page.goto(`${server.base}/console/overview`);
  await heading("Overview");
  await page.keyboard.press("Tab");
  await follow("To the content");
  await page.waitForFunction(() => document.activeElement.id === "content");
  await page.reload();
  await heading("Overview");
  await follow("Data");
  await heading("Data");
  await page.waitForFunction(() => document.activeElement.id === "content");
  await follow("meetings");
  await heading("meetings");
  await page.locator("tbody th a").first().waitFor();
  await tabTo(() => document.activeElement.matches("tbody th a"));
  await page.keyboard.press("Enter");
  await page.getByText("Copy the id").waitFor();
  await toField("title");
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type("By the keyboard");
  await follow("Save");
  await page.getByRole("dialog").waitFor();
  await follow("Change it");
  await page.getByText("Saved.").waitFor();

  await page.goto(`${server.base}/console/functions/users/queries/getCurrentUser`);
  await heading("getCurrentUser");
  await page.getByLabel("As the user").waitFor();
  await toField("As the user");
  await page.keyboard.type("ada");
  await page.keyboard.press("Control+Enter");
  await page.locator(".reply .badge.good").waitFor();

  await page.goto(`${server.base}/console/calls`);
  await page.locator(".call").first().waitFor();
  await tabTo(() => document.activeElement.matches(".call"));
  await page.keyboard.press("Enter");
  await page.locator(".details").getByText("Request id").waitFor();

  await page.goto(`${server.base}/console/keys`);
  await heading("Keys");
  await follow("Make a key");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  // The focus returns to its former element.
  await page.waitForFunction(() => document.activeElement.textContent === "Make a key");

  await page.setViewportSize({ width: 390, height: 850 });
  await page.goto(`${server.base}/console/keys`);
  await heading("Keys");
  await follow("Menu");
  await follow("Jobs");
  await heading("Jobs");
  await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor({ state: "hidden" });
  await page.setViewportSize({ width: 1280, height: 850 });
});

/** Answers the dialogs of the browser, and records them. */
function answering(page, accept) {
  const asked = [];
  const answer = async (dialog) => {
    asked.push(dialog.type());
    await (accept() ? dialog.accept() : dialog.dismiss());
  };
  page.on("dialog", answer);
  return { asked, stop: () => page.off("dialog", answer) };
}

/** Returns the field of this name. Its label also contains its help text. */
const fieldOf = (page, name) =>
  page.locator(".field").filter({ has: page.locator(".name", { hasText: new RegExp(`^${name}( \\*)?$`) }) }).locator("input, select, textarea");

const titled = async (server, title) => {
  const found = server.command("data", "meetings", "--where", `title=${title}`, "--json");
  return found === "" ? 0 : found.split("\n").length;
};

step("function runs with exactly the shown values or not at all", async ({ page, server }) => {
  await page.goto(`${server.base}/console/functions/meetings/lifecycle/createMeeting`);
  const run = page.getByRole("button", { name: "Run", exact: true });
  const field = page.locator(".runner textarea.mono");
  await page.getByLabel("As the user").fill("ada");
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  await field.fill('{"title": "AAA"}');
  assert.ok(await run.isEnabled());
  for (const text of ['{"title": "AAA"', '{"title": "AAA", "title": "BBB"}', '{"title": "AAA", "maxParticipants": 9007199254740993}', '["AAA"]', '"AAA"', "null"]) {
    await field.fill(text);
    assert.ok(await run.isDisabled(), text);
    assert.ok(await page.getByRole("button", { name: "Form", exact: true }).isDisabled(), text);
    await field.press("Control+Enter");
    await page.locator(".field .wrong").waitFor();
  }
  // All sent calls arrive before the next one.
  await field.fill('{"title": "BBB"}');
  await run.click();
  await page.locator(".reply .badge.good").waitFor();
  assert.equal(await titled(server, "AAA"), 0);
  assert.equal(await titled(server, "BBB"), 1);

  await field.fill('{"title": "BBB", "unheardOf": 1, "maxParticipants": "many"}');
  await page.getByRole("button", { name: "Form", exact: true }).click();
  await fieldOf(page, "unheardOf").waitFor();
  assert.equal(await fieldOf(page, "maxParticipants").inputValue(), '"many"', "a value that does not fit its field must be shown as JSON");
  await fieldOf(page, "unheardOf").fill("");
  await fieldOf(page, "maxParticipants").fill("");
  await page.getByRole("button", { name: "JSON", exact: true }).click();
  assert.deepEqual(JSON.parse(await field.inputValue()), { title: "BBB" });
  await page.getByRole("button", { name: "Form", exact: true }).click();
  const number = fieldOf(page, "maxParticipants");
  await number.fill("5");
  await number.press("End");
  await number.pressSequentially("e");
  assert.ok(await run.isDisabled(), "5e is not a number");
  await number.fill("9007199254740993");
  assert.ok(await run.isDisabled(), "JavaScript would round the integer");
  await number.fill("5");
  assert.ok(await run.isEnabled());
});

step("row is saved with exactly the shown values or not at all", async ({ page, server, nasty }) => {
  await page.goto(`${server.base}/console/data/meetings/${nasty.meetingId}`);
  const save = page.getByRole("button", { name: "Save", exact: true });
  const number = fieldOf(page, "maxParticipants");
  await number.waitFor();
  const before = await number.inputValue();
  const { stop } = answering(page, () => true);
  await number.fill("7");
  assert.ok(await save.isEnabled());
  await number.press("End");
  await number.pressSequentially("e");
  assert.ok(await save.isDisabled());
  await page.getByRole("button", { name: "Reset", exact: true }).click();
  assert.equal(await number.inputValue(), before);
  await number.fill("9007199254740993");
  assert.ok(await save.isDisabled());
  await page.getByRole("button", { name: "Reset", exact: true }).click();
  await page.goto(`${server.base}/console/data/auditEntries`);
  await page.locator("tbody th a").first().click();
  const json = fieldOf(page, "metadata");
  const text = await json.inputValue();
  await json.fill('{"a": 1');
  assert.ok(await save.isDisabled());
  await json.fill('{"a": 1}');
  assert.ok(await save.isEnabled());
  await page.getByRole("button", { name: "Reset", exact: true }).click();
  assert.equal(await json.inputValue(), text, "the text must match the value");
  assert.ok(await save.isDisabled());
  stop();
});

step("leaving unsaved changes by link, back button or closed tab needs confirmation", async ({ page, server, nasty }) => {
  await page.goto(`${server.base}/console/data`);
  await page.getByRole("link", { name: "meetings", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "meetings" }).waitFor();
  await page.locator("tbody th a").first().waitFor();
  await page.evaluate((id) => document.querySelector(`a[title="${id}"]`).click(), nasty.meetingId);
  const title = fieldOf(page, "title");
  const before = await title.inputValue();
  await title.fill("Not saved");
  let accepts = false;
  const { asked, stop } = answering(page, () => accepts);
  const row = new URL(await address(page)).pathname;
  const stays = async () => {
    await page.waitForFunction((row) => location.pathname === row, row);
    assert.equal(await title.inputValue(), "Not saved");
  };
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  await stays();
  await page.evaluate(() => history.back());
  await until("the second question", () => asked.length === 2);
  await stays();
  await page.evaluate(() => history.go(-2));
  await until("the third question", () => asked.length === 3);
  await stays();
  page.reload().catch(() => {});
  await until("the fourth question", () => asked.length === 4);
  await stays();
  assert.deepEqual(asked, ["confirm", "confirm", "confirm", "beforeunload"]);
  accepts = true;
  await page.evaluate(() => history.back());
  await page.getByRole("heading", { level: 1, name: "meetings" }).waitFor();
  await page.goForward();
  await title.waitFor();
  assert.equal(await title.inputValue(), before);
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
  assert.equal(asked.length, 5, "a form without changes must not ask");
  stop();
});

step("focus stays on Run and Export, and Escape closes the menu", async ({ page, server }) => {
  const isOn = (name) => page.waitForFunction((name) => document.activeElement.textContent.trim() === name && document.activeElement.getAttribute("aria-disabled") !== "true", name);
  await page.goto(`${server.base}/console/functions/meetings/queries/listUserMeetings`);
  await page.getByLabel("As the user").fill("ada");
  await page.getByRole("button", { name: "Run", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.locator(".reply .badge.good").waitFor();
  await isOn("Run");
  await page.goto(`${server.base}/console/data/meetings`);
  await page.getByRole("button", { name: "Export as CSV" }).focus();
  await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  await isOn("Export as CSV");
  await page.setViewportSize({ width: 390, height: 850 });
  const menu = page.getByRole("button", { name: "Menu" });
  await menu.click();
  await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link", { name: "Jobs" }).focus();
  await page.keyboard.press("Escape");
  await page.getByRole("navigation", { name: "Pages", exact: true }).waitFor({ state: "hidden" });
  await isOn("Menu");
  await page.setViewportSize({ width: 1280, height: 850 });
});

step("run on an empty server creates the first user but no misspelled one", async ({ context, binary, folder }) => {
  const server = await Server.start(binary, `${folder}/empty`, "");
  try {
    const { other, watched } = await stranger(context, server);
    const page = await other.newPage();
    await page.goto(server.link());
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    const users = () => server.command("data", "_identities", "--system", "--json").split("\n").filter(Boolean).map((line) => JSON.parse(line).subject);
    const run = page.getByRole("button", { name: "Run", exact: true });
    await page.goto(`${server.base}/console/functions/users/queries/getCurrentUser`);
    await run.click();
    await page.getByText("Deploy key must act as a user").waitFor();
    await page.getByText("a function that needs one rejects it").waitFor();
    assert.notEqual(await page.getByLabel("Issuer").inputValue(), "");
    await page.getByLabel("As the user").fill("ada");
    await run.click();
    await page.getByText("The user ada was created.").waitFor();
    await page.locator(".reply .badge.good").waitFor();
    await page.getByLabel("As the user").fill("adda");
    await run.click();
    await page.getByText('did you mean "ada"?').waitFor();
    assert.deepEqual(users(), ["ada"]);
    await page.getByRole("button", { name: "Create the user adda and run" }).click();
    await page.getByText("The user adda was created.").waitFor();
    assert.deepEqual(users().sort(), ["ada", "adda"]);
    await page.getByLabel("Issuer").fill("");
    assert.ok(await run.isDisabled());
    watched.quiet();
    await other.close();
  } finally {
    await server.stop();
  }
});

step("session survives a restart and an ended one shows the reason", async ({ context, binary, folder }) => {
  let server = await Server.start(binary, `${folder}/restarted`, "");
  const listen = new URL(server.base).host;
  const { other } = await stranger(context, server);
  const page = await other.newPage();
  const heading = (name) => page.getByRole("heading", { level: 1, name }).waitFor();
  try {
    await page.goto(server.link());
    await heading("Overview");
    await server.stop();
    server = await Server.start(binary, `${folder}/restarted`, "", listen);
    await page.goto(`${server.base}/console/jobs`);
    await heading("Jobs");
    const tab = await other.newPage();
    await tab.goto(`${server.base}/console/keys`);
    await tab.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
    await tab.getByRole("button", { name: "Log out" }).click();
    await page.getByText("The session was logged out in another tab.").waitFor();
    await tab.close();
    await page.goto(server.link());
    await heading("Overview");
    await server.stop();
    server = await Server.start(binary, `${folder}/other`, "", listen);
    await page.reload();
    await page.getByText("The server does not know the session: the data folder is another one").waitFor();
    await other.close();
  } finally {
    await server.stop();
  }
});

step("schema page compares the database with the code", async ({ context, binary, folder }) => {
  const server = await closed(binary, `${folder}/closed`);
  try {
    const { other, watched } = await stranger(context, server);
    const page = await other.newPage();
    await page.goto(server.link());
    await page.getByText("Not serving.").waitFor();
    await open(page, "Schema");
    await page.getByText("The store is closed").waitFor();
    await page.getByText("field title changed from Integer to Text").waitFor();
    const table = page.locator("details[open]");
    assert.match(await table.locator("summary").innerText(), /^meetings.*differs/s);
    const row = (name) => table.locator("tr").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
    assert.match(await row("title").innerText(), /text\s+integer\s.*differs/s);
    assert.match(await row("by_room").innerText(), /roomId\s+unique\s+–\s+not in the database/);
    assert.match(await row("by_state_scheduled").innerText(), /state, scheduledAt.*CREATE INDEX.*the same/s);
    await open(page, "Data");
    await page.getByRole("link", { name: "meetings", exact: true }).waitFor();
    watched.quiet();
    await other.close();
  } finally {
    await server.stop();
  }
});

step("user text is never markup on any page", async ({ page, server, nasty }) => {
  // No path segment contains a slash.
  const part = encodeURIComponent(NASTY.replaceAll("/", "|"));
  const pages = [
    "calls",
    `calls?${new URLSearchParams({ function: NASTY })}`,
    "data/meetings",
    `data/meetings/${nasty.meetingId}`,
    "data/users",
    `data/meetings?${new URLSearchParams({ where: `title=${NASTY}` })}`,
    `functions?${new URLSearchParams({ find: NASTY })}`,
    `functions/${part}`,
    `data/${part}`,
    `jobs/${part}`,
    part,
    "jobs?state=failed",
    "keys",
  ];
  for (const path of pages) {
    await page.goto(`${server.base}/console/${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForTimeout(300);
    for (const call of await page.locator(".call").all()) await call.click();
    const found = await page.evaluate(() => ({
      broken: window.broken,
      made: document.querySelectorAll("main script, main img, main b").length,
      raw: /[\u001b\u202e]/.test(document.body.innerText),
    }));
    assert.deepEqual(found, { broken: undefined, made: 0, raw: false }, path);
  }
  await page.goto(`${server.base}/console/data/meetings`);
  await page.getByText("<script>window.broken=1").first().waitFor();
});

step("actions outside the scopes of a key have no button and are rejected", async ({ context, server }) => {
  const key = server.key("looks", "data,logs");
  const { other: visitors, watched: guest } = await stranger(context, server);
  const page = await visitors.newPage();
  await page.goto(`${server.base}/console/data/meetings`);
  await page.getByLabel("Deploy key").fill(key);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { level: 1, name: "meetings" }).waitFor();
  const names = await page.getByRole("navigation", { name: "Pages", exact: true }).getByRole("link").allInnerTexts();
  assert.deepEqual(names, ["Overview", "Calls", "Data", "Files", "Settings"]);
  assert.equal(await page.getByRole("link", { name: "Add a row" }).count(), 0);
  await page.locator("tbody tr").first().getByRole("link").first().click();
  await page.getByText("Copy the id").waitFor();
  assert.equal(await page.getByRole("button", { name: /Save|Delete/ }).count(), 0);
  const refused = await page.evaluate(async () => {
    const headers = { "x-convoke-console": sessionStorage.getItem("convoke-console") };
    const id = location.pathname.split("/").pop();
    return (await fetch(`/console/api/admin/tables/meetings/${id}`, { method: "DELETE", headers })).status;
  });
  assert.equal(refused, 403);
  guest.quiet();
  await visitors.close();
});

step("key is created and rotated, shown once, and opens the console by a link", async ({ page, context, server }) => {
  await open(page, "Keys");
  await page.getByRole("button", { name: "Make a key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: /^Name/ }).fill("rotated");
  await dialog.getByRole("checkbox", { name: /^logs/ }).check();
  await dialog.getByRole("button", { name: "Make it" }).click();
  const secret = () => dialog.locator(".secret code").innerText();
  const first = await secret();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page.locator("tr", { hasText: "rotated" }).getByRole("button", { name: "Rotate" }).click();
  await dialog.getByRole("button", { name: "Rotate it" }).click();
  await dialog.locator(".secret code").waitFor();
  const second = await secret();
  assert.notEqual(first, second);
  await dialog.getByRole("button", { name: "Done" }).click();
  const linked = (key) => server.elsewhere(key, "console", "--print");
  assert.throws(() => linked(first), "the former secret must be rejected");
  const { other: visitors } = await stranger(context, server);
  const visit = await visitors.newPage();
  await visit.goto(linked(second));
  await visit.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await visitors.close();
});

step("revoking the key in use logs out", async ({ context, server }) => {
  const key = server.key("mine", "keys");
  const { other: visitors, watched: guest } = await stranger(context, server);
  const page = await visitors.newPage();
  await page.goto(`${server.base}/console/keys`);
  await page.getByLabel("Deploy key").fill(key);
  await page.getByRole("button", { name: "Log in" }).click();
  const row = page.locator("tr", { hasText: "you" });
  await row.getByRole("button", { name: "Revoke" }).click();
  await confirm(page, "Revoke it");
  await page.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
  await page.getByLabel("Deploy key").fill(key);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("deploy key was revoked").waitFor();
  guest.quiet();
  await visitors.close();
});

/** Rules that axe-core does not rate as serious, but that the console must follow. */
const STRUCTURE = ["heading-order", "empty-table-header", "page-has-heading-one", "landmark-unique"];

/** Returns the fields whose border has a contrast below 3 : 1 to its surroundings (WCAG 1.4.11). */
const faint = (page) =>
  page.evaluate(() => {
    const channels = (color) => color.match(/[\d.]+/g).map(Number);
    const luminance = (color) => {
      const [red, green, blue] = channels(color).map((one) => (one / 255 <= 0.03928 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const ratio = (one, other) => {
      const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
      return (light + 0.05) / (dark + 0.05);
    };
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const color = getComputedStyle(at).backgroundColor;
        if (channels(color)[3] !== 0) return color;
      }
      return "rgb(255, 255, 255)";
    };
    const fields = [...document.querySelectorAll("input:not([type=checkbox]), select, textarea")].filter((field) => field.checkVisibility());
    return fields
      .map((field) => [field, getComputedStyle(field).borderTopColor])
      .filter(([field, border]) => Math.min(ratio(border, behind(field)), ratio(border, behind(field.parentElement))) < 3)
      .map(([field, border]) => `a border of ${border} on ${behind(field)}: ${field.outerHTML.slice(0, 80)}`);
  });

step("file is described and downloads unchanged, and its markup never runs", async ({ page, server, ada }) => {
  const content = `<!doctype html><script>window.broken=1</script>${NASTY}`;
  const { meetingId } = await succeeded(ada("meetings/lifecycle/createMeeting", { title: "With a file" }));
  const { url } = await succeeded(ada("meetings/attachments/beginUpload", { meetingId }));
  const { storageId } = await (await fetch(url, { method: "POST", body: content })).json();
  await succeeded(ada("meetings/attachments/add", { meetingId, upload: storageId, name: "<b>plan</b>.html" }));
  await open(page, "Files");
  await page.getByRole("region", { name: "Files", exact: true }).getByRole("row").filter({ hasText: "text/html" }).getByRole("link").first().click();
  await page.getByText(createHash("sha256").update(content).digest("hex")).waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
  assert.equal(fs.readFileSync(await file.path(), "utf8"), content);
  await open(page, "Files");
  await page.getByRole("button", { name: "Remove unused" }).click();
  await confirm(page, "Remove them");
  await page.getByRole("region", { name: "Files", exact: true }).getByText("text/html").waitFor();
  assert.equal(await page.evaluate(() => window.broken), undefined);
  await page.goto(`${server.base}/console/files/storedfile_01h455vb4pex5vsknk084sn02q`);
  await page.getByText("No file has this id").waitFor();
});

step("webhook that failed shows the response and is sent again, and no secret is shown", async ({ page, server, ada }) => {
  const received = [];
  let status = 500;
  const receiver = http.createServer((request, response) => {
    received.push(request.headers["webhook-id"]);
    request.resume().on("end", () => response.writeHead(status, { "content-type": "text/html" }).end(status === 204 ? "" : NASTY));
  });
  await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
  const answers = [];
  const record = async (response) => answers.push(await response.text().catch(() => ""));
  page.on("response", record);
  try {
    const url = `http://127.0.0.1:${receiver.address().port}/hooks`;
    const secret = server.command("webhooks", "add", url, "--event", "meeting.ended");
    assert.match(secret, /^whsec_/);
    const { meetingId } = await succeeded(ada("meetings/lifecycle/createMeeting", { title: "Ends with an event" }));
    await succeeded(ada("meetings/lifecycle/endMeeting", { meetingId }));
    await open(page, "Webhooks");
    await page.getByRole("row").filter({ hasText: url }).getByRole("link").click();
    await page.getByText(url).waitFor();
    const endpoint = new URL(await address(page)).pathname;
    await page.goto(`${server.base}${endpoint}?state=pending`);
    const row = page.getByRole("row").filter({ hasText: "meeting.ended" });
    await row.getByText("500", { exact: true }).waitFor();
    await row.getByRole("link").click();
    await page.getByText(`"meetingId": "${meetingId}"`).waitFor();
    await page.getByText("<script>window.broken=1</script>").waitFor();
    assert.equal(await page.evaluate(() => window.broken), undefined);
    status = 204;
    await page.getByRole("button", { name: "Send again" }).click();
    await page.locator("dd").getByText("delivered", { exact: true }).waitFor();
    assert.ok(received.length >= 2 && new Set(received).size === 1, `the id of the event stays: ${received}`);
    await page.goto(`${server.base}${endpoint}?state=delivered`);
    await page.getByRole("row").filter({ hasText: "meeting.ended" }).getByText("204", { exact: true }).waitFor();

    await page.getByRole("button", { name: "Disable", exact: true }).click();
    await confirm(page, "Disable it");
    await page.getByRole("button", { name: "Enable", exact: true }).click();
    await page.getByRole("button", { name: "Disable", exact: true }).waitFor();
    const shown = await page.content();
    for (const text of [shown, ...answers]) assert.ok(!text.includes("whsec_") && !text.includes(secret), "a secret is shown");
    assert.ok(answers.some((text) => text.includes(meetingId)), "the responses of the server were read");
  } finally {
    page.off("response", record);
    receiver.close();
  }
});

step("every page is accessible and fits the screen", async ({ page, server, nasty }) => {
  const pages = [
    "overview",
    "functions",
    "functions/meetings/lifecycle/createMeeting",
    "functions/meetings/queries/getMeeting",
    "calls",
    "data",
    "data/meetings",
    `data/meetings/${nasty.meetingId}`,
    "data/meetings/new",
    "data/_keyUses",
    "files",
    "webhooks",
    "jobs",
    "live",
    "schema",
    "keys",
    "backups",
    "secrets",
    "settings",
    `functions?${new URLSearchParams({ order: "p95", range: "day" })}`,
    "calls?outcome=refused&since=1d",
    `data/meetings?${new URLSearchParams([["where", "title~a"], ["where", "state!=cancelled"], ["where", "_creationTime>0"]])}`,
    "nothing",
  ];
  const found = [];
  for (const [width, colorScheme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]]) {
    await page.setViewportSize({ width, height: 850 });
    await page.emulateMedia({ colorScheme });
    for (const path of pages) {
      await page.goto(`${server.base}/console/${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.waitForTimeout(200);
      found.push(...(await inaccessible(page, STRUCTURE)).map((one) => `${path} ${width} ${colorScheme}: ${one}`));
      found.push(...(await faint(page)).map((one) => `${path} ${width} ${colorScheme}: ${one}`));
      if ((await surplus(page)) > 0) found.push(`${path} ${width}: ${await surplus(page)} pixels too wide`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 850 });
  await page.goto(`${server.base}/console/keys`);
  await page.getByRole("button", { name: "Make a key" }).click();
  found.push(...(await inaccessible(page, STRUCTURE)).map((one) => `a dialog: ${one}`));
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("option").first().waitFor();
  found.push(...(await inaccessible(page, STRUCTURE)).map((one) => `the palette: ${one}`));
  await page.keyboard.press("Escape");
  assert.deepEqual(found, []);
});

step("logout ends the session", async ({ page }) => {
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
});

async function main() {
  const [binary, folder] = process.argv.slice(2);
  const { server, ada, nasty } = await furnished(binary, folder);
  const chromium = await browser();
  let shown;
  try {
    const context = await chromium.newContext({ viewport: { width: 1280, height: 850 }, acceptDownloads: true });
    context.setDefaultTimeout(PATIENCE);
    const watched = new Watched(context, server.base, REFUSED);
    const page = await context.newPage();
    shown = { page, watched };
    for (const [name, does] of steps) {
      await does({ page, context, server, ada, nasty, binary, folder });
      watched.quiet();
      console.log(`ok: ${name}`);
    }
  } catch (error) {
    await shown?.page.screenshot({ path: `${folder}/failed.png` }).catch(() => {});
    console.error(shown?.watched.complaints, shown?.watched.elsewhere, shown?.page.url());
    throw error;
  } finally {
    await chromium.close();
    await server.stop();
  }
  console.log(`${steps.length} passed, 0 failed`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
