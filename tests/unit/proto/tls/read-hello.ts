import type { ClientHello } from "../../../../src/proto/tls/client-hello.ts";
import { ClientHelloParser, HelloOutcome } from "../../../../src/proto/tls/client-hello-parser.ts";

/** What a parser made of its input. */
export interface HelloRead {
  readonly outcome: string;
  readonly hello: ClientHello | null;
}

/** Feeds pieces to a parser until it has come to something. */
export function readHello(pieces: Iterable<Uint8Array>): HelloRead {
  const parser = new ClientHelloParser();
  for (const piece of pieces) {
    const outcome = parser.push(piece, 0, piece.length);
    if (outcome !== HelloOutcome.NeedMore) return { outcome: NAMES[outcome]!, hello: parser.hello };
  }
  return { outcome: NAMES[HelloOutcome.NeedMore]!, hello: null };
}

const NAMES: Readonly<Record<HelloOutcome, string>> = {
  [HelloOutcome.NeedMore]: "needMore",
  [HelloOutcome.Complete]: "complete",
  [HelloOutcome.NotTls]: "notTls",
  [HelloOutcome.Unexpected]: "unexpected",
  [HelloOutcome.Malformed]: "malformed",
  [HelloOutcome.TooLarge]: "tooLarge",
};
