// The generated clients against real servers: `PROBES` has functions that fail on purpose, `APPLICATION` is the application.

import assert from "node:assert/strict";
import { createServer, type Server as HttpServer } from "node:http";
import { createServer as createSocketServer, type AddressInfo, type Server } from "node:net";
import { test } from "node:test";

import * as application from "./application.js";
import * as probes from "./probes.js";

function setting(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is set`);
  return value;
}

const url = setting("PROBES");
const token = setting("PROBES_TOKEN");
const client = probes.createClient({ url, token });

/** Returns unique names. */
let names = 0;
function name(): string {
  names += 1;
  return `name-${String(process.pid)}-${String(names)}`;
}

async function failure(of: Promise<probes.Result<unknown>>): Promise<probes.ConvokeError> {
  const result = await of;
  assert.ok(!result.ok, "the call fails");
  return result.error;
}

/** Runs `work` with a separate server. */
async function serving<S extends Server | HttpServer>(server: S, work: (url: string) => Promise<void>): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await work(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
  } finally {
    server.close();
  }
}

test("values round-trip", async () => {
  const text = "Zürich 東京 🦀 \u2028 \"quoted\" \\ é\u0301\u{1F469}\u200D\u{1F680}";
  const echoed = await client.probes.values.echo({ text, number: 0.1, color: "deep-blue", wide: Number.MIN_SAFE_INTEGER, bytes: "AQID", list: [1, 2] });
  assert.deepEqual(echoed, {
    text,
    characters: Array.from(text).length,
    wide: Number.MIN_SAFE_INTEGER,
    number: 0.1,
    backwards: "AwIB",
    color: "deep-blue",
    list: [1, 2],
  });
  // Absent members stay absent: neither undefined nor null.
  assert.deepEqual(Object.keys(await client.probes.values.echo({ text: null, number: undefined })), ["characters", "list"]);
  assert.equal(await client.probes.values.nothing(), null);
  const { constructor: named, toString: asText, valueOf: asValue } = client.probes.names;
  assert.deepEqual(await Promise.all([named(), asText(), asValue()]), ["constructor", "toString", "valueOf"]);
});

test("variants and tuples round-trip", async () => {
  const report = client.probes.events.report;
  const reported = await report({
    event: { type: "moved", to: "Turin" },
    place: [45.07, 7.69],
    earlier: [{ type: "signed", signature: "AQI=", by: null }, { type: "closed" }],
  });
  assert.deepEqual(reported, {
    event: { type: "moved", to: "Turin", hours: 1 },
    place: [45.07, 7.69],
    earlier: [{ type: "signed", signature: "AQI=" }, { type: "closed" }],
  });
  // The tag narrows the type.
  assert.ok(reported.event.type === "moved");
  assert.equal(reported.event.hours + reported.place[0], 46.07);
  const refused = await failure(report.safe({ event: { type: "moved", to: "Rome", hours: 256 }, place: [1, 2] }));
  assert.ok(refused.code === "INVALID_ARGUMENT");
  assert.equal(refused.data.field, "event.hours");
  // @ts-expect-error a member of another variant
  await failure(report.safe({ event: { type: "closed", to: "Rome" }, place: [1, 2] }));
  // @ts-expect-error a pair has two elements
  await failure(report.safe({ event: { type: "closed" }, place: [1] }));
});

test("large result arrives completely", async () => {
  const rows = await client.probes.values.many({ rows: 50_000 });
  assert.equal(rows.length, 50_000);
  assert.deepEqual(rows[49_999], { place: 49_999, text: "49999".padStart(60) });
});

test("token comes from a text or a function, per client or per call", async () => {
  const who = client.probes.values.who;
  assert.equal(await who(), "ada");
  assert.equal(await who({}, { token: null }), null);
  assert.equal(await probes.createClient({ url }).probes.values.who(), null);
  assert.equal(await probes.createClient({ url }).probes.values.who({}, { token: () => Promise.resolve(token) }), "ada");
  assert.equal(await probes.createClient({ url: `${url}//`, token: () => token }).probes.values.who(), "ada");
});

test("rejected token is renewed once", async () => {
  const asked: (string | undefined)[] = [];
  const renewing = probes.createClient({ url, token: ({ rejected }) => (asked.push(rejected), rejected === undefined ? "stale" : token) });
  assert.equal(await renewing.probes.values.who(), "ada");
  assert.deepEqual(asked, [undefined, "stale"]);
  const stubborn = probes.createClient({ url, token: () => "stale" });
  const error = await failure(stubborn.probes.values.who.safe());
  assert.deepEqual([error.code, error.status, error.attempts, error.mayHaveRun], ["INVALID_CREDENTIALS", 401, 1, false]);
  const broken = probes.createClient({ url, token: () => Promise.reject(new Error("the wallet is locked")) });
  const none = await failure(broken.probes.values.who.safe());
  assert.deepEqual([none.code, none.attempts], ["TOKEN_UNAVAILABLE", 0]);
  assert.match(none.message, /the wallet is locked/);
});

test("every error code has its status, message, data and log lines", async () => {
  const codes = [
    ["UNAUTHENTICATED", 200], ["FORBIDDEN", 200], ["NOT_FOUND", 200], ["INVALID_ARGUMENT", 200], ["CONFLICT", 200],
    ["IDEMPOTENCY_KEY_REUSED", 200], ["FAILED_PRECONDITION", 200], ["RATE_LIMITED", 200], ["PROVIDER_ERROR", 200],
    ["TIMEOUT", 200], ["UNAVAILABLE", 200], ["INVALID_JSON", 400], ["INVALID_ENVELOPE", 400], ["UNSUPPORTED_FORMAT", 400],
    ["FUNCTION_NOT_FOUND", 400], ["WRONG_FUNCTION_KIND", 400], ["INVALID_CREDENTIALS", 401], ["INVALID_SIGNATURE", 401],
    ["INSUFFICIENT_SCOPE", 403],
    ["ROUTE_NOT_FOUND", 404], ["METHOD_NOT_ALLOWED", 405], ["REQUEST_TIMEOUT", 408], ["PAYLOAD_TOO_LARGE", 413],
    ["UNSUPPORTED_MEDIA_TYPE", 415], ["TOO_MANY_REQUESTS", 429], ["HEADERS_TOO_LARGE", 431], ["BAD_REQUEST", 400],
    ["INTERNAL", 500], ["COMMIT_UNKNOWN", 500], ["OVERLOADED", 503], ["NOT_READY", 503],
  ] as const satisfies readonly (readonly [probes.ServerErrorCode, number])[];
  type Missing = Exclude<probes.ServerErrorCode, (typeof codes)[number][0]>;
  const complete: [Missing] extends [never] ? true : never = true;
  assert.ok(complete);
  for (const [code, status] of codes) {
    const error = await failure(client.probes.failures.query.safe({ code, message: `About ${code}`, detail: 7 }, { retries: 0 }));
    assert.deepEqual([error.code, error.status, error.data["code"], error.data["detail"]], [code, status, code, 7]);
    assert.equal(error.message, `probes/failures/query: About ${code}`);
    assert.deepEqual(error.logLines, [`[WARN] about to fail with ${code}`]);
    assert.equal(error.mayHaveRun, false, "a query changes nothing");
    if (error.code === "INVALID_ARGUMENT") assert.equal(error.data.field, "list[2].color");
  }
});

test("failed call rejects with the error that .safe returns", async () => {
  const made = client.probes.failures.mutation({ code: "CONFLICT", message: "Taken" });
  await assert.rejects(made, (caught) => {
    assert.ok(probes.isConvokeError(caught) && caught instanceof Error);
    assert.equal(caught.name, "ConvokeError");
    assert.ok(caught.code === "CONFLICT");
    return true;
  });
  assert.ok(!probes.isConvokeError(new Error("another")));
});

test("rejections of the server have distinct codes", async () => {
  const argument = await failure(client.probes.values.echo.safe({ wide: 0.5 }));
  assert.ok(argument.code === "INVALID_ARGUMENT");
  assert.equal(argument.data.field, "wide");
  const large = await failure(client.probes.values.echo.safe({ text: "x".repeat(2_000_000) }));
  assert.ok(["PAYLOAD_TOO_LARGE", "CONNECTION_FAILED"].includes(large.code), large.code);
  const elsewhere = application.createClient({ url, token });
  const unknown = await elsewhere.meetings.lifecycle.createMeeting.safe({ title: "x" });
  assert.ok(!unknown.ok && unknown.error.code === "FUNCTION_NOT_FOUND");
  const secret = await failure(client.probes.values.secret.safe());
  assert.equal(secret.code, "FORBIDDEN");
  const panicked = await failure(client.probes.failures.panicking.safe({ loudly: true }));
  assert.deepEqual([panicked.code, panicked.status, panicked.mayHaveRun, panicked.attempts], ["INTERNAL", 500, false, 1]);
});

test("request id is generated or set by the caller", async () => {
  const own = await client.probes.values.who.safe({}, { requestId: "my.request-1" });
  assert.ok(own.ok);
  assert.equal(own.requestId, "my.request-1");
  const [a, b] = [await client.probes.values.who.safe(), await client.probes.values.who.safe()];
  assert.ok(a.ok && b.ok && a.requestId !== b.requestId);
  assert.match(a.requestId, /^[A-Za-z0-9._-]{16,64}$/);
  const error = await failure(client.probes.failures.query.safe({ code: "NOT_FOUND", message: "" }, { requestId: "my.request-2" }));
  assert.equal(error.requestId, "my.request-2");
});

test("log lines reach their callback", async () => {
  const heard: string[] = [];
  const listening = probes.createClient({ url, onLogLines: (lines, call) => heard.push(call.path, ...lines) });
  const echoed = await listening.probes.values.echo.safe({ text: "x" });
  assert.ok(echoed.ok);
  assert.deepEqual(echoed.logLines, ["[INFO] echo of x"]);
  assert.deepEqual(heard, ["probes/values/echo", "[INFO] echo of x"]);
});

test("safe requests are retried", async () => {
  const { attempts } = client.probes;
  const passing = ["UNAVAILABLE", "OVERLOADED", "TOO_MANY_REQUESTS", "TIMEOUT", "COMMIT_UNKNOWN"].map(async (code) => {
    const flaky = { name: name(), failures: 2, code };
    assert.equal(await attempts.query(flaky), 3, `a query after ${code}`);
    const keyed = { ...flaky, name: name(), idempotencyKey: "k" };
    assert.equal(await attempts.mutation(keyed), 3, `a mutation with a key in its arguments after ${code}`);
    assert.equal(await attempts.mutation({ ...flaky, name: name() }), 3, `a mutation after ${code}`);
  });
  const notRun = ["OVERLOADED", "NOT_READY", "TOO_MANY_REQUESTS"].map(async (code) => {
    assert.equal(await attempts.mutation({ name: name(), failures: 1, code }), 2, code);
  });
  await Promise.all([...passing, ...notRun]);
});

test("unsafe requests are sent once", async () => {
  const { attempts } = client.probes;
  const seen = async (call: (flaky: probes.ProbesAttemptsFlaky) => Promise<probes.Result<unknown>>, code: string, mayHaveRun: boolean): Promise<void> => {
    const flaky = { name: name(), failures: 9, code };
    const error = await failure(call(flaky));
    assert.deepEqual([error.code, error.attempts, error.mayHaveRun], [code, 1, mayHaveRun]);
    assert.equal(await attempts.seen({ name: flaky.name }), 1, code);
  };
  // An action may have run partly.
  await seen((flaky) => attempts.action.safe(flaky), "UNAVAILABLE", true);
  await seen((flaky) => attempts.action.safe(flaky), "PROVIDER_ERROR", true);
  // A retry does not help.
  await seen((flaky) => attempts.mutation.safe({ ...flaky, idempotencyKey: "k" }), "CONFLICT", false);
  await seen((flaky) => attempts.query.safe(flaky), "INTERNAL", false);
});

test("overloaded action may have run", async () => {
  const flaky = { name: name(), failures: 9, code: "OVERLOADED" };
  const error = await failure(client.probes.attempts.action.safe(flaky));
  assert.deepEqual([error.code, error.attempts, error.mayHaveRun], ["UNAVAILABLE", 1, true]);
});

test("retries are bounded and follow the retry time of the server", async () => {
  const flaky = { name: name(), failures: 99, code: "OVERLOADED" };
  const began = Date.now();
  const error = await failure(client.probes.attempts.query.safe(flaky, { retries: 1 }));
  assert.deepEqual([error.code, error.attempts], ["OVERLOADED", 2]);
  assert.ok(Date.now() - began >= 1000, "Retry-After: 1");
  // The retry time exceeds the timeout, so the call fails immediately.
  const later: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const headers = new Headers(answer.headers);
    headers.set("Retry-After", "600");
    return new Response(answer.body, { status: answer.status, headers });
  };
  const hurried = await failure(probes.createClient({ url, token, fetch: later }).probes.attempts.query.safe({ ...flaky, name: name() }, { timeoutMs: 300_000 }));
  assert.deepEqual([hurried.code, hurried.attempts], ["OVERLOADED", 1]);
});

test("mutation with a key runs once and replays its result", async () => {
  const idempotencyKey = name();
  const first = await client.probes.ledger.add({ amount: 5, idempotencyKey });
  assert.deepEqual(await client.probes.ledger.add({ amount: 5, idempotencyKey }), first);
  const reused = await failure(client.probes.ledger.add.safe({ amount: 6, idempotencyKey }));
  assert.equal(reused.code, "IDEMPOTENCY_KEY_REUSED");
});

test("pages are read to the end", async () => {
  const added = [];
  for (let amount = 0; amount < 12; amount += 1) added.push((await client.probes.ledger.add({ amount })).entryId);
  const ids: probes.EntryId[] = [];
  let cursor: string | undefined;
  do {
    const page: probes.PageOfEntriesRow = await client.probes.ledger.list({ cursor });
    ids.push(...page.items.map((row) => row._id));
    cursor = page.cursor;
  } while (cursor !== undefined);
  assert.ok(added.every((id) => ids.includes(id)));
});

test("timed-out call may have run", async () => {
  // The action ends long after the timeout, even if the request arrives late.
  const slow = { name: name(), ms: 60_000 };
  const began = Date.now();
  const error = await failure(client.probes.attempts.slow.safe(slow, { timeoutMs: 1_000 }));
  assert.deepEqual([error.code, error.mayHaveRun], ["CLIENT_TIMEOUT", true]);
  assert.ok(Date.now() - began < slow.ms);
  let seen = 0;
  for (const end = Date.now() + 60_000; seen === 0 && Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 20))) {
    seen = await client.probes.attempts.seen({ name: slow.name });
  }
  assert.equal(seen, 1);
});

test("call can be aborted before, during and between attempts", async () => {
  const controller = new AbortController();
  const slow = { name: name(), ms: 60_000 };
  setTimeout(() => { controller.abort(new Error("gone")); }, 200);
  const error = await failure(client.probes.attempts.slow.safe(slow, { signal: controller.signal }));
  assert.deepEqual([error.code, error.mayHaveRun, (error.cause as Error).message], ["ABORTED", true, "gone"]);
  const early = await failure(client.probes.attempts.slow.safe({ ...slow, name: name() }, { signal: controller.signal }));
  assert.deepEqual([early.code, early.mayHaveRun, early.attempts], ["ABORTED", false, 0]);
  const waiting = new AbortController();
  // Aborts after the complete response, and well before the next attempt, which comes after a second.
  const answered: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    const text = await answer.text();
    setTimeout(() => { waiting.abort(); }, 100);
    return new Response(text, { status: answer.status, headers: answer.headers });
  };
  const flaky = { name: name(), failures: 99, code: "OVERLOADED" };
  const between = await failure(probes.createClient({ url, token, fetch: answered }).probes.attempts.mutation.safe(flaky, { signal: waiting.signal }));
  assert.deepEqual([between.code, between.mayHaveRun, between.attempts], ["ABORTED", false, 1]);
  const asking = probes.createClient({ url, token: () => new Promise<string>(() => { /* never */ }) });
  const stuck = await failure(asking.probes.ledger.add.safe({ amount: 1 }, { timeoutMs: 100 }));
  assert.deepEqual([stuck.code, stuck.mayHaveRun], ["CLIENT_TIMEOUT", false]);
});

test("unreachable server is a connection failure", async () => {
  // Nothing listens on this port, and the system gives it to no other process.
  const error = await failure(probes.createClient({ url: "http://127.0.0.1:2" }).probes.ledger.add.safe({ amount: 1 }, { retries: 2 }));
  assert.deepEqual([error.code, error.mayHaveRun, error.attempts, error.status], ["CONNECTION_FAILED", false, 3, undefined]);
  assert.match(error.message, /ECONNREFUSED/);
});

test("call on a broken connection may have run", async () => {
  let requests = 0;
  const server = createSocketServer((socket) => {
    socket.once("data", () => {
      requests += 1;
      socket.destroy();
    });
  });
  await serving(server, async (url) => {
    const there = probes.createClient({ url });
    const once = await failure(there.probes.attempts.slow.safe({ name: name(), ms: 0 }));
    assert.deepEqual([once.code, once.mayHaveRun, requests], ["CONNECTION_FAILED", true, 1]);
    const query = await failure(there.probes.values.who.safe({}, { retries: 1 }));
    assert.deepEqual([query.mayHaveRun, query.attempts, requests], [false, 2, 3]);
    const repeated = await failure(there.probes.ledger.add.safe({ amount: 1 }, { retries: 1 }));
    assert.deepEqual([repeated.mayHaveRun, repeated.attempts, requests], [true, 2, 5]);
  });
});

test("mutation with a lost response runs once", async () => {
  // Requests reach the server, but the first responses are lost.
  let lost = 0;
  const forgetful: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    if (lost < 2) {
      lost += 1;
      throw new TypeError("the answer is lost");
    }
    return answer;
  };
  const there = probes.createClient({ url, token, fetch: forgetful });
  const amount = 1_000_000 + Math.floor(Math.random() * 1_000_000);
  const before = await client.probes.ledger.add({ amount });
  const added = await there.probes.ledger.add({ amount });
  assert.equal(lost, 2);
  assert.equal(added.total, before.total + amount);
  // An explicit key is valid across calls.
  const keyed = { idempotencyKey: name() };
  const first = await client.probes.ledger.add({ amount }, keyed);
  assert.deepEqual(await client.probes.ledger.add({ amount }, keyed), first);
  const reused = await failure(client.probes.ledger.add.safe({ amount: 1 }, keyed));
  assert.equal(reused.code, "IDEMPOTENCY_KEY_REUSED");
});

test("foreign or newer server is reported", async () => {
  const answers: [number, string][] = [
    [502, "<h1>Bad gateway</h1>"],
    [200, "[]"],
    [200, '{"status":"success"}'],
    [200, '{"status":"error","errorMessage":"New","errorData":{"code":"FROM_THE_FUTURE"},"logLines":[]}'],
    [200, '{"status":"error","errorMessage":"Proto","errorData":{"code":"toString"},"logLines":[]}'],
  ];
  let place = 0;
  const server = createServer((_, response) => {
    const [status, body] = answers[place] ?? [500, ""];
    response.writeHead(status).end(body);
  });
  await serving(server, async (url) => {
    const there = probes.createClient({ url, retries: 0 });
    const codes: unknown[] = [];
    for (place = 0; place < answers.length; place += 1) {
      const error = await failure(there.probes.ledger.add.safe({ amount: 1 }));
      codes.push([error.code, error.mayHaveRun, error.data["code"]]);
    }
    assert.deepEqual(codes, [
      ["INVALID_RESPONSE", true, undefined],
      ["INVALID_RESPONSE", true, undefined],
      ["INVALID_RESPONSE", true, undefined],
      ["UNRECOGNIZED_CODE", false, "FROM_THE_FUTURE"],
      ["UNRECOGNIZED_CODE", false, "toString"],
    ]);
  });
});

test("application is callable by its client", async () => {
  const there = application.createClient({ url: setting("APPLICATION"), token: setting("APPLICATION_TOKEN") });
  const account = await there.users.queries.getCurrentUser();
  assert.deepEqual([account.email, account.emailVerified, account.onboardingComplete], ["ada@example.com", true, false]);
  const { meetingId } = await there.meetings.lifecycle.createMeeting({ title: "Ünïcode 🦀", idempotencyKey: name() });
  const meeting = await there.meetings.queries.getMeeting({ meetingId });
  assert.deepEqual([meeting.title, meeting.userRole], ["Ünïcode 🦀", "host"]);
  const listed = await there.meetings.queries.listUserMeetings({ limit: 1 });
  assert.deepEqual(listed.items.map((one) => one._id), [meetingId]);
  const refused = await there.meetings.lifecycle.createMeeting.safe({ title: "" });
  assert.ok(!refused.ok && refused.error.code === "INVALID_ARGUMENT" && refused.error.data.field === "title");
});
