// A server with something in it, and a browser that asks nobody else.
"use strict";

const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const readline = require("node:readline");
const { chromium } = require("playwright-core");

/** The flags that keep a browser from calling home. */
const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** What somebody may type into any field: markup, a way out of an attribute, codes of a terminal, a turn of direction. */
const NASTY = `<script>window.broken=1</script><img src=x onerror="window.broken=1">"'><b>\u001b[31mred\u001b[0m\u202eturned`;

class Server {
  /** Starts a server on a folder of its own; `settings` is its file of settings. */
  static async start(binary, folder, settings = "") {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(`${folder}/convoke.toml`, settings);
    const within = ["--data", `${folder}/data`, "--config", `${folder}/convoke.toml`];
    const options = ["serve", "--env", "development", "--console", "--listen", "127.0.0.1:0", "--log", "warn", ...within];
    const child = spawn(binary, options, { stdio: ["ignore", "inherit", "pipe"] });
    for await (const line of readline.createInterface({ input: child.stderr })) {
      const found = line.match(/listening on (\S+)/);
      if (found) {
        child.stderr.resume();
        return new Server(binary, within, child, found[1], folder);
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

  /** The address that logs in once. */
  link() {
    return this.command("console", "--print");
  }

  key(name, scopes) {
    return this.command("deploy-key", "create", name, "--scope", scopes);
  }

  /** A caller of functions as a user. */
  user(subject, name = subject) {
    const token = this.command("token", "--subject", subject, "--email", `${subject}@example.com`, "--name", name);
    return async (path, args) => {
      const response = await fetch(`${this.base}/api/run/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify({ args }),
      });
      return response.json();
    };
  }

  async stop() {
    const ended = new Promise((done) => this.child.once("exit", done));
    this.child.kill("SIGTERM");
    await ended;
  }
}

async function succeeded(reply) {
  const body = await reply;
  if (body.status !== "success") throw new Error(JSON.stringify(body));
  return body.value;
}

/** What makes a job fail: a media server that nobody runs. */
const SETTINGS = `
[livekit]
url = "ws://127.0.0.1:9"
api_key = "console"
`;
process.env.CONVOKE_SECRET_LIVEKIT_API_SECRET = "a secret of nobody's server, long enough";

/** As if all tries of the jobs had failed, which takes an hour: done to the database of a server that is stopped. */
const FAIL_ALL = `
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1])
now = int(time.time() * 1000)
changed = database.execute(
    'UPDATE "_jobs" SET "state" = ?, "attempts" = 8, "finishedAt" = ?, "lastError" = ? WHERE "path" = ?',
    ("failed", now, "PROVIDER_ERROR: The media server failed: " + sys.argv[2], "meetings/mediaServer"),
).rowcount
database.commit()
sys.exit(0 if changed else "there is no job to fail")
`;

/** A server with something in it: rows of strange texts, calls that failed, a job that did. */
async function furnished(binary, folder) {
  const before = await Server.start(binary, folder, SETTINGS);
  try {
    const ada = before.user("ada", "Ada");
    const hall = await succeeded(ada("meetings/lifecycle/createMeeting", { title: "All hands", meetingType: "webinar" }));
    await succeeded(ada("meetings/lifecycle/endMeeting", { meetingId: hall.meetingId }));
  } finally {
    await before.stop();
  }
  execFileSync("python3", ["-c", FAIL_ALL, `${folder}/data/convoke.db`, NASTY]);
  const server = await Server.start(binary, folder, SETTINGS);
  const ada = server.user("ada", "Ada");
  const nasty = await succeeded(ada("meetings/lifecycle/createMeeting", { title: NASTY.slice(0, 190), description: NASTY }));
  await succeeded(ada("meetings/lifecycle/createMeeting", { title: '=HYPERLINK("http://example.com")' }));
  await ada(encodeURIComponent(NASTY.replaceAll("/", "|")), {});
  await ada("meetings/queries/getMeeting", { meetingId: NASTY });
  return { server, ada, nasty };
}

const browser = () => chromium.launch({ executablePath: "/usr/bin/chromium", args: QUIET });

module.exports = { browser, furnished, NASTY, Server, succeeded };
