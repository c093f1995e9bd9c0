// A server that can be killed and restarted on its data, and a proxy to it that can be paused and cut.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const binary = process.env.PROBES_BINARY;
assert.ok(binary, "PROBES_BINARY is set");

export class Server {
  static async start() {
    const server = new Server();
    server.folder = mkdtempSync(join(tmpdir(), "sync-"));
    // A debug build on a busy machine takes seconds for a long result.
    writeFileSync(join(server.folder, "convoke.toml"), '[limits]\nquery_timeout = "1m"\nmutation_timeout = "1m"\n');
    await server.serve("127.0.0.1:0");
    return server;
  }

  async serve(listen) {
    this.process = spawn(binary, ["dev", "--listen", listen, "--log", "warn"], { cwd: this.folder, stdio: ["ignore", "ignore", "pipe"] });
    for await (const line of createInterface({ input: this.process.stderr })) {
      const found = line.match(/^convoke: listening on (\S+)/);
      if (found) {
        this.process.stderr.resume();
        this.url = found[1];
        return;
      }
    }
    throw new Error("the server did not start");
  }

  async kill() {
    const gone = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGKILL");
    await gone;
  }

  async again() {
    await this.serve(new URL(this.url).host);
  }

  async stop() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  token(subject, ...options) {
    return execFileSync(binary, ["token", "--subject", subject, ...options], { cwd: this.folder, encoding: "utf8" }).trim();
  }

  async call(kind, path, args) {
    const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ path, args }) };
    const answer = await (await fetch(`${this.url}/api/${kind}`, init)).json();
    assert.equal(answer.status, "success", JSON.stringify(answer));
    return answer.value;
  }
}

/** A proxy between a client and a server. */
export class Wire {
  static async to(url) {
    const wire = new Wire();
    const { hostname, port } = new URL(url);
    wire.pairs = new Set();
    wire.holds = false;
    wire.listener = createServer((client) => {
      const server = connect(Number(port), hostname);
      const pair = { client, server, isAnswered: false };
      wire.pairs.add(pair);
      const end = () => {
        client.destroy();
        server.destroy();
        wire.pairs.delete(pair);
      };
      for (const socket of [client, server]) socket.on("error", end).on("close", end);
      client.on("data", (bytes) => server.write(bytes));
      server.on("data", (bytes) => {
        if (wire.holds) return;
        pair.isAnswered = true;
        client.write(bytes);
      });
    });
    await new Promise((resolve) => wire.listener.listen(0, "127.0.0.1", resolve));
    wire.url = `http://127.0.0.1:${wire.listener.address().port}`;
    return wire;
  }

  /** Number of open connections on which the server has responded. */
  get connected() {
    return [...this.pairs].filter((pair) => pair.isAnswered).length;
  }

  /** Stops all bytes from the server. */
  hold() {
    this.holds = true;
  }

  cut() {
    for (const { client, server } of this.pairs) {
      client.destroy();
      server.destroy();
    }
    this.pairs.clear();
    this.holds = false;
  }

  close() {
    this.cut();
    this.listener.close();
  }
}

export async function until(what, holds) {
  const end = Date.now() + 120_000;
  for (;;) {
    const found = await holds();
    if (found) return found;
    assert.ok(Date.now() < end, `not within two minutes: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
