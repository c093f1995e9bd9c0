// The unchanged npm package `convex` against real servers: `PROBES` has functions that fail on purpose, `APPLICATION` is the
// application.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ConvexHttpClient } from "convex/browser";
import { anyApi } from "convex/server";
import { ConvexError } from "convex/values";

const { PROBES, PROBES_TOKEN, PROBES_KEY, APPLICATION, APPLICATION_TOKEN } = process.env;
const { values, failures, attempts, ledger } = anyApi.probes;

function client(options = {}) {
  return new ConvexHttpClient(PROBES, { logger: false, ...options });
}

async function convexError(call) {
  const error = await call.then(() => assert.fail("the call fails"), (error) => error);
  assert.ok(error instanceof ConvexError, String(error));
  return error;
}

test("query, mutation and action return values", async () => {
  const there = client();
  assert.deepEqual(await there.query(values.echo, { text: "Zürich 🦀" }), { text: "Zürich 🦀", characters: 8, list: [] });
  const added = await there.mutation(ledger.add, { amount: 3, idempotencyKey: "convention-1" });
  assert.deepEqual(await there.mutation(ledger.add, { amount: 3, idempotencyKey: "convention-1" }, { skipQueue: true }), added);
  assert.equal(await there.action(attempts.slow, { name: "convention", ms: 1 }), 1);
  assert.equal(await there.query(values.nothing), null);
  assert.equal(await there.query(values.who, {}), null);
});

test("numbers, 64-bit integers and bytes round-trip", async () => {
  const there = client();
  const max = 9223372036854775807n;
  const bytes = new Uint8Array([0, 255, 128, 7]).buffer;
  const echoed = await there.query(values.echo, { wide: max, bytes, number: -0, list: [-max - 1n, 5n, 7] });
  assert.equal(echoed.wide, max);
  assert.deepEqual([...new Uint8Array(echoed.backwards)], [7, 128, 255, 0]);
  assert.ok(Object.is(echoed.number, -0));
  // An integer that a double can represent arrives as a double.
  assert.deepEqual(echoed.list, [-max - 1n, 5, 7]);
  assert.equal((await there.query(values.echo, { number: 0.1 })).number, 0.1);
  const refused = await convexError(there.query(values.echo, { number: Infinity }));
  assert.deepEqual([refused.data.code, refused.data.field], ["INVALID_ARGUMENT", "number"]);
});

test("large result arrives completely", async () => {
  const rows = await client().query(values.many, { rows: 30_000 });
  assert.deepEqual(rows.at(-1), { place: 29_999, text: "29999".padStart(60) });
});

test("body above the limit gets 413", async () => {
  for (const megabytes of [2, 8, 16]) {
    const body = JSON.stringify({ path: "probes/values:echo", args: { text: "x".repeat(megabytes * 2 ** 20) } });
    for (let time = 0; time < 5; time += 1) {
      const answer = await fetch(`${PROBES}/api/query`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
      assert.equal(answer.status, 413, `${String(megabytes)} MiB`);
      assert.equal((await answer.json()).errorData.code, "PAYLOAD_TOO_LARGE");
    }
  }
});

test("setAuth names the caller until clearAuth", async () => {
  const there = client({ auth: PROBES_TOKEN });
  assert.equal(await there.query(values.who), "ada");
  there.clearAuth();
  assert.equal(await there.query(values.who), null);
  there.setAuth(PROBES_TOKEN);
  assert.equal(await there.query(values.who), "ada");
  there.setAuth("no token");
  await assert.rejects(there.query(values.who), (error) => JSON.parse(error.message).code === "INVALID_CREDENTIALS");
});

test("function error is a ConvexError with data and message", async () => {
  const failing = { code: "CONFLICT", message: "Taken already", detail: 7 };
  const there = client();
  for (const kind of ["query", "mutation", "action"]) {
    const error = await convexError(there[kind](failures[kind], failing));
    assert.deepEqual(error.data, { code: "CONFLICT", message: "Taken already", detail: 7 });
    assert.equal(error.message, "Taken already");
  }
  const argument = await convexError(there.query(values.echo, { color: "green" }));
  assert.deepEqual([argument.data.code, argument.data.field, argument.data.message], ["INVALID_ARGUMENT", "color", argument.message]);
});

test("error outside the function has its code and message", async () => {
  const told = (code, status) => (error) => {
    const body = JSON.parse(error.message);
    assert.deepEqual([body.code, body.errorData.code, body.message], [code, code, body.errorMessage]);
    assert.ok(status === undefined || body.message.length > 0);
    return true;
  };
  const there = client();
  await assert.rejects(there.query(anyApi.probes.nowhere.atAll), told("FUNCTION_NOT_FOUND"));
  await assert.rejects(there.query(ledger.add, { amount: 1 }), told("WRONG_FUNCTION_KIND"));
  await assert.rejects(there.mutation(failures.panicking, { loudly: true }), told("INTERNAL"));
  await assert.rejects(there.query(failures.query, { code: "OVERLOADED", message: "Later" }), told("OVERLOADED"));
  await assert.rejects(there.mutation(failures.mutation, { code: "COMMIT_UNKNOWN", message: "Who knows" }), told("COMMIT_UNKNOWN"));
});

test("consistent queries share a snapshot until their reads change", async () => {
  const there = client();
  await there.mutation(values.count, { name: "consistent" });
  assert.equal(await there.consistentQuery(values.counted, { name: "consistent" }), 1);
  await there.mutation(values.count, { name: "another" });
  assert.equal(await there.consistentQuery(values.counted, { name: "consistent" }), 1);
  assert.equal(await there.consistentQuery(values.counted, { name: "none" }), 0);
  await there.mutation(values.count, { name: "consistent" });
  const gone = await convexError(there.consistentQuery(values.counted, { name: "consistent" }));
  assert.equal(gone.data.code, "FAILED_PRECONDITION");
  assert.match(gone.message, /POST \/api\/query_ts/);
  assert.equal(await client().consistentQuery(values.counted, { name: "consistent" }), 2, "a new client has a new state");
  assert.equal(await client({ auth: PROBES_TOKEN }).consistentQuery(values.who), "ada");
});

test("query batch is one snapshot", async () => {
  const queries = [
    { path: "probes/values:counted", format: "convex_encoded_json", args: [{ name: "none" }] },
    { path: "probes/failures:query", format: "convex_encoded_json", args: [{ code: "FORBIDDEN", message: "No" }] },
  ];
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ queries }) };
  const { results } = await (await fetch(`${PROBES}/api/query_batch`, init)).json();
  assert.deepEqual(results.map(({ status }) => status), ["success", "error"]);
  assert.equal(results[0].value, 0);
  assert.equal(results[1].errorData.code, "FORBIDDEN");
});

test("unsupported request is rejected with the reason", async () => {
  const there = client();
  await assert.rejects(there.function(values.who), /Use query\(\), mutation\(\) or action\(\)/);
});

test("log lines are shown", async () => {
  const lines = [];
  const logger = Object.fromEntries(["log", "warn", "error", "logVerbose"].map((level) => [level, (...parts) => lines.push(parts.join(" "))]));
  const there = client({ logger });
  await there.query(values.echo, { text: "seen" });
  await convexError(there.mutation(failures.mutation, { code: "CONFLICT", message: "" }));
  assert.match(lines.join("\n"), /echo of seen[\s\S]*about to fail with CONFLICT/);
});

test("setAdminAuth accepts a deploy key and can act as a user", async () => {
  const there = client();
  there.setAdminAuth(PROBES_KEY);
  assert.equal(await there.query(values.secret), "for operators");
  assert.equal(await there.query(values.who), null);
  there.setAdminAuth(PROBES_KEY, { issuer: "https://elsewhere.example", subject: "grace", name: "Grace" });
  assert.equal(await there.query(values.who), "grace");
  there.clearAuth();
  assert.equal((await convexError(there.query(values.secret))).data.code, "UNAUTHENTICATED");
  there.setAdminAuth(`${PROBES_KEY}x`);
  await assert.rejects(there.query(values.who), /INVALID_CREDENTIALS/);
});

test("page of an allowed origin can call", async () => {
  const preflight = await fetch(`${PROBES}/api/query`, {
    method: "OPTIONS",
    headers: { Origin: "http://localhost:5173", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type,convex-client" },
  });
  assert.match(preflight.headers.get("access-control-allow-headers"), /convex-client/);
});

test("application functions are callable by path", async () => {
  const api = anyApi;
  const there = new ConvexHttpClient(APPLICATION, { logger: false, auth: APPLICATION_TOKEN });
  assert.equal((await there.query(api.users.queries.getCurrentUser)).email, "ada@example.com");
  const { meetingId } = await there.mutation(api.meetings.lifecycle.createMeeting, { title: "By another client" });
  const meeting = await there.query(api.meetings.queries.getMeeting, { meetingId });
  assert.deepEqual([meeting.title, typeof meeting._creationTime], ["By another client", "number"]);
  assert.equal(await there.query(api.profiles.queries.getCurrentUserProfile), null);
  assert.equal((await there.action(api.insights.index.generateInsights, { meetingId })).insightsGenerated, 0);
  const error = await convexError(there.mutation(api.meetings.lifecycle.createMeeting, { title: " " }));
  assert.deepEqual([error.data, error.message], [{ code: "INVALID_ARGUMENT", field: "title", message: error.message }, "Meeting title cannot be empty"]);
});
