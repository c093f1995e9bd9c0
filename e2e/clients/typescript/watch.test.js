// Watches of the generated clients against real servers that are killed, drained and disconnected, and against fake ones.

import assert from "node:assert/strict";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer } from "node:net";
import { after, test } from "node:test";

import * as application from "./out/application.js";
import * as probes from "./out/probes.js";
import { Server, until } from "./server.js";

const server = await Server.start();
after(() => server.stop());
const client = probes.createClient({ url: server.url });

/** Aborts all watches, so that no watch outlives a failed test. */
const stops = [];
after(() => stops.forEach((stop) => stop()));

/** Records the events of a watch. */
function heard(query, args, options = {}) {
  const seen = { results: [], errors: [], connection: [] };
  seen.stop = query.watch(args, (value) => seen.results.push(value), {
    onError: (error, ended) => seen.errors.push([error.code, ended]),
    onConnection: (lost) => seen.connection.push(lost?.code),
    ...options,
  });
  stops.push(seen.stop);
  return seen;
}

/** Runs `work` with a listener on a free port. */
async function serving(listener, work) {
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  try {
    await work(`http://127.0.0.1:${listener.address().port}`);
  } finally {
    listener.close();
    listener.closeAllConnections?.();
  }
}

/** A server that sends these responses in order. */
function scripted(answers) {
  const asked = [];
  const open = new Set();
  const listener = createHttpServer(async (request, response) => {
    request.resume();
    open.add(response);
    response.once("close", () => open.delete(response));
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(request.headers);
    await answer(response);
  });
  return { asked, listener, open };
}

const events = (...texts) => async (response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  for (const text of texts) response.write(text);
};
const result = (value, id = "7-d") => `id: ${id}\nevent: results\ndata: {"results":[{"query":0,"status":"success","value":${value}}]}\n\n`;
const end = (code) => `event: end\ndata: {"status":"error","errorMessage":"So it is","errorData":{"code":"${code}"},"logLines":[]}\n\n`;

test("results arrive until the watch is stopped", async () => {
  const stopped = heard(client.probes.values.counted, { name: "a" });
  const controller = new AbortController();
  const aborted = heard(client.probes.values.counted, { name: "a" }, { signal: controller.signal });
  await until("the first result", () => stopped.results.length === 1 && aborted.results.length === 1);
  await client.probes.values.count({ name: "b" });
  await client.probes.values.count({ name: "a" });
  // A watch may skip a result that is replaced before it is sent, so both must have this one.
  await until("the second result", () => stopped.results.length === 2 && aborted.results.length === 2);
  stopped.stop();
  await client.probes.values.count({ name: "a" });
  await until("the third result", () => aborted.results.length === 3);
  controller.abort();
  await client.probes.values.count({ name: "a" });
  const later = heard(client.probes.values.counted, { name: "a" });
  await until("who comes later", () => later.results.length === 1);
  later.stop();
  assert.deepEqual([stopped.results, aborted.results, later.results], [[0, 1], [0, 1, 2], [3]]);
  assert.deepEqual([stopped.errors, aborted.errors], [[], []], "that nobody wants more is no error");
  const never = heard(client.probes.values.counted, { name: "a" }, { signal: AbortSignal.abort() });
  const text = heard(client.probes.values.echo, { text: "Zürich 東京 🦀 \u2028" });
  await until("a text", () => text.results.length === 1);
  text.stop();
  assert.deepEqual([text.results[0].text, never.results], ["Zürich 東京 🦀 \u2028", []]);
});

test("large result arrives completely", async () => {
  const seen = heard(client.probes.values.many, { rows: 50_000 });
  await until("the rows", () => seen.results.length === 1);
  seen.stop();
  assert.deepEqual(seen.results[0][49_999], { place: 49_999, text: "49999".padStart(60) });
});

test("watch reconnects to a restarted server without duplicates", async () => {
  const seen = heard(client.probes.values.counted, { name: "killed" });
  await until("the first result", () => seen.results.length === 1);
  await server.kill();
  await until("the loss", () => seen.connection.includes("CONNECTION_FAILED"));
  await server.again();
  await until("the connection", () => seen.connection.at(-1) === undefined);
  await client.probes.values.count({ name: "killed" });
  await until("the second result", () => seen.results.length === 2);
  server.process.kill("SIGTERM");
  await until("the drain", () => seen.connection.includes("NOT_READY"));
  await until("the end of the process", () => server.process.exitCode !== null);
  await server.again();
  await client.probes.values.count({ name: "killed" });
  await until("the third result", () => seen.results.length === 3);
  seen.stop();
  assert.deepEqual([seen.results, seen.errors], [[0, 1, 2], []]);
});

test("connection cut inside an event neither loses nor repeats events", async () => {
  // Number of bytes of the response that pass, per connection.
  const passing = [0, 60, 230, 300, 350];
  const sent = [];
  const open = new Set();
  const { hostname, port } = new URL(server.url);
  const listener = createServer((near) => {
    const far = connect(Number(port), hostname);
    let left = passing.shift() ?? Infinity;
    open.add(near);
    near.on("data", (bytes) => {
      sent.push(bytes.toString());
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      near.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left <= 0) near.end(() => far.destroy());
    });
    for (const socket of [near, far]) socket.on("error", () => socket.destroy());
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  await serving(listener, async (url) => {
    const seen = heard(probes.createClient({ url }).probes.values.counted, { name: "cut" });
    await until("all cuts", () => passing.length === 0 && seen.connection.at(-1) === undefined && seen.results.length === 1);
    open.forEach((near) => near.destroy());
    await client.probes.values.count({ name: "cut" });
    await until("the next result", () => seen.results.length === 2);
    seen.stop();
    assert.deepEqual([seen.results, seen.errors], [[0, 1], []]);
    assert.ok(sent.some((request) => /last-event-id: \d+-[0-9a-f]+/i.test(request)), "it goes on from what was seen");
  });
});

test("events are parsed for any line endings and splits", async () => {
  const text = '\uFEFF: a comment\r\nretry: 10\rid: 9-ü\nevent:results\ndata\ndata: {"results":\r\ndata:[{"query":0,\rdata: "status":"success","value":"ü🦀"}]}\r\n\r\n'
    + `event: unknown\ndata: 1\n\n${result(2, "bad\0id")}event: results\ndata: {"results":[]}\n\nid: 11-d\n\n${result(3, "")}event: results\ndata: {"results":[{"que`;
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, place) => bytes.subarray(place * size, (place + 1) * size));
    const body = new ReadableStream({ start: (controller) => parts.forEach((part) => controller.enqueue(part)) });
    const answer = new Response(body, { headers: { "Content-Type": "text/event-stream; charset=utf-8" } });
    const seen = heard(probes.createClient({ url: "http://localhost", fetch: async () => answer }).probes.values.who, {});
    await until("the last result", () => seen.results.length === 3);
    seen.stop();
    assert.deepEqual([seen.results, seen.errors], [["ü🦀", 2, 3], []], `in parts of ${size}`);
  }
});

test("fetch without streams is an error", async () => {
  const answer = { status: 200, headers: new Headers({ "Content-Type": "text/event-stream" }), text: () => new Promise(() => undefined) };
  const seen = heard(probes.createClient({ url: "http://localhost", fetch: async () => answer }).probes.values.who, {});
  await until("the refusal", () => seen.errors.length === 1);
  assert.deepEqual(seen.errors, [["INVALID_RESPONSE", true]]);
});

test("end event decides about the reconnect", async () => {
  for (const code of ["OVERLOADED", "INTERNAL", "INVALID_CREDENTIALS", "FROM_THE_FUTURE"]) {
    const { asked, listener } = scripted([events(result(1), end(code))]);
    await serving(listener, async (url) => {
      const seen = heard(probes.createClient({ url, token: "t" }).probes.values.who, {});
      await until(code, () => seen.errors.length === 1);
      assert.deepEqual([seen.errors, seen.results], [[[code === "FROM_THE_FUTURE" ? "UNRECOGNIZED_CODE" : code, true]], [1]]);
      assert.equal(asked.length, 1);
    });
  }
  const refusal = (status, body, headers = {}) => async (response) => void response.writeHead(status, headers).end(body);
  const later = JSON.stringify({ status: "error", errorMessage: "Later", errorData: { code: "OVERLOADED" }, logLines: [] });
  const { asked, listener, open } = scripted([
    refusal(503, later, { "Retry-After": "0" }),
    refusal(502, "<h1>Bad gateway</h1>"),
    events(result(1), end("NOT_READY")),
    events(result(1), end("UNAVAILABLE")),
    events(result(2)),
  ]);
  await serving(listener, async (url) => {
    const seen = heard(probes.createClient({ url }).probes.values.who, {});
    await until("what comes after all of it", () => seen.results.length === 2);
    await until("one connection at a time", () => open.size === 1);
    seen.stop();
    await until("the end of the connection that nobody needs", () => open.size === 0);
    assert.deepEqual([seen.results, seen.errors], [[1, 2], []]);
    assert.deepEqual(seen.connection, ["OVERLOADED", "INVALID_RESPONSE", undefined, "NOT_READY", undefined, "UNAVAILABLE", undefined]);
    assert.deepEqual(asked.map((headers) => headers["last-event-id"]), [undefined, undefined, undefined, "7-d", "7-d"]);
  });
  const { listener: page } = scripted([refusal(404, "<h1>Not found</h1>")]);
  await serving(page, async (url) => {
    const seen = heard(probes.createClient({ url }).probes.values.who, {});
    await until("the refusal", () => seen.errors.length === 1);
    assert.deepEqual(seen.errors, [["INVALID_RESPONSE", true]]);
  });
});

test("silent connection is closed and reopened", async (context) => {
  const real = globalThis.setTimeout;
  context.mock.method(globalThis, "setTimeout", (work, ms, ...args) => real(work, ms === 45_000 ? 2_000 : ms, ...args));
  const { listener } = scripted([events(result(1)), async () => undefined, events(result(2))]);
  await serving(listener, async (url) => {
    const seen = heard(probes.createClient({ url }).probes.values.who, {});
    await until("the next result", () => seen.results.length === 2);
    seen.stop();
    assert.deepEqual([seen.results, seen.errors], [[1, 2], []]);
  });
});

test("function error is reported and temporary error is retried", async () => {
  const seen = heard(client.probes.failures.query, { code: "FORBIDDEN", message: "No" });
  await until("the refusal", () => seen.errors.length === 1);
  seen.stop();
  assert.deepEqual(seen.errors, [["FORBIDDEN", false]]);
  const error = await new Promise((resolve) => {
    const stop = client.probes.values.echo.watch({ wide: 0.5 }, () => assert.fail(), { onError: (told) => { stop(); resolve(told); } });
  });
  assert.ok(probes.isConvokeError(error) && error.code === "INVALID_ARGUMENT");
  assert.deepEqual([error.data.field, error.status, error.mayHaveRun, error.path], ["wide", 200, false, "probes/values/echo"]);
  const refusal = 'id: 7-d\nevent: results\ndata: {"results":[{"query":0,"status":"error","errorMessage":"Slowly","errorData":{"code":"RATE_LIMITED","retryAfterMs":1},"logLines":[]}]}\n\n';
  const { asked, listener } = scripted([events(refusal), events(refusal), events(result(5))]);
  await serving(listener, async (url) => {
    const passing = heard(probes.createClient({ url }).probes.values.who, {});
    await until("the result", () => passing.results.length === 1);
    passing.stop();
    assert.deepEqual([passing.errors, passing.results], [[["RATE_LIMITED", false]], [5]], "told once");
    assert.deepEqual(asked.map((headers) => headers["last-event-id"]), [undefined, undefined, undefined]);
  });
});

test("expired token is renewed and a fixed one is an error", async () => {
  const [short, long] = [server.token("ada", "--ttl", "4s"), server.token("ada")];
  const asked = [];
  const renewing = probes.createClient({ url: server.url, token: ({ rejected }) => (asked.push(rejected), asked.length === 1 ? short : long) });
  const seen = heard(renewing.probes.values.who, {});
  const fixed = heard(client.probes.values.who, {}, { token: short });
  await until("the token's end", () => fixed.errors.length === 1 && asked.includes(short));
  assert.deepEqual(fixed.errors, [["INVALID_CREDENTIALS", true]]);
  await until("the new connection", () => seen.results.length === 1 && seen.connection.at(-1) === undefined);
  seen.stop();
  assert.deepEqual([seen.results, seen.errors], [["ada"], []], "nobody's result was never told");
  const stubborn = heard(client.probes.values.who, {}, { token: () => short });
  await until("the same token again", () => stubborn.errors.length === 1);
  assert.deepEqual([stubborn.errors, stubborn.results], [[["INVALID_CREDENTIALS", true]], []]);
  const signedOut = heard(client.probes.values.who, {}, { token: ({ rejected }) => (rejected === undefined ? short : null) });
  await until("no token", () => signedOut.errors.length === 1);
  assert.deepEqual([signedOut.errors, signedOut.results], [[["INVALID_CREDENTIALS", true]], []]);
  let times = 0;
  const unsure = heard(client.probes.values.who, {}, { token: () => ((times += 1) < 3 ? Promise.reject(new Error("offline")) : long) });
  await until("a token in the end", () => unsure.results.length === 1);
  unsure.stop();
  assert.deepEqual([unsure.results, unsure.connection], [["ada"], ["TOKEN_UNAVAILABLE", "TOKEN_UNAVAILABLE", undefined]]);
});

test("removed participant gets an error and readmitted one gets results", async () => {
  const as = (name) => application.createClient({ url: process.env.APPLICATION, token: process.env[name] });
  const [host, guest] = [as("APPLICATION_TOKEN"), as("APPLICATION_GUEST")];
  const { _id: userId } = await guest.users.queries.getCurrentUser();
  const { meetingId } = await host.meetings.lifecycle.createMeeting({ title: "Rights" });
  await host.meetings.lifecycle.addParticipant({ meetingId, userId });
  const seen = heard(guest.meetings.queries.getMeeting, { meetingId });
  await until("the meeting", () => seen.results.length === 1);
  await host.meetings.lifecycle.removeParticipant({ meetingId, userId });
  await until("the refusal", () => seen.errors.length === 1);
  await host.meetings.lifecycle.addParticipant({ meetingId, userId });
  await until("the meeting again", () => seen.results.length === 2);
  seen.stop();
  assert.deepEqual([seen.errors, seen.results.map((meeting) => meeting.title)], [[["FORBIDDEN", false]], ["Rights", "Rights"]]);
});
