// Receives webhooks of a server, and verifies them with the libraries of Standard Webhooks and Svix.

import { test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";

const binary = process.env.ORDERS_BINARY;
const folder = mkdtempSync(join(tmpdir(), "webhooks-"));
const run = (...args) => execFileSync(binary, args, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] }).toString().trim();

async function receiver(answers) {
  const arrived = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      arrived.push({ headers: request.headers, body });
      response.writeHead(answers.shift() ?? 200).end("ok");
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${server.address().port}/hooks`, arrived };
}

async function until(done) {
  for (const end = Date.now() + 300_000; !done(); await new Promise((later) => setTimeout(later, 20))) {
    assert.ok(Date.now() < end, "it did not happen within five minutes");
  }
}

test("both libraries verify each try, and reject a changed body and another secret", async () => {
  writeFileSync(join(folder, "convoke.toml"), '[limits]\nmutation_timeout = "1m"\n[webhooks]\nallow = ["127.0.0.0/8"]\n');
  const server = spawn(binary, ["dev", "--no-watch", "--listen", "127.0.0.1:0"], { cwd: folder });
  let said = "";
  server.stderr.on("data", (chunk) => (said += chunk));
  server.stdout.on("data", (chunk) => (said += chunk));
  try {
    await until(() => /listening on (http:\S+)/.test(said));
    const url = said.match(/listening on (http:\S+)/)[1];
    const { url: target, arrived } = await receiver([503]);
    const first = run("webhooks", "add", target);
    const id = JSON.parse(run("webhooks", "list", "--json"))[0].id;
    const place = async (cents) => {
      const body = JSON.stringify({ args: { customer: "Ada ☃", cents } });
      const reply = await fetch(`${url}/api/run/orders/placeOrder`, { method: "POST", headers: { "content-type": "application/json" }, body });
      assert.equal((await reply.json()).status, "success");
    };
    await place(1);
    // The first try gets a 503; the next one comes after five seconds.
    await until(() => arrived.length === 2);
    assert.equal(arrived[0].headers["webhook-id"], arrived[1].headers["webhook-id"]);
    const second = run("webhooks", "rotate", id);
    await place(2);
    await until(() => arrived.length === 3);
    for (const [index, secrets] of [[0, [first]], [1, [first]], [2, [first, second]]]) {
      const { headers, body } = arrived[index];
      for (const secret of secrets) {
        const event = new Standard(secret).verify(body, headers);
        assert.equal(event.type, "order.placed");
        assert.equal(event.data.customer, "Ada ☃");
        new Svix(secret).verify(body, headers);
        assert.throws(() => new Standard(secret).verify(body.replace("Ada", "Bob"), headers));
      }
      assert.throws(() => new Svix("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").verify(body, headers));
    }
  } finally {
    server.kill("SIGKILL");
  }
});
