// The unchanged clients of PyPI and crates.io in separate processes. The test cuts their connection, and kills their server
// between a commit and its response.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";

import { Server, Wire, until } from "./server.js";

const CLIENTS = {
  python: [["venv/bin/python", "client_watch.py", "watch"], ["venv/bin/python", "client_watch.py", "count"]],
  rust: [["rust/target/debug/sync-client", "watch"]],
};

for (const [name, commands] of Object.entries(CLIENTS)) {
  test(`the client in ${name} survives cut connections and killed servers`, async () => {
    const server = await Server.start();
    const wire = await Wire.to(server.url);
    const said = { seen: [], done: [] };
    const clients = commands.map(([command, ...args]) => {
      const client = spawn(command, [...args, wire.url, name], { stdio: ["pipe", "pipe", "inherit"] });
      createInterface({ input: client.stdout }).on("line", (line) => {
        const [what, count] = line.split(" ");
        said[what].push(Number(count));
      });
      return client;
    });
    const counted = () => server.call("query", "probes/values:counted", { name });
    const isShown = async () => said.seen.at(-1) === (await counted());
    try {
      await until("the first result", () => said.seen.length === 1);
      for (let cut = 1; cut <= 3; cut += 1) {
        // The change comes before the new connection, which would show an unchanged result again.
        wire.hold();
        await server.call("mutation", "probes/values:count", { name });
        wire.cut();
        await until("what changed while it was cut off", isShown);
      }
      for (let kill = 1; kill <= 3; kill += 1) {
        const before = await counted();
        await until("every client is back", () => wire.connected === clients.length);
        wire.hold();
        for (const client of clients) client.stdin.write("count\n");
        await until("the commit", async () => (await counted()) > before);
        await server.kill();
        wire.cut();
        await server.again();
        await until("the answer", () => said.done.length === kill);
        await until("what it wrote", isShown);
      }
      // These clients begin a new session on each connection, so a mutation may run twice. None is lost.
      const total = await counted();
      assert.ok(total >= 6 && total <= 9, `${total}`);
      assert.ok(said.done.every((count, place) => count > (said.done[place - 1] ?? 3)), `${said.done}`);
      assert.ok(said.seen.every((count, place) => place === 0 || count > said.seen[place - 1]), `${said.seen}`);
    } finally {
      for (const client of clients) client.kill();
      wire.close();
      await server.stop();
    }
  });
}
