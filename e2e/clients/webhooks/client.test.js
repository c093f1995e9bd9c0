// The libraries of the senders sign events, and the server accepts them: one row per event, however often it is sent.
// `SHOP` is the address of the shop of the examples and `APPLICATION` that of the application, with the user `TOKEN`;
// `LIVEKIT_KEY` and `LIVEKIT_SECRET` are the key of its media server. The other secrets are those of the shop.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import { sign } from "@octokit/webhooks-methods";
import ICAL from "ical.js";
import { AccessToken } from "livekit-server-sdk";
import ical from "node-ical";
import { Webhook as StandardWebhook } from "standardwebhooks";
import Stripe from "stripe";
import { Webhook as SvixWebhook } from "svix";

const { SHOP, APPLICATION, TOKEN, LIVEKIT_KEY, LIVEKIT_SECRET } = process.env;
const { PAYMENTS_SECRET, STRIPE_SECRET, GITHUB_SECRET, PARTNER_SECRET } = process.env;

const DELIVERIES = 100;
const CONNECTIONS = 32;

async function call(origin, path, args, token) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(`${origin}/api/run/${path}`, { method: "POST", headers, body: JSON.stringify({ args }) });
  const { status, value, errorMessage } = await response.json();
  assert.equal(status, "success", errorMessage);
  return value;
}

const post = (origin, path, headers, body) =>
  fetch(origin + path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });

/** Delivers one event many times at once, and returns the responses. */
async function deliver(path, request) {
  const responses = [];
  let begun = 0;
  const worker = async () => {
    while (begun++ < DELIVERIES) {
      const { headers, body } = await request();
      const response = await post(SHOP, path, headers, body);
      await response.arrayBuffer();
      responses.push(response);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  return responses;
}

/** Checks that an event counts once, and that a changed body is not accepted. */
async function once(path, order, request) {
  const responses = await deliver(path, request);
  assert.equal(responses.length, DELIVERIES);
  assert.deepEqual([...new Set(responses.map((response) => response.status))], [204]);
  const replayed = responses.filter((response) => response.headers.get("idempotency-replayed") === "true");
  assert.equal(replayed.length, DELIVERIES - 1);
  assert.equal(await call(SHOP, "payments/count", { order }), 1);
  const { headers, body } = await request();
  const changed = await post(SHOP, path, headers, body.replace(order, "another"));
  assert.equal(changed.status, 401);
  assert.equal((await changed.json()).errorData.code, "INVALID_SIGNATURE");
}

const standard = (webhook, id, order) => () => {
  const [body, at] = [JSON.stringify({ order, cents: 7 }), new Date()];
  const signature = webhook.sign(id, at, body);
  const seconds = String(Math.floor(at.getTime() / 1000));
  return { body, headers: { "webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": signature } };
};

test("standardwebhooks", () =>
  once("/hooks/payments", "standard", standard(new StandardWebhook(PAYMENTS_SECRET), "msg_1", "standard")));

test("svix", () => once("/hooks/payments", "svix", standard(new SvixWebhook(PAYMENTS_SECRET), "msg_2", "svix")));

test("a timestamp of ten minutes ago is not accepted", async () => {
  const [body, at] = [JSON.stringify({ order: "old", cents: 7 }), new Date(Date.now() - 600_000)];
  const headers = {
    "webhook-id": "msg_3",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new StandardWebhook(PAYMENTS_SECRET).sign("msg_3", at, body),
  };
  assert.equal((await post(SHOP, "/hooks/payments", headers, body)).status, 401);
});

test("stripe", () =>
  once("/hooks/stripe", "stripe", () => {
    const body = JSON.stringify({ id: "evt_1", object: "event", order: "stripe" });
    const header = new Stripe("sk_test_x").webhooks.generateTestHeaderString({ payload: body, secret: STRIPE_SECRET });
    return { body, headers: { "stripe-signature": header } };
  }));

test("@octokit/webhooks-methods", () =>
  once("/hooks/github", "github", async () => {
    const body = JSON.stringify({ action: "opened", order: "github" });
    const headers = { "x-hub-signature-256": await sign(GITHUB_SECRET, body), "x-github-delivery": "72d3162e" };
    return { body, headers };
  }));

test("a bare HMAC", () =>
  once("/hooks/partner", "partner", () => {
    const body = JSON.stringify({ id: 7, order: "partner" });
    return { body, headers: { "x-signature": createHmac("sha256", PARTNER_SECRET).update(body).digest("base64") } };
  }));

/** Signs an event as LiveKit's server does, with LiveKit's library. */
async function livekit(event, secret = LIVEKIT_SECRET) {
  const body = JSON.stringify(event);
  const token = new AccessToken(LIVEKIT_KEY, secret, { ttl: 300 });
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body));
  token.sha256 = Buffer.from(digest).toString("base64");
  const headers = { authorization: await token.toJwt(), "content-type": "application/webhook+json" };
  return post(APPLICATION, "/hooks/livekit", headers, body);
}

test("livekit-server-sdk", async () => {
  const meeting = await call(
    APPLICATION,
    "meetings/lifecycle/createMeeting",
    { title: "Media", recordingEnabled: true, meetingType: "large-meeting" },
    TOKEN,
  );
  const { meetingId } = meeting;
  const grant = await call(
    APPLICATION,
    "meetings/webrtc/rooms/generateParticipantAccessToken",
    { meetingId, sessionId: "tab-1" },
    TOKEN,
  );
  const listed = async () => {
    const [one] = await call(APPLICATION, "meetings/queries/listMeetingParticipants", { meetingId }, TOKEN);
    return [one.presence, one.webrtcConnected, one.webrtcSessionCount];
  };
  const event = (id, kind) => ({
    event: kind,
    id,
    createdAt: String(Math.floor(Date.now() / 1000)),
    room: { name: grant.roomId, sid: "RM_1" },
    participant: { identity: grant.participantId, sid: "PA_1", state: "ACTIVE" },
  });
  const joined = await Promise.all(Array.from({ length: DELIVERIES }, () => livekit(event("EV_1", "participant_joined"))));
  assert.deepEqual([...new Set(joined.map((response) => response.status))], [204]);
  assert.deepEqual(await listed(), ["joined", true, 1]);
  assert.equal((await livekit(event("EV_2", "participant_left"))).status, 204);
  assert.deepEqual(await listed(), ["left", false, 0]);
  assert.equal((await livekit(event("EV_3", "track_published"))).status, 204);
  assert.equal((await livekit(event("EV_4", "room_finished"), "another secret of the same length, more or less")).status, 401);
});

test("calendar programs read the calendar", async () => {
  const scheduledAt = (Math.floor(Date.now() / 1000) + 7 * 86_400) * 1000;
  await call(
    APPLICATION,
    "meetings/lifecycle/createMeeting",
    { title: "Plans; breaks, and äöü", description: "One\nTwo ".repeat(20), scheduledAt, duration: 1_800_000 },
    TOKEN,
  );
  const { url } = await call(APPLICATION, "users/mutations/createCalendarLink", {}, TOKEN);
  const response = await fetch(new URL(url, APPLICATION));
  assert.equal(response.headers.get("content-type"), "text/calendar; charset=utf-8");
  const text = await response.text();
  const events = new ICAL.Component(ICAL.parse(text)).getAllSubcomponents("vevent").map((one) => new ICAL.Event(one));
  const plans = events.find((one) => one.summary === "Plans; breaks, and äöü");
  assert.equal(plans.startDate.toJSDate().getTime(), scheduledAt);
  assert.equal(plans.endDate.toJSDate().getTime(), scheduledAt + 1_800_000);
  assert.equal(plans.description, "One\nTwo ".repeat(20));
  const other = Object.values(ical.sync.parseICS(text)).find((one) => one.uid === plans.uid);
  assert.equal(other.summary, plans.summary);
  assert.equal(other.start.getTime(), scheduledAt);
  assert.equal(await call(APPLICATION, "users/mutations/revokeCalendarLink", {}, TOKEN), null);
  assert.equal((await fetch(new URL(url, APPLICATION))).status, 404);
});
