// The unchanged npm package `convex` through a proxy with TLS. `PROXY` is the origin of the proxy.

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import dns from "node:dns";
import { request } from "node:https";
import { test } from "node:test";

import { ConvexClient, ConvexHttpClient } from "convex/browser";
import { anyApi } from "convex/server";

const { PROXY, PROXY_NAME } = process.env;
const { values } = anyApi.probes;

// Resolves the name to this machine.
const lookup = dns.lookup;
dns.lookup = (name, options, done) => lookup(name === "api.example.com" ? "127.0.0.1" : name, options, done);

/** Returns the status of a WebSocket handshake from a page, and the body of a rejection. */
function handshake(headers) {
  return new Promise((resolve, reject) => {
    const asked = request(`${PROXY}/api/1.48.0/sync`, {
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
        ...headers,
      },
    });
    asked.on("upgrade", (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode });
    });
    asked.on("response", async (response) => {
      const parts = [];
      for await (const part of response) parts.push(part);
      resolve({ status: response.statusCode, body: Buffer.concat(parts).toString() });
    });
    asked.on("error", reject);
    asked.end();
  });
}

test(`${PROXY_NAME}: calls and live queries`, async () => {
  const name = randomUUID();
  const http = new ConvexHttpClient(PROXY, { logger: false });
  assert.equal(await http.mutation(values.count, { name }), 1);
  const client = new ConvexClient(PROXY, { skipConvexDeploymentUrlCheck: true, logger: false });
  const seen = [];
  const counted = new Promise((resolve) => {
    client.onUpdate(values.counted, { name }, (count) => {
      seen.push(count);
      if (count === 1) http.mutation(values.count, { name });
      if (count === 2) resolve();
    });
  });
  await counted;
  assert.deepEqual(seen, [1, 2]);
  assert.equal(await client.mutation(values.count, { name }), 3);
  await client.close();
});

/** Opens a stream of the results of `counted`. Returns a function that waits for a text in it, and one that closes it. */
async function stream(name) {
  const response = await fetch(`${PROXY}/api/live`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ queries: [{ path: "probes/values:counted", args: { name } }] }),
  });
  assert.equal(response.status, 200);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const until = async (part) => {
    while (!text.includes(part)) {
      const { done, value } = await reader.read();
      assert(!done, `the stream ended after ${text}`);
      text += decoder.decode(value, { stream: true });
    }
  };
  return { until, close: () => reader.cancel() };
}

test(`${PROXY_NAME}: server-sent events arrive one by one`, async () => {
  const name = randomUUID();
  const http = new ConvexHttpClient(PROXY, { logger: false });
  const { until, close } = await stream(name);
  await until('"value":0');
  await http.mutation(values.count, { name });
  await until('"value":1');
  await close();
});

// A proxy that closes a connection because the response was quick does so in a few of a hundred requests.
test(`${PROXY_NAME}: no stream ends early`, async () => {
  for (let i = 0; i < 100; i++) {
    const { until, close } = await stream(randomUUID());
    await until('"value":0');
    await close();
  }
});

test(`${PROXY_NAME}: a file above the limit of call bodies is uploaded`, async () => {
  const http = new ConvexHttpClient(PROXY, { logger: false });
  const { pathname, search } = new URL((await http.mutation(anyApi.probes.files.begin, {})).url, PROXY);
  const response = await fetch(PROXY + pathname + search, { method: "POST", body: randomBytes(5 << 20) });
  assert.equal(response.status, 200, await response.clone().text());
  assert.ok((await response.json()).storageId);
});

test(`${PROXY_NAME}: only pages of the same origin connect`, async () => {
  const { host, hostname, port } = new URL(PROXY);
  const written = `${hostname}:${port || 443}`;
  for (const headers of [{ Origin: PROXY }, { Origin: PROXY, Host: written }, { Origin: `https://${written}`, Host: host }, {}]) {
    assert.equal((await handshake(headers)).status, 101, JSON.stringify(headers));
  }
  for (const Origin of ["https://evil.example", PROXY.replace("https:", "http:"), `https://${hostname}:9443`]) {
    const { status, body } = await handshake({ Origin });
    assert.equal(status, 403, Origin);
    assert.match(body, /cors_origins/);
  }
});
