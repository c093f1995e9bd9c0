// npm's client of the Model Context Protocol, which begins with a handshake, over HTTP and over standard input.
// `URL` and `TOKEN` are those of the application, `BINARY` its program, `DATA` its data folder.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { APPLICATION, APPLICATION_TOKEN, BINARY, DATA } = process.env;

const opened = [];
after(() => Promise.all(opened.map((client) => client.close())));

async function connected(transport) {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  opened.push(client);
  return client;
}

const overHttp = (token) =>
  connected(
    new StreamableHTTPClientTransport(new URL("/mcp", APPLICATION), {
      requestInit: token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
    }),
  );

const overPipe = (...flags) =>
  connected(new StdioClientTransport({ command: BINARY, args: ["mcp", ...flags], cwd: DATA, stderr: "inherit" }));

/** Calls a tool, and returns the JSON of its text. */
async function value(client, name, args, meta) {
  const result = await client.callTool({ name, arguments: args, _meta: meta });
  assert.ok(!result.isError, JSON.stringify(result));
  return JSON.parse(result.content[0].text);
}

async function failure(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError, true, JSON.stringify(result));
  return result.content[0].text;
}

let ada;
before(async () => {
  ada = await overHttp(APPLICATION_TOKEN);
});

test("tools are listed with schemas, and a call runs as the user of the token", async () => {
  assert.equal(ada.getServerCapabilities().tools !== undefined, true);
  const { tools } = await ada.listTools();
  const created = tools.find((tool) => tool.name === "meetings_lifecycle_createMeeting");
  assert.deepEqual(created.inputSchema.required, ["title"]);
  assert.equal(created.outputSchema.type, "object");
  // The client checks each structured result against the schema that the list has.
  const { meetingId } = await value(ada, created.name, { title: "Stand-up" });
  const { items } = await value(ada, "meetings_queries_listUserMeetings", {});
  assert.ok(items.some((meeting) => meeting._id === meetingId));
  const result = await ada.callTool({ name: "meetings_queries_getMeeting", arguments: { meetingId } });
  assert.equal(result.structuredContent.title, "Stand-up");
  for (const name of ["meetings_queries_listMeetingParticipants", "insights_queries_getMeetingInsights"]) {
    await value(ada, name, { meetingId });
  }
});

test("an error of a function is a result, and an unknown tool is an error of the protocol", async () => {
  const anonymous = await overHttp(undefined);
  assert.match(await failure(anonymous, "users_queries_getCurrentUser", {}), /^UNAUTHENTICATED: /);
  assert.match(await failure(ada, "meetings_lifecycle_createMeeting", { titel: "x" }), /^INVALID_ARGUMENT: .*titel/);
  await assert.rejects(ada.callTool({ name: "users_identity", arguments: {} }), /Unknown tool/);
  await assert.rejects(overHttp("not.a.token"), /401|INVALID_CREDENTIALS|Unauthorized/);
});

test("a call with an idempotency key has its effect once", async () => {
  const meta = { "convoke/idempotencyKey": "agent-1" };
  const first = await value(ada, "meetings_lifecycle_createMeeting", { title: "Once" }, meta);
  assert.deepEqual(await value(ada, "meetings_lifecycle_createMeeting", { title: "Once" }, meta), first);
});

test("a coding agent reads by standard input, beside the running server", async () => {
  const agent = await overPipe();
  const { tools } = await agent.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["functions", "run", "logs", "data", "schema", "doctor", "docs"]);
  assert.ok(tools.every((tool) => tool.annotations.readOnlyHint));
  const { functions } = await value(agent, "functions", { path: "meetings/lifecycle/" });
  assert.ok(functions.some((one) => one.path === "meetings/lifecycle/createMeeting" && one.tool));
  const about = await value(agent, "functions", { path: "meetings/lifecycle/createMeeting" });
  assert.deepEqual(about.inputSchema.required, ["title"]);
  const run = { path: "users/queries/getCurrentUser", args: {}, as: "ada" };
  assert.match((await value(agent, "run", run)).value._id, /^user_/);
  assert.match(await failure(agent, "run", { ...run, as: "stranger" }), /^NOT_FOUND: /);
  assert.match(await failure(agent, "run", { ...run, as: "stranger", create: true }), /--write/);
  const create = { path: "meetings/lifecycle/createMeeting", args: { title: "By an agent" }, as: "ada" };
  assert.match(await failure(agent, "run", create), /^WRONG_FUNCTION_KIND: /);
  const { calls } = await value(agent, "logs", { function: "meetings/", last: 5 });
  assert.equal(calls.length, 5);
  const { tables } = await value(agent, "data", {});
  assert.ok(tables.some((table) => table.name === "meetings" && table.rows > 0));
  const { rows } = await value(agent, "data", { table: "meetings", limit: 1, where: ["title=Stand-up"] });
  assert.equal(rows[0].title, "Stand-up");
  assert.equal((await value(agent, "schema", {})).state, "open");
  assert.ok((await value(agent, "doctor", {})).findings.some((finding) => finding.subject === "server"));
  const { sections } = await value(agent, "docs", { query: "declare an index of a table" });
  assert.equal(sections[0].title, "Tables");
  assert.match(await failure(agent, "data", { tabel: "x" }), /^INVALID_ARGUMENT: .*tabel/);
});

test("with --write, a coding agent calls mutations", async () => {
  const agent = await overPipe("--write");
  const create = { path: "meetings/lifecycle/createMeeting", args: { title: "By an agent" }, as: "ada" };
  assert.match((await value(agent, "run", create)).value.meetingId, /^meeting_/);
});
