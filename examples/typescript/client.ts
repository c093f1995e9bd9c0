// A client of the application in TypeScript: typed calls, and what is told when one fails.
//
//   cargo run -- dev &
//   TOKEN=$(cargo run -q -- token --subject grace --email grace@example.com)
//   npx tsc --target es2022 --module nodenext client.ts && node client.js http://127.0.0.1:3210 "$TOKEN"
//
// The module `./convoke.js` is what `cargo run -- codegen typescript --out examples/typescript/convoke.ts` writes.

import { createClient, isConvokeError, type UsersMutationsSaveOnboarding } from "./convoke.js";

const [, , url, token] = process.argv;
if (url === undefined || token === undefined) throw new Error("usage: client.js URL TOKEN");
const client = createClient({ url, token, timeoutMs: 10_000 });

// With a key a call is repeated safely, also when nobody knows whether the first one arrived.
const about: UsersMutationsSaveOnboarding = {
  age: 39,
  gender: "female",
  field: "Computer science",
  jobTitle: "Rear admiral",
  company: "Navy",
  bio: "I find bugs.",
  interests: [{ id: "compilers", name: "Compilers", category: "academic" }],
  idempotencyKey: "typescript-example-1",
};
const saved = await client.users.mutations.saveOnboarding(about);
console.log(`onboarded ${saved.userId} with ${String(saved.interestsCount)} interest(s)`);

const created = await client.meetings.lifecycle.createMeeting({ title: "Notes on A-0" });
const { content } = await client.notes.queries.getMeetingNotes({ meetingId: created.meetingId });
console.log(`made ${created.meetingId} for ${created.videoProvider}, with ${String(content.length)} characters of notes`);

// A query can be watched: its result, and each later one.
const stop = client.meetings.queries.getMeeting.watch(
  { meetingId: created.meetingId },
  (meeting) => {
    console.log(`it is called ${meeting.title}`);
    if (meeting.title !== "Notes on A-0") stop();
  },
  { onError: (error, ended) => { console.error(error.code, ended ? "and nothing more comes" : "until a commit changes that"); } },
);
await client.meetings.lifecycle.updateMeeting({ meetingId: created.meetingId, title: "Notes on A-2" });

// `.safe` does not reject: its error is typed by its code.
const refused = await client.meetings.lifecycle.createMeeting.safe({ title: " " });
if (!refused.ok && refused.error.code === "INVALID_ARGUMENT") console.log(`refused ${refused.error.data.field}: ${refused.error.message}`);

// A call that is awaited by itself rejects.
try {
  await client.meetings.queries.getMeeting({ meetingId: created.meetingId }, { token: null });
} catch (caught) {
  if (!isConvokeError(caught)) throw caught;
  console.log(`${caught.code} in request ${caught.requestId}`);
}
