// Compile tests of references with the hooks of npm's `convex/react`.

import { useAction, useMutation, usePaginatedQuery, useQuery } from "convex/react";
import type { FunctionArgs, FunctionReturnType } from "convex/server";

import { api as application, type MeetingsCreationMeetingCreated, type MeetingId, type MeetingsQueriesOwnMeeting, type UserId } from "./application-api.js";
import { api as probes, type ProbesValuesEchoed, type EntriesRow } from "./probes-api.js";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<T extends true>(_: T): void {
  return;
}

export async function Page(meetingId: MeetingId, user: UserId): Promise<void> {
  const meeting = useQuery(application.meetings.queries.getMeeting, { meetingId });
  same<Equal<typeof meeting, MeetingsQueriesOwnMeeting | undefined>>(true);
  useQuery(application.meetings.queries.getMeeting, "skip");
  useQuery(application.meetings.queries.listUserMeetings, {});
  useQuery(application.users.queries.getCurrentUser);
  // @ts-expect-error arguments are required
  useQuery(application.meetings.queries.getMeeting);
  // @ts-expect-error an id of another table
  useQuery(application.meetings.queries.getMeeting, { meetingId: user });
  // @ts-expect-error unknown argument
  useQuery(application.meetings.queries.getMeeting, { meetingId, colour: "red" });
  // @ts-expect-error a mutation is not a query
  useQuery(application.meetings.lifecycle.createMeeting, { title: "a" });
  // @ts-expect-error internal functions are in no client
  useQuery(application.insights.inputs.gather, {});

  const create = useMutation(application.meetings.lifecycle.createMeeting).withOptimisticUpdate((store, { title }) => {
    const shown = store.getQuery(application.meetings.queries.getMeeting, { meetingId });
    if (shown !== undefined) store.setQuery(application.meetings.queries.getMeeting, { meetingId }, { ...shown, title });
  });
  const created = await create({ title: "a" });
  same<Equal<typeof created, MeetingsCreationMeetingCreated>>(true);
  // @ts-expect-error a title is required
  await create({});
  const token = await useAction(application.meetings.webrtc.rooms.generateParticipantAccessToken)({ meetingId });
  same<Equal<typeof token.token, string>>(true);

  // Paginated lists.
  const { results, loadMore } = usePaginatedQuery(probes.probes.ledger.pages, {}, { initialNumItems: 10 });
  same<Equal<typeof results, EntriesRow[]>>(true);
  loadMore(10);
  // @ts-expect-error this list has no pages of this kind
  usePaginatedQuery(probes.probes.ledger.list, {}, { initialNumItems: 10 });

  // Value types differ from those of JSON.
  const echo = probes.probes.values.echo;
  same<Equal<FunctionReturnType<typeof echo>, ProbesValuesEchoed>>(true);
  same<Equal<FunctionReturnType<typeof echo>["wide"], number | bigint | undefined>>(true);
  same<Equal<FunctionReturnType<typeof echo>["backwards"], ArrayBuffer | undefined>>(true);
  same<Equal<FunctionReturnType<typeof echo>["list"], (number | bigint)[]>>(true);
  same<Equal<FunctionReturnType<typeof echo>["characters"], number>>(true);
  same<Equal<FunctionArgs<typeof echo>["bytes"], ArrayBuffer | null | undefined>>(true);
  useQuery(echo, { wide: 1n, list: [1, 2n], bytes: new ArrayBuffer(2), number: 0.5 });
  const report = probes.probes.events.report;
  useQuery(report, { event: { type: "signed", signature: new ArrayBuffer(2) }, place: [1, 2] });
  // @ts-expect-error a member of another variant
  useQuery(report, { event: { type: "closed", to: "Rome" }, place: [1, 2] });
  // @ts-expect-error bytes are not a text
  useQuery(echo, { bytes: "AQID" });
  // @ts-expect-error a double is not a bigint
  useQuery(echo, { number: 1n });
}
