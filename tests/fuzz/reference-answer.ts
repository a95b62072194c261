import { readReferenceChunks } from "./reference-chunks.ts";
import { connectionTokens, type Doubt, framingOf, Incomplete, Refused, readReferenceHead } from "./reference-fields.ts";

/** What a client may be told when the origin sent certain bytes and then ended. */
export interface ReferenceAnswer {
  /** `good`: exactly this answer; `cut`: the head was good, the rest is not; `bad`: 502. */
  readonly kind: "good" | "cut" | "bad";
  readonly status: number;
  readonly body: string;
  /** The documentation leaves open whether it is a response: 502 is right too. */
  readonly isDoubtful: boolean;
  readonly why: string;
  /** Bytes behind the answer that are nobody's. */
  readonly surplus: number;
}

const NO_LIMIT = Number.MAX_SAFE_INTEGER;
const MAX_SURE_INTERIMS = 5;

/** Reads the answer to one request from all that the origin sent on the connection before it ended it in order. */
export function readReferenceAnswer(text: string, method: string): ReferenceAnswer {
  const doubt: Doubt = { isOpen: false, isAnswer: true };
  let status = 0;
  try {
    const head = finalHead(text, doubt);
    ({ status } = head);
    const bodiless = method === "HEAD" || status === 204 || status === 304;
    const framing = framingOf(head.fields, head.isHttp10, doubt);
    // A 204 that announces a body is wrong by RFC 9110 §8.6, and ambiguous enough to be refused.
    if (status === 204 && framing !== "none" && framing !== 0) doubt.isOpen = true;
    if (bodiless) return answer("good", status, "", doubt, text.length - head.end);
    return readBody(text, head.end, framing, status, doubt);
  } catch (error) {
    if (error instanceof Refused || error instanceof Incomplete) {
      return { kind: "bad", status, body: "", isDoubtful: doubt.isOpen, why: error.message, surplus: 0 };
    }
    throw error;
  }
}

function readBody(text: string, at: number, framing: number | "chunked" | "none", status: number, doubt: Doubt) {
  if (framing === "none") return answer("good", status, text.slice(at), doubt);
  if (framing !== "chunked") {
    const body = text.slice(at, at + framing);
    return answer(body.length < framing ? "cut" : "good", status, body, doubt, text.length - at - body.length);
  }
  try {
    const { body, end } = readReferenceChunks(text, at, NO_LIMIT, doubt);
    return answer("good", status, body, doubt, text.length - end);
  } catch (error) {
    if (error instanceof Refused || error instanceof Incomplete) {
      return { kind: "cut", status, body: "", isDoubtful: doubt.isOpen, why: error.message, surplus: 0 } as const;
    }
    throw error;
  }
}

function answer(kind: "good" | "cut", status: number, body: string, doubt: Doubt, surplus = 0): ReferenceAnswer {
  return { kind, status, body, isDoubtful: doubt.isOpen, why: kind === "cut" ? "too short" : "", surplus };
}

function finalHead(text: string, doubt: Doubt) {
  let at = 0;
  for (let interims = 0; ; interims++) {
    const head = readReferenceHead(text, at);
    const match = /^HTTP\/(\d)\.(\d) ([1-9]\d\d) ([\t\x20-\x7e\x80-\xff]*)$/.exec(head.startLine);
    if (match === null) {
      // The space behind the status is missing in many a good server's answer without a reason.
      if (/^HTTP\/1\.[01] [1-9]\d\d$/.test(head.startLine)) doubt.isOpen = true;
      else throw new Refused(`status line ${JSON.stringify(head.startLine)}`);
    }
    const [, major = "1", minor = "1", code = head.startLine.slice(9, 12)] = match ?? [];
    if (major !== "1") throw new Refused("another major version");
    if (minor !== "0" && minor !== "1") doubt.isOpen = true;
    const status = Number(code);
    if (status === 101) throw new Refused("101 that nobody asked for");
    if (status >= 600 || (status < 200 && status > 103)) doubt.isOpen = true;
    if (connectionTokens(head.fields).length > 20 || head.fields.length > 90) doubt.isOpen = true;
    if (status >= 200) return { ...head, status, isHttp10: minor === "0" };
    if (interims > MAX_SURE_INTERIMS) doubt.isOpen = true;
    // An interim answer has no body; one that claims to have one is ambiguous.
    if (head.fields.some(({ name }) => name === "content-length" || name === "transfer-encoding")) doubt.isOpen = true;
    at = head.end;
  }
}
