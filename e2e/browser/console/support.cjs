// A server whose console is looked at, with something in it.
"use strict";

const { execFileSync } = require("node:child_process");
const browsing = require("../support.cjs");

/** What somebody may type into any field: markup, a way out of an attribute, codes of a terminal, a turn of direction. */
const NASTY = `<script>window.broken=1</script><img src=x onerror="window.broken=1">"'><b>\u001b[31mred\u001b[0m\u202eturned`;

class Server extends browsing.Server {
  static start(binary, folder, settings, listen) {
    return super.start(binary, folder, { settings, listen, flags: ["--console"] });
  }

  /** The address that logs in once. */
  link() {
    return this.command("console", "--print");
  }

  /** The same from a machine that has only a key. */
  elsewhere(key, ...words) {
    const env = { ...process.env, CONVOKE_URL: this.base, CONVOKE_DEPLOY_KEY: key };
    return execFileSync(this.binary, words, { cwd: "/", env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  }

  key(name, scopes) {
    return this.command("deploy-key", "create", name, "--scope", scopes);
  }

  /** A caller of functions as a user. */
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

/** How many rows a table with many of them has: more than are counted. */
const CROWD = 25_000;
/** Rows that lie in the order of their names, by id and by an index. */
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

/** A schema that the program cannot follow: as if a release before this one had held something else. */
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

/** Has Python change the database of a server that is stopped. */
const change = (folder, script, ...words) => execFileSync("python3", ["-c", script, `${folder}/data/convoke.db`, ...words.map(String)]);

/** A server whose database does not fit the program. */
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

/** A server with something in it: many rows in a table, rows of strange texts, calls that failed, a job that did. */
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
