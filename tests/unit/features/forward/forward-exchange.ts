import { RequestIds } from "../../../../src/features/forward/forward-head.ts";
import { ClientPeer } from "../../../../src/message/client-peer.ts";
import { Exchange, type Target } from "../../../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../../../src/message/idle-ports.ts";
import { RequestHead } from "../../../../src/message/request-head.ts";
import { RequestParser } from "../../../../src/proto/h1/request-parser.ts";

/** A fixed time: request ids begin with it. */
const NOW_MS = 1_700_000_000_000;
const requestIds = new RequestIds({ nowMs: NOW_MS });

/** The head at the start of the bytes, or null where they hold no complete and acceptable one. */
export function parsedHead(bytes: Uint8Array): RequestHead | null {
  const head = new RequestHead();
  head.reset(bytes);
  const parser = new RequestParser(70_000);
  parser.begin(0);
  return parser.parse(bytes, bytes.length, head) < 0 ? null : head;
}

/** The head of a request that is known to be in order. */
export function headOf(text: string): RequestHead {
  const head = parsedHead(Buffer.from(text, "latin1"));
  if (head === null) throw new Error(`not a head: ${JSON.stringify(text)}`);
  return head;
}

/** An exchange for a head, ready to be forwarded: with a client and a request id. */
export function forwardExchange(head: RequestHead, address = "192.0.2.7", tls = false): Exchange {
  const ex = new Exchange(IDLE);
  Object.assign(ex, { request: head });
  Object.assign(head, { sender: ex });
  ex.client = new ClientPeer(address, tls, 8080);
  requestIds.assign(ex);
  return ex;
}

/** A target that is never connected to. */
export function targetAt(authority: string, basePath = ""): Target {
  const never = (): never => {
    throw new Error("nothing is sent in these tests");
  };
  const upstream = { label: `http://${authority}`, authority, send: never, sendFresh: never };
  return {
    upstream,
    basePath: Buffer.from(basePath, "latin1"),
    onAnswer: never,
    onFailure: never,
    onReplaced: () => {},
    onOver: never,
  };
}
