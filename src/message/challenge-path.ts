import { equalsBytes, latin1 } from "../core/bytes.ts";
import { FixedReply } from "./fixed-reply.ts";
import type { RequestHead } from "./request-head.ts";

/** The path that challenges of certificate authorities stand under, and the label of the requests for it. RFC 8555 §8.3. */
export const CHALLENGE_PREFIX = "/.well-known/acme-challenge/";

/** The response to a token that is none. docs/acme.md#http-01 */
export const INVALID_TOKEN: FixedReply = new FixedReply(
  400,
  [["Content-Type", "text/plain; charset=utf-8"]],
  "Invalid ACME Challenge Token",
);

/** Whether the path, as it was written, begins with the one of challenges. */
export function isChallenge({ bytes, pathFrom, pathTo }: RequestHead): boolean {
  const end = pathFrom + PREFIX.length;
  return end <= pathTo && equalsBytes(bytes, pathFrom, end, PREFIX);
}

const PREFIX: Uint8Array = latin1(CHALLENGE_PREFIX);
