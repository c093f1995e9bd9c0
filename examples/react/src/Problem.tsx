// Error messages of the page.

import { Component, type JSX, type ReactNode } from "react";

import { refusalOf } from "./api";

/** Returns a sentence for the user. */
export function sentenceFor(caught: unknown): string {
  const refusal = refusalOf(caught);
  if (refusal === undefined) return "Something went wrong.";
  switch (refusal.code) {
    case "FORBIDDEN":
      return "You are not a participant of this meeting.";
    case "NOT_FOUND":
    case "INVALID_ARGUMENT":
      return refusal.field === undefined ? "This does not exist." : `Invalid value: ${refusal.field}.`;
    case "RATE_LIMITED":
      return "Too many requests. Try again in a moment.";
    default:
      return refusal.message;
  }
}

/** `useQuery` throws the error of a query. This component catches it and shows its message instead of the children. */
export class Problem extends Component<{ children: ReactNode }, { sentence: string }> {
  override state = { sentence: "" };

  static getDerivedStateFromError(caught: unknown): { sentence: string } {
    return { sentence: sentenceFor(caught) };
  }

  override render(): ReactNode {
    if (this.state.sentence === "") return this.props.children;
    return <Shown sentence={this.state.sentence} onAgain={() => { this.setState({ sentence: "" }); }} />;
  }
}

function Shown({ sentence, onAgain }: { sentence: string; onAgain: () => void }): JSX.Element {
  return (
    <main>
      <h1>Error</h1>
      <p role="alert">{sentence}</p>
      <p><button type="button" onClick={onAgain}>Try again</button> <a href="#">All meetings</a></p>
    </main>
  );
}
