import { readReferenceChunks } from "./reference-chunks.ts";
import {
  connectionTokens,
  type Doubt,
  framingOf,
  Incomplete,
  type ReferenceField,
  Refused,
  readReferenceHead,
  valuesOf,
} from "./reference-fields.ts";

/** One request of a byte stream, as docs/wire.md says. */
export interface ReferenceRequest {
  readonly method: string;
  readonly target: string;
  readonly body: string;
  /** `origin`: must be forwarded, with `forwardedTarget`; `gateway`: must not be; `open`: both are right. */
  readonly goesTo: "origin" | "gateway" | "open";
  readonly forwardedTarget: string;
  /** The documentation leaves open whether it is served at all. */
  readonly isDoubtful: boolean;
}

/** A byte stream that its sender has ended, read as docs/wire.md says. */
export interface ReferenceStream {
  readonly requests: readonly ReferenceRequest[];
  /** How it ends behind the last request: in order, by a request that says close, refused, or cut short. */
  readonly end: "idle" | "close" | "refused" | "incomplete";
  readonly why: string;
  /** Where the bytes begin that are refused or cut short; the stream's length where there are none. */
  readonly restAt: number;
  /** The head there is good and only its body is not, and it is not the origin that answers: it may be answered early. */
  readonly mayAnswerEarly: boolean;
}

const MAX_LINE_BYTES = 8192;
const MAX_FIELDS = 100;
const MAX_BODY_BYTES = 4_194_304;
const LABEL = "[A-Za-z0-9\\-_~!$&'()*+,;=]+";
const HOST = new RegExp(`^(?:(?:${LABEL}\\.)*${LABEL}\\.?|\\[[0-9a-fA-F:.]+\\])(?::\\d{1,4})?$`);
const ODD_HOST = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=%]*|\[[0-9a-zA-Z:.%]*\])(?::\d*)?$/;

/** Reads a whole stream. `prefix` is the one proxied prefix, such as `/node`. */
export function readReferenceStream(text: string, prefix: string): ReferenceStream {
  const requests: ReferenceRequest[] = [];
  const progress = { mayAnswerEarly: false };
  const ended = (end: ReferenceStream["end"], why: string): ReferenceStream => ({
    requests,
    end,
    why,
    restAt: at,
    ...progress,
  });
  let at = 0;
  for (;;) {
    progress.mayAnswerEarly = false;
    if (at >= text.length) return ended("idle", "");
    if (text.startsWith("\r\n", at)) at += 2;
    try {
      const { request, end, isLast } = readOne(text, at, prefix, progress);
      requests.push(request);
      at = end;
      if (isLast) return ended("close", "");
    } catch (error) {
      if (error instanceof Refused) return ended("refused", error.message);
      if (error instanceof Incomplete) return ended("incomplete", error.message);
      throw error;
    }
  }
}

function readOne(text: string, at: number, prefix: string, progress: { mayAnswerEarly: boolean }) {
  const doubt: Doubt = { isOpen: false };
  const head = readReferenceHead(text, at);
  if (head.fields.length > MAX_FIELDS) throw new Refused("more than 100 fields");
  const { method, target, isHttp10 } = requestLine(head.startLine, doubt);
  for (const line of text.slice(at, head.end).split("\r\n")) {
    if (line.length > MAX_LINE_BYTES) throw new Refused("a line over 8 KiB");
  }
  if (head.end - at > 60_000) doubt.isOpen = true;
  checkHost(head.fields, isHttp10, doubt);
  const framing = framingOf(head.fields, isHttp10, doubt);
  checkExpect(head.fields, isHttp10, doubt);
  const where = destination(method, target, prefix);
  progress.mayAnswerEarly = where.goesTo !== "origin";
  let body = "";
  let end = head.end;
  if (framing === "chunked") {
    ({ body, end } = readReferenceChunks(text, end, MAX_BODY_BYTES, doubt));
  } else if (framing !== "none") {
    if (framing > MAX_BODY_BYTES) throw new Refused("over the body limit");
    if (text.length < end + framing) throw new Incomplete("body");
    body = text.slice(end, end + framing);
    end += framing;
  }
  const tokens = connectionTokens(head.fields);
  const isLast = tokens.includes("close") || (isHttp10 && !tokens.includes("keep-alive"));
  const request = { method, target, body, isDoubtful: doubt.isOpen, ...where };
  return { request, end, isLast };
}

function requestLine(line: string, doubt: Doubt): { method: string; target: string; isHttp10: boolean } {
  if (line.length > MAX_LINE_BYTES) throw new Refused("a request line over 8 KiB");
  const match = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+) HTTP\/(\d)\.(\d)$/.exec(line);
  if (match === null) throw new Refused(`request line ${JSON.stringify(line)}`);
  const [, method = "", target = "", major, minor] = match;
  if (major !== "1") throw new Refused("another major version");
  if (minor !== "0" && minor !== "1") doubt.isOpen = true;
  if (/[\x80-\xff#\\]/.test(target)) doubt.isOpen = true;
  if (!target.startsWith("/")) {
    const mayBeAbsolute = /^[A-Za-z][A-Za-z0-9+\-.]*:/.test(target);
    const mayBeStar = target === "*" && method === "OPTIONS";
    if (!mayBeAbsolute && !mayBeStar && method !== "CONNECT") throw new Refused("a target in none of the four forms");
    doubt.isOpen = true;
  }
  if (method === "CONNECT") doubt.isOpen = true;
  return { method, target, isHttp10: minor === "0" };
}

function checkHost(fields: readonly ReferenceField[], isHttp10: boolean, doubt: Doubt): void {
  const hosts = valuesOf(fields, "host");
  if (hosts.length > 1) throw new Refused("two Hosts");
  if (hosts.length === 0) {
    if (!isHttp10) throw new Refused("no Host");
    return;
  }
  if (HOST.test(hosts[0]!)) return;
  if (!ODD_HOST.test(hosts[0]!)) throw new Refused("a bad Host");
  doubt.isOpen = true;
}

function checkExpect(fields: readonly ReferenceField[], isHttp10: boolean, doubt: Doubt): void {
  const expectations = valuesOf(fields, "expect");
  if (expectations.length === 0) return;
  if (isHttp10 || expectations.length > 1) doubt.isOpen = true;
  else if (expectations[0]!.toLowerCase() !== "100-continue") throw new Refused("an unknown expectation");
}

function destination(method: string, target: string, prefix: string) {
  const [path = "", ...query] = target.split("?");
  const suffix = query.length === 0 ? "" : `?${query.join("?")}`;
  if (method === "CONNECT" || method === "TRACE") return { goesTo: "gateway", forwardedTarget: "" } as const;
  // Anything that path canonicalisation may touch is left open.
  if (!/^[A-Za-z0-9/_-]*$/.test(path) || path.includes("//")) return { goesTo: "open", forwardedTarget: "" } as const;
  if (target.includes("#")) return { goesTo: "open", forwardedTarget: "" } as const;
  if (path !== prefix && !path.startsWith(`${prefix}/`)) return { goesTo: "gateway", forwardedTarget: "" } as const;
  const stripped = path.slice(prefix.length) || "/";
  return { goesTo: "origin", forwardedTarget: stripped + suffix } as const;
}
