// Uploads with `fetch`, as front ends of Convex do, and with tus-js-client; reads with curl and `fetch`.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import test from "node:test";
import { ConvexHttpClient } from "convex/browser";
import * as tus from "tus-js-client";

const { APPLICATION, APPLICATION_TOKEN } = process.env;

const client = new ConvexHttpClient(APPLICATION, { skipConvexDeploymentUrlCheck: true });
client.setAuth(APPLICATION_TOKEN);
const { meetingId } = await client.mutation("meetings/lifecycle:createMeeting", { title: "Files" });

const begin = async () => (await client.mutation("meetings/attachments:beginUpload", { meetingId })).url;
const add = (upload, name) => client.mutation("meetings/attachments:add", { meetingId, upload, name });
const shown = async (id) => (await client.query("meetings/attachments:list", { meetingId })).find((one) => one._id === id);
const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");

test("the pattern of generateUploadUrl works unchanged", async () => {
  const bytes = randomBytes(300_000);
  const response = await fetch(await begin(), { method: "POST", headers: { "Content-Type": "image/png" }, body: bytes });
  assert.equal(response.status, 200);
  const { storageId } = await response.json();
  const { url, size, contentType } = await shown(await add(storageId, "noise.bin"));
  assert.deepEqual([size, contentType], [bytes.length, "application/octet-stream"]);
  const read = await fetch(url);
  assert.equal(hash(Buffer.from(await read.arrayBuffer())), hash(bytes));
  assert.equal(read.headers.get("etag"), `"${hash(bytes)}"`);
});

test("curl reads a range and continues a download", async () => {
  const bytes = randomBytes(1_000_000);
  const { storageId } = await (await fetch(await begin(), { method: "POST", body: bytes })).json();
  const { url } = await shown(await add(storageId, "range.bin"));
  const curl = (...args) => execFileSync("curl", ["-sS", "--fail", ...args, url], { maxBuffer: 1 << 24 });
  assert.deepEqual(curl("--range", "500-999"), bytes.subarray(500, 1000));
  assert.deepEqual(curl("--range", "-200000"), bytes.subarray(-200_000));
  assert.deepEqual(curl("--continue-at", "999000"), bytes.subarray(999_000));
});

/** Uploads with tus; `options` are further ones. Returns the id of the upload. */
const uploaded = (bytes, options) =>
  new Promise((resolve, reject) => {
    let storageId;
    const upload = new tus.Upload(bytes, {
      retryDelays: [0, 100],
      chunkSize: 200_000,
      onAfterResponse: (_, response) => (storageId = response.getHeader("X-Convoke-Storage-Id") ?? storageId),
      onError: reject,
      onSuccess: () => resolve(storageId),
      ...options,
    });
    upload.start();
  });

test("tus-js-client uploads in parts", async () => {
  const bytes = randomBytes(900_001);
  const storageId = await uploaded(bytes, { endpoint: await begin() });
  assert.equal((await shown(await add(storageId, "parts.bin"))).size, bytes.length);
});

test("tus-js-client continues an interrupted upload", async () => {
  const bytes = randomBytes(900_001);
  const endpoint = await begin();
  const fields = { "Tus-Resumable": "1.0.0" };
  await fetch(endpoint, { method: "POST", headers: { ...fields, "Upload-Length": String(bytes.length) } });
  const part = { ...fields, "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream" };
  assert.equal((await fetch(endpoint, { method: "PATCH", headers: part, body: bytes.subarray(0, 123_456) })).status, 204);
  let asked = 0;
  const onBeforeRequest = (request) => (asked += request.getMethod() === "HEAD" ? 1 : 0);
  const storageId = await uploaded(bytes, { uploadUrl: endpoint, onBeforeRequest });
  const { url } = await shown(await add(storageId, "continued.bin"));
  assert.equal(asked, 1);
  assert.equal(hash(Buffer.from(await (await fetch(url)).arrayBuffer())), hash(bytes));
});
