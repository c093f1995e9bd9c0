// What the page says when something fails.

import { Component, type JSX, type ReactNode } from "react";

import { refusalOf } from "./api";

/** A sentence for whoever looks at the page. */
export function sentenceFor(caught: unknown): string {
  const refusal = refusalOf(caught);
  if (refusal === undefined) return "Something went wrong.";
  switch (refusal.code) {
    case "FORBIDDEN":
      return "You have no place in this meeting.";
    case "NOT_FOUND":
    case "INVALID_ARGUMENT":
      return refusal.field === undefined ? "There is no such thing." : `That cannot be: ${refusal.field}.`;
    case "RATE_LIMITED":
      return "That was too much at once. Try again in a moment.";
    default:
      return refusal.message;
  }
}

/** `useQuery` throws what a query refuses: this shows it instead of the page's part that asked. */
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
      <h1>Not here</h1>
      <p role="alert">{sentence}</p>
      <p><button type="button" onClick={onAgain}>Try again</button> <a href="#">All meetings</a></p>
    </main>
  );
}
