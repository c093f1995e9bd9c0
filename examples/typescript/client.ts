// A TypeScript client of the application: typed calls and typed errors.
//
//   cargo run -- dev &
//   TOKEN=$(cargo run -q -- token --subject grace --email grace@example.com)
//   npx tsc --target es2022 --module nodenext client.ts && node client.js http://127.0.0.1:3210 "$TOKEN"
//
// `cargo run -- codegen typescript --out examples/typescript/convoke.ts` writes the module `./convoke.js`.

import { createClient, isConvokeError, type UsersMutationsSaveOnboarding } from "./convoke.js";

const [, , url, token] = process.argv;
if (url === undefined || token === undefined) throw new Error("usage: client.js URL TOKEN");
const client = createClient({ url, token, timeoutMs: 10_000 });

// With a key, a retry is safe even if the first call has run.
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

// A query can be watched: the callback gets its result, and each later result.
const stop = client.meetings.queries.getMeeting.watch(
  { meetingId: created.meetingId },
  (meeting) => {
    console.log(`the title is ${meeting.title}`);
    if (meeting.title !== "Notes on A-0") stop();
  },
  { onError: (error, ended) => { console.error(error.code, ended ? "the watch has ended" : "the next commit may fix it"); } },
);
await client.meetings.lifecycle.updateMeeting({ meetingId: created.meetingId, title: "Notes on A-2" });

// `.safe` does not reject: its error is typed by its code.
const refused = await client.meetings.lifecycle.createMeeting.safe({ title: " " });
if (!refused.ok && refused.error.code === "INVALID_ARGUMENT") console.log(`rejected ${refused.error.data.field}: ${refused.error.message}`);

// Without `.safe`, a failed call rejects its promise.
try {
  await client.meetings.queries.getMeeting({ meetingId: created.meetingId }, { token: null });
} catch (caught) {
  if (!isConvokeError(caught)) throw caught;
  console.log(`${caught.code} in request ${caught.requestId}`);
}
