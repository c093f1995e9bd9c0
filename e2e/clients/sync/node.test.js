// The unchanged npm package `convex` in Node.js against real servers: live results, calls, cut connections, killed servers.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { ConvexClient } from "convex/browser";
import { anyApi } from "convex/server";
import { ConvexError } from "convex/values";

import { Server, Wire, until } from "./server.js";

const { attempts, failures, ledger, values } = anyApi.probes;
const server = await Server.start();
after(() => server.stop());

function connected(url = server.url, options = {}) {
  return new ConvexClient(url, { skipConvexDeploymentUrlCheck: true, logger: false, ...options });
}

async function entries() {
  const { items } = await server.call("query", "probes/ledger:list", {});
  return items.map((entry) => entry.amount);
}

test("live results, round-tripped values and errors with data", async () => {
  const client = connected();
  const seen = [];
  client.onUpdate(values.counted, { name: "a" }, (count) => seen.push(count));
  await until("the first result", () => seen.length === 1);
  for (const expected of [1, 2, 3]) {
    assert.equal(await client.mutation(values.count, { name: "a" }), expected);
    assert.equal(seen.at(-1), expected, "who wrote reads it when the promise resolves");
  }
  await client.mutation(values.count, { name: "b" });
  assert.deepEqual(seen, [0, 1, 2, 3], "what did not change is not told again");
  const wide = (1n << 62n) + 1n;
  const echoed = await client.query(values.echo, { text: "Zürich 🦀", wide, number: -0 });
  assert.deepEqual([echoed.text, echoed.wide], ["Zürich 🦀", wide]);
  assert.ok(Object.is(echoed.number, -0));
  assert.equal(await client.action(attempts.slow, { name: "sync", ms: 1 }), 1);
  const failed = await client.mutation(failures.mutation, { code: "CONFLICT", message: "Taken", detail: 7 }).catch((error) => error);
  assert.ok(failed instanceof ConvexError);
  assert.deepEqual(failed.data, { code: "CONFLICT", message: "Taken", detail: 7 });
  const refused = await client.query(failures.query, { code: "FORBIDDEN", message: "No" }).catch((error) => error);
  assert.equal(refused.data.code, "FORBIDDEN");
  const unknown = await client.query(anyApi.probes.nothing.there, {}).catch((error) => error);
  assert.equal(unknown.data.code, "FUNCTION_NOT_FOUND");
  assert.equal(await client.mutation(values.count, { name: "a" }), 4, "the connection is as it was");
  await client.close();
});

test("unreadable member name fails only its query", async () => {
  const client = connected();
  const maps = [];
  const counts = [];
  client.onUpdate(values.counts, { name: "map" }, (map) => maps.push(map), (error) => maps.push(error));
  client.onUpdate(values.counted, { name: "map-a" }, (count) => counts.push(count));
  await client.mutation(values.count, { name: "map-a" });
  await until("the map", () => maps.at(-1)?.["map-a"] === 1 && counts.at(-1) === 1);
  await server.call("mutation", "probes/values:count", { name: "map-größe" });
  await until("the failure", () => maps.at(-1) instanceof ConvexError);
  assert.deepEqual([maps.at(-1).data.code, maps.at(-1).data.path], ["FAILED_PRECONDITION", "map-größe"]);
  assert.match(maps.at(-1).message, /the key at map-größe has a character that is not printable ASCII/);
  assert.equal(await client.mutation(values.count, { name: "map-a" }), 2);
  assert.equal(counts.at(-1), 2, "the other query goes on");
  const failed = await client.query(values.counts, { name: "map" }).catch((error) => error);
  assert.equal(failed.data.path, "map-größe");

  const refused = await client.mutation(values.countByName, { name: "$map" }).catch((error) => error);
  assert.equal(refused.data.path, "$map");
  assert.equal(await client.query(values.counted, { name: "$map" }), 0, "a mutation with such a result is rolled back");
  await client.close();
});

test("free-form object cannot stop its readers and keeps its numbers", async () => {
  const client = connected();
  const seen = [];
  client.onUpdate(values.attached, { name: "object" }, (data) => seen.push(data));
  await until("the first result", () => seen.length === 1);
  for (const [key, value] of [["größe", 1], ["$x", "1"], ["$bytes", "!"], ["$map", []], ["$integer", "AQAAAAAAIAA="], ["x".repeat(2_000), 1]]) {
    const init = {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ path: "probes/values:attach", args: { name: "object", data: { a: [{ [key]: value }] } } }),
    };
    const { errorData } = await (await fetch(`${server.url}/api/mutation`, init)).json();
    assert.equal(errorData.code, "INVALID_ARGUMENT");
    assert.ok(errorData.field.startsWith(`data.a[0].${key.slice(0, 64)}`), errorData.field);
  }
  const data = { large: 2 ** 53, larger: 2 ** 70, small: -1, share: 0.9478615091467453, zero: -0, text: "größe" };
  await client.mutation(values.attach, { name: "object", data });
  assert.deepEqual(seen.at(-1), data);
  assert.ok(Object.is(seen.at(-1).zero, -0));
  await server.call("mutation", "probes/values:attach", { name: "object", data: { large: 2 ** 53 } });
  await until("the plain one", () => seen.at(-1).share === undefined);
  assert.deepEqual(seen.at(-1), { large: 2 ** 53 }, "also as it was sent in plain JSON");
  await client.close();
});

test("long result arrives completely in parts", async () => {
  const client = connected();
  const rows = await client.query(values.many, { rows: 70_000 });
  assert.equal(rows.length, 70_000);
  assert.deepEqual(rows[69_999], { place: 69_999, text: "69999".padStart(60) });
  await client.close();
});

test("mutations over repeatedly cut connections run once each", async () => {
  const wire = await Wire.to(server.url);
  const client = connected(wire.url);
  const sent = [];
  let going = true;
  const cutting = (async () => {
    while (going) {
      await new Promise((resolve) => setTimeout(resolve, 150 + Math.random() * 200));
      wire.hold();
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
      wire.cut();
      // Clients wait longer after each successive failure. Progress resets the delay.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
    }
  })();
  for (let turn = 0; turn < 12; turn += 1) {
    sent.push(...Array.from({ length: 5 }, () => client.mutation(values.count, { name: "cut" })));
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const counts = await Promise.all(sent);
  going = false;
  await cutting;
  assert.deepEqual(counts, Array.from({ length: 60 }, (_, place) => place + 1), "each has its own answer, in order");
  assert.equal(await server.call("query", "probes/values:counted", { name: "cut" }), 60);
  await client.close();
  wire.close();
});

test("mutation runs once if the server is killed before its response", async () => {
  const wire = await Wire.to(server.url);
  const client = connected(wire.url);
  const seen = [];
  client.onUpdate(ledger.list, {}, ({ items }) => seen.push(items.length));
  await until("the first result", () => seen.length === 1);
  for (const amount of [101, 102, 103]) {
    wire.hold();
    const added = client.mutation(ledger.add, { amount });
    await until("the commit", async () => (await entries()).includes(amount));
    await server.kill();
    wire.cut();
    await server.again();
    assert.ok((await added).entryId);
  }
  assert.deepEqual((await entries()).sort(), [101, 102, 103]);
  await until("what is watched is watched again", () => seen.at(-1) === 3);
  await client.close();
  wire.close();
});

test("expired token is renewed and the caller continues", async () => {
  const client = connected(server.url, { authRefreshTokenLeewaySeconds: 0 });
  const asked = [];
  const short = server.token("ada", "--ttl", "15s");
  // Only the server may report that the first token has expired.
  client.setAuth(async ({ forceRefreshToken }) => {
    asked.push(forceRefreshToken);
    return asked.length <= 2 ? short : server.token("ada");
  });
  const seen = [];
  client.onUpdate(values.who, {}, (who) => seen.push(who));
  await until("a renewal", () => asked.length >= 3);
  await until("calls with it", async () => (await client.query(values.who, {})) === "ada");
  assert.equal(await client.mutation(values.whoWrites, {}), "ada");
  assert.deepEqual([...new Set(seen)], ["ada"], "nobody's result was ever shown");
  await client.close();
});

test("rejected token is reported and nothing runs anonymously", async () => {
  const client = connected();
  const changes = [];
  client.setAuth(async () => "nonsense", (isAuthenticated) => changes.push(isAuthenticated));
  await until("the refusal", () => changes.includes(false));
  assert.deepEqual([...new Set(changes)], [false]);
  assert.equal(await client.query(values.who, {}), null, "and the client goes on as nobody");
  await client.close();
});
