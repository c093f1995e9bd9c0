// Takes screenshots of the console's pages with example data, in the light theme, and of some pages in the dark theme and
// on a narrow screen. `console.sh --screenshots` starts it with the arguments BINARY FOLDER. Writes to docs/console.
"use strict";

const fs = require("node:fs");
const { browser, Server, SETTINGS, succeeded } = require("./support.cjs");

const WIDE = { width: 1280, height: 800 };
const INTO = "docs/console";
const NARROW = { width: 390, height: 800 };

/** Simulates users for a while. */
async function lively(server) {
  const [ada, grace, alan] = ["ada", "grace", "alan"].map((name) => server.user(name, name[0].toUpperCase() + name.slice(1)));
  const titles = ["Stand-up", "Roadmap for spring", "Interview: Mary", "Retrospective", "Budget, second reading", "Design review"];
  const meetings = [];
  for (const [place, title] of titles.entries()) {
    const host = place % 2 ? grace : ada;
    const made = await succeeded(host("meetings/lifecycle/createMeeting", { title, description: `Agenda of “${title}”`, participantEmails: ["alan@example.com"] }));
    meetings.push(made.meetingId);
  }
  // Its rooms cannot be closed, so the job is retried for a while.
  const hall = await succeeded(ada("meetings/lifecycle/createMeeting", { title: "All hands", meetingType: "webinar" }));
  await succeeded(ada("meetings/lifecycle/endMeeting", { meetingId: hall.meetingId }));
  for (let round = 0; round < 40; round += 1) {
    const meetingId = meetings[round % meetings.length];
    await ada("meetings/queries/listUserMeetings", {});
    await grace("meetings/queries/getMeeting", { meetingId });
    await alan("meetings/queries/listMeetingParticipants", { meetingId });
    await ada("users/mutations/updateLastSeen", {});
  }
  return meetings;
}

async function main() {
  const [binary, folder] = process.argv.slice(2);
  fs.mkdirSync(INTO, { recursive: true });
  const server = await Server.start(binary, folder, SETTINGS);
  const chromium = await browser();
  try {
    const [meeting] = await lively(server);
    server.key("deploy", "functions,backup,backup-download");
    server.key("dashboard", "logs");
    server.command("backup", `${folder}/elsewhere.db`);
    const context = await chromium.newContext({ viewport: WIDE, colorScheme: "light", reducedMotion: "reduce" });
    const page = await context.newPage();
    await page.goto(server.link());
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    const watching = await context.newPage();
    await watching.goto(`${server.base}/console/functions/meetings/queries/listUserMeetings`);
    await watching.getByLabel("As the user").fill("ada");
    await watching.getByRole("button", { name: "Watch", exact: true }).click();
    await watching.getByText("result 1,").waitFor();
    await page.goto(`${server.base}/console/backups`);
    await page.getByRole("button", { name: "Make a backup" }).click();
    await page.getByText("Made:").waitFor();

    const pages = [
      ["overview", "overview"],
      ["functions", "functions"],
      ["function", "functions/meetings/queries/getMeeting", async () => {
        await page.getByLabel("meetingId", { exact: false }).fill(meeting);
        await page.getByLabel("As the user").fill("ada");
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await page.locator(".reply").waitFor();
      }],
      ["calls", "calls", () => page.locator(".call").nth(20).waitFor()],
      ["data", "data/meetings"],
      ["row", `data/meetings/${meeting}`],
      ["jobs", "jobs?state=pending"],
      ["live", "live"],
      ["schema", "schema?table=meetingInvitations"],
      ["keys", "keys"],
      ["backups", "backups"],
      ["secrets", "secrets"],
      ["settings", "settings?only=changed"],
    ];
    const shoot = async (name, path, does) => {
      await page.goto(`${server.base}/console/${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await does?.();
      await page.waitForTimeout(1_000);
      await page.screenshot({ path: `${INTO}/${name}.png` });
      console.log(`${INTO}/${name}.png`);
    };
    for (const [name, path, does] of pages) await shoot(name, path, does);
    await page.emulateMedia({ colorScheme: "dark" });
    for (const [name, path, does] of pages.slice(0, 3)) await shoot(`${name}-dark`, path, does);
    await page.setViewportSize(NARROW);
    await page.emulateMedia({ colorScheme: "light" });
    await shoot("overview-narrow", "overview");
    await shoot("calls-narrow", "calls");
  } finally {
    await chromium.close();
    await server.stop();
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
