// A server with example data for the tests of the console.
"use strict";

const { execFileSync } = require("node:child_process");
const browsing = require("../support.cjs");

/** Hostile input: markup, an attribute escape, terminal codes, a change of the text direction. */
const NASTY = `<script>window.broken=1</script><img src=x onerror="window.broken=1">"'><b>\u001b[31mred\u001b[0m\u202eturned`;

class Server extends browsing.Server {
  static start(binary, folder, settings, listen) {
    return super.start(binary, folder, { settings, listen, flags: ["--console"] });
  }

  /** Returns a login link, which works once. */
  link() {
    return this.command("console", "--print");
  }

  /** Returns the login link of a deploy key. */
  elsewhere(key, ...words) {
    const env = { ...process.env, CONVOKE_URL: this.base, CONVOKE_DEPLOY_KEY: key };
    return execFileSync(this.binary, words, { cwd: "/", env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  }

  key(name, scopes) {
    return this.command("deploy-key", "create", name, "--scope", scopes);
  }

  /** Returns a function that calls functions as a user. */
  user(subject, name) {
    const token = this.token(subject, name);
    return async (path, args) => {
      const response = await fetch(`${this.base}/api/run/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify({ args }),
      });
      return response.json();
    };
  }
}

async function succeeded(reply) {
  const body = await reply;
  if (body.status !== "success") throw new Error(JSON.stringify(body));
  return body.value;
}

/** Settings that make a job fail, because the media server is unreachable, and that allow webhooks to this machine. */
const SETTINGS = `
[webhooks]
allow = ["127.0.0.0/8"]

[livekit]
url = "ws://127.0.0.1:9"
api_key = "console"
`;
process.env.CONVOKE_SECRET_LIVEKIT_API_SECRET = "a secret of nobody's server, long enough";

/** Marks the jobs of a stopped server as failed, because the real attempts would take an hour. */
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

/** Number of rows of the large table. The console counts fewer rows. */
const CROWD = 25_000;
/** Inserts rows whose names, ids and index keys have the same order. */
const CROWD_IN = `
import random, sqlite3, sys, time
database = sqlite3.connect(sys.argv[1])
count = int(sys.argv[2])
begin = int(time.time() * 1000) - 60 * 60 * 1000
def row(number):
    at = begin + number
    return ((at << 80 | random.getrandbits(80)).to_bytes(16, "big"), at, "nobody", "crowded", "crowd", "row-%05d" % number)
sql = """INSERT INTO "auditEntries" ("_id", "_creationTime", "actor", "action", "resourceType", "resourceId", "metadata")
         VALUES (?, ?, ?, ?, ?, ?, '{}')"""
database.executemany(sql, (row(number) for number in range(count)))
database.commit()
`;

/** Changes the schema to one that the program cannot migrate, like an incompatible former release. */
const CHANGE_SCHEMA = `
import json, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
version, text = database.execute('SELECT "version", "definition" FROM "_schema" ORDER BY "version" DESC LIMIT 1').fetchone()
schema = json.loads(text)
schema["tables"]["meetings"]["fields"]["title"]["holds"] = "Integer"
schema["tables"]["meetings"]["indexes"].pop("by_room")
database.execute('UPDATE "_schema" SET "definition" = ? WHERE "version" = ?', (json.dumps(schema), version))
database.commit()
`;

/** Changes the database of a stopped server with Python. */
const change = (folder, script, ...words) => execFileSync("python3", ["-c", script, `${folder}/data/convoke.db`, ...words.map(String)]);

/** Starts a server whose database does not match the program. */
async function closed(binary, folder) {
  const before = await Server.start(binary, folder, "");
  try {
    await succeeded(before.user("ada")("meetings/lifecycle/createMeeting", { title: "All hands" }));
  } finally {
    await before.stop();
  }
  change(folder, CHANGE_SCHEMA);
  return Server.start(binary, folder, "");
}

/** Starts a server with a large table, rows with hostile text, failed calls and a failed job. */
async function furnished(binary, folder) {
  const before = await Server.start(binary, folder, SETTINGS);
  try {
    const ada = before.user("ada", "Ada");
    const hall = await succeeded(ada("meetings/lifecycle/createMeeting", { title: "All hands", meetingType: "webinar" }));
    await succeeded(ada("meetings/lifecycle/endMeeting", { meetingId: hall.meetingId }));
  } finally {
    await before.stop();
  }
  change(folder, FAIL_ALL, NASTY);
  change(folder, CROWD_IN, CROWD);
  const server = await Server.start(binary, folder, SETTINGS);
  const ada = server.user("ada", "Ada");
  const nasty = await succeeded(ada("meetings/lifecycle/createMeeting", { title: NASTY.slice(0, 190), description: NASTY }));
  await succeeded(ada("meetings/lifecycle/createMeeting", { title: '=HYPERLINK("http://example.com")' }));
  await ada(encodeURIComponent(NASTY.replaceAll("/", "|")), {});
  await ada("meetings/queries/getMeeting", { meetingId: NASTY });
  return { server, ada, nasty };
}

module.exports = { ...browsing, closed, furnished, NASTY, Server, SETTINGS, succeeded };
