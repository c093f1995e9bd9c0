// Checks against a real server that values of npm's `convex` match the types of the references.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ConvexHttpClient } from "convex/browser";

import { api, refusalOf } from "./probes-api.js";

const { failures, values } = api.probes;
const client = new ConvexHttpClient(process.env["PROBES"] ?? "", { skipConvexDeploymentUrlCheck: true, logger: false });

test("values match their types", async () => {
  const wide = (1n << 62n) + 1n;
  const echoed = await client.query(values.echo, { wide, list: [7, wide], bytes: new Uint8Array([1, 2, 3]).buffer, number: 0.5, color: "red" });
  assert.equal(echoed.wide, wide);
  assert.deepEqual(echoed.list, [7, wide]);
  assert.ok(echoed.backwards instanceof ArrayBuffer);
  assert.deepEqual([...new Uint8Array(echoed.backwards)], [3, 2, 1]);
  assert.deepEqual([echoed.number, echoed.color, echoed.characters], [0.5, "red", 0]);
  assert.equal((await client.query(values.echo, { wide: 7 })).wide, 7);
});

test("function errors differ from other errors", async () => {
  const caught: unknown = await client.query(failures.query, { code: "INVALID_ARGUMENT", message: "So it is", detail: 7 }).catch((error: unknown) => error);
  const refusal = refusalOf(caught);
  assert.deepEqual([refusal?.code, refusal?.field, refusal?.["detail"]], ["INVALID_ARGUMENT", "list[2].color", 7]);
  assert.equal(refusal?.message, "So it is");
  assert.equal(refusalOf(new Error("another")), undefined);
});
