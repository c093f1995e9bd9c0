// Compile tests: TypeScript must reject each line with `@ts-expect-error`.

import type {
  Client,
  ConvokeError,
  Gender,
  MeetingsCreationMeetingCreated,
  MeetingId,
  UsersQueriesOwnAccount,
  MeetingsQueriesOwnMeeting,
  Result,
  UsersMutationsSaveOnboarding,
  UserId,
} from "./application.js";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<T extends true>(_: T): void {
  return;
}

export async function misuse(client: Client, user: UserId, onboarding: UsersMutationsSaveOnboarding): Promise<void> {
  // Arguments: missing, unknown, of another type, of another list.
  // @ts-expect-error a title is required
  await client.meetings.lifecycle.createMeeting({});
  // @ts-expect-error arguments are required
  await client.meetings.lifecycle.createMeeting();
  // @ts-expect-error unknown argument
  await client.meetings.lifecycle.createMeeting({ title: "a", colour: "red" });
  // @ts-expect-error a number is not a text
  await client.meetings.lifecycle.createMeeting({ title: 7 });
  // @ts-expect-error not a value of the enum
  await client.users.mutations.saveOnboarding({ ...onboarding, gender: "robot" });
  // @ts-expect-error the function takes no arguments
  await client.users.queries.getCurrentUser({ userId: user });
  // @ts-expect-error an id of another table
  await client.meetings.queries.getMeeting({ meetingId: user });
  // @ts-expect-error unknown function
  await client.meetings.lifecycle.makeMeeting({ title: "a" });
  // @ts-expect-error internal functions are in no client
  await client.notes.drain();
  // @ts-expect-error unknown option
  await client.users.queries.getCurrentUser({}, { patience: 7 });

  // Valid: a plain string is an id, and optional arguments may be absent, null or undefined.
  await client.meetings.queries.getMeeting({ meetingId: "meeting_01h455vb4pex5vsknk084sn02q" });
  await client.users.mutations.saveOnboarding({ ...onboarding, linkedinUrl: null, idempotencyKey: undefined });
  await client.users.queries.getCurrentUser();
  await client.users.queries.getCurrentUser({}, { signal: undefined, timeoutMs: 5 });

  // Results.
  const created = await client.meetings.lifecycle.createMeeting({ title: "a" });
  same<Equal<typeof created, MeetingsCreationMeetingCreated>>(true);
  same<Equal<typeof created.meetingId, MeetingId>>(true);
  const account = await client.users.queries.getCurrentUser();
  same<Equal<typeof account, UsersQueriesOwnAccount>>(true);
  // An absent member is undefined, never null.
  same<Equal<typeof account.email, string | undefined>>(true);
  const profile = await client.profiles.queries.getCurrentUserProfile();
  // @ts-expect-error the member may be absent
  void profile.bio;
  // @ts-expect-error unknown member of a result
  void created.title;
  same<Equal<Gender, "male" | "female" | "non-binary" | "prefer-not-to-say">>(true);

  // Only queries can be watched.
  const stop = client.meetings.queries.getMeeting.watch({ meetingId: created.meetingId }, (meeting) => {
    same<Equal<typeof meeting, MeetingsQueriesOwnMeeting>>(true);
  }, { onError: (error, ended) => { same<Equal<[typeof error, typeof ended], [ConvokeError, boolean]>>(true); } });
  same<Equal<typeof stop, () => void>>(true);
  client.users.queries.getCurrentUser.watch({}, () => undefined);
  // @ts-expect-error an id of another table
  client.meetings.queries.getMeeting.watch({ meetingId: user }, () => undefined);
  // @ts-expect-error the callback is required
  client.users.queries.getCurrentUser.watch({});
  // @ts-expect-error a mutation cannot be watched
  client.meetings.lifecycle.createMeeting.watch({ title: "a" }, () => undefined);

  // Results that do not reject.
  const looked = await client.users.queries.getCurrentUser.safe();
  same<Equal<typeof looked, Result<UsersQueriesOwnAccount>>>(true);
  // @ts-expect-error an error has no value
  void looked.value;
  if (looked.ok) same<Equal<typeof looked.value, UsersQueriesOwnAccount>>(true);
  else same<Equal<typeof looked.error, ConvokeError>>(true);
}

// Errors: the code determines the type of the data, and the codes are exhaustive.
export function told(error: ConvokeError): string {
  switch (error.code) {
    case "INVALID_ARGUMENT":
      same<Equal<typeof error.data.field, string>>(true);
      return error.data.field;
    case "FUNCTION_NOT_FOUND":
      return error.data.nearest ?? "";
    case "NOT_FOUND":
      // @ts-expect-error only an invalid argument always has a field
      return error.data.field satisfies string;
    // @ts-expect-error unknown code
    case "NOT_THERE":
      return "";
    default:
      // @ts-expect-error the codes above are excluded here
      void (error.code === "INVALID_ARGUMENT");
      return error.message;
  }
}
