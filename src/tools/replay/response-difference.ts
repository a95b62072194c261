import type { RecordedRequest } from "./recorded-request.ts";
import type { Received } from "./replay-response.ts";

/** One thing that two responses do not have alike. */
export interface Difference {
  /** `failure`, `status`, `body`, or the name of a field. */
  readonly what: string;
  readonly left: string;
  readonly right: string;
}

/** THE fields that matter: what clients and caches go by. Dates, ids, versions and entity tags are each server's own. docs/tools.md#replay */
export const FIELDS_THAT_MATTER: readonly string[] = [
  "content-type",
  "content-encoding",
  "content-language",
  "content-disposition",
  "content-range",
  "content-security-policy",
  "location",
  "cache-control",
  "vary",
  "set-cookie",
  "www-authenticate",
  "allow",
  "retry-after",
  "last-modified",
  "link",
  "strict-transport-security",
  "x-frame-options",
  "x-content-type-options",
  "referrer-policy",
  "permissions-policy",
  "access-control-allow-origin",
  "access-control-allow-methods",
  "access-control-allow-headers",
  "access-control-allow-credentials",
  "access-control-expose-headers",
  "access-control-max-age",
];

/** What is compared beside the status. */
export interface ResponseComparison {
  /** Names of fields, in lower case. */
  readonly fields: readonly string[];
  /** Whether bodies of redirects and errors count, which servers word for themselves. */
  readonly hasErrorBodies: boolean;
}

/** What two responses to one request do not have alike; an empty list where they agree. */
export function differences(
  request: RecordedRequest,
  [left, right]: readonly [Received, Received],
  { fields, hasErrorBodies }: ResponseComparison,
): Difference[] {
  if (left.failure !== "" || right.failure !== "") {
    const shown = ({ failure, status }: Received): string => (failure === "" ? `status ${status}` : failure);
    return left.failure === right.failure ? [] : [{ what: "failure", left: shown(left), right: shown(right) }];
  }
  if (left.status !== right.status) return [{ what: "status", left: String(left.status), right: String(right.status) }];
  const found: Difference[] = [];
  const isOwnText = left.status >= 300 && !hasErrorBodies;
  for (const name of fields) {
    if (isOwnText && OF_BODIES.has(name)) continue;
    const [a, b] = [plain(name, left.fields[name], request), plain(name, right.fields[name], request)];
    if (a !== b && !isCharsetAlone(name, a, b))
      found.push({ what: name, left: left.fields[name] ?? "", right: right.fields[name] ?? "" });
  }
  if (!isOwnText && left.hash !== right.hash)
    found.push({ what: "body", left: bodyText(left), right: bodyText(right) });
  return found;
}

/** What a response has other than the one that was logged: its status. */
export function differsFromLog({ status }: RecordedRequest, received: Received): Difference[] {
  if (received.failure !== "")
    return [{ what: "failure", left: `status ${status || "-"} (log)`, right: received.failure }];
  // 499 is the log's own: the client had gone.
  if (status === 0 || status === 499 || status === received.status) return [];
  // A part, or nothing new, was asked for by fields that the log does not have.
  if ((status === 304 || status === 206) && received.status === 200) return [];
  return [{ what: "status", left: `${status} (log)`, right: String(received.status) }];
}

const OF_BODIES: ReadonlySet<string> = new Set([
  "content-type",
  "content-encoding",
  "vary",
  "last-modified",
  "x-content-type-options",
]);

function bodyText({ bytes, hash }: Received): string {
  return `${bytes} bytes, sha256 ${hash.slice(0, 16)}`;
}

/** A value without what two servers may write in two ways. */
function plain(name: string, value: string | undefined, { host, uri }: RecordedRequest): string {
  if (value === undefined) return "";
  if (name === "set-cookie")
    return value
      .split("\n")
      .map((line) => line.split("=")[0]!.trim())
      .sort()
      .join();
  if (name === "location") return absolute(value, host, uri);
  const list = value.replaceAll("\n", ",").toLowerCase();
  if (LISTS.has(name))
    return [...new Set(list.split(",").map((one) => one.trim()))]
      .filter((one) => one !== "")
      .sort()
      .join();
  const text = list
    .split(/([;,=])/)
    .map((part) => part.trim())
    .join("");
  // RFC 9239 §6: the other names are obsolete, and mean the same.
  return name === "content-type" ? text.replace(/^application\/(x-)?javascript/, "text/javascript") : text;
}

/** The address without its server, if it is the one that was asked. */
function absolute(value: string, host: string, uri: string): string {
  if (!URL.canParse(value, `http://${host || "localhost"}${uri}`)) return value;
  const url = new URL(value, `http://${host || "localhost"}${uri}`);
  const isOwn =
    host === ""
      ? /^(127\.0\.0\.1|localhost|\[::1\])$/.test(url.hostname)
      : url.host === host || url.hostname === host.replace(/:\d+$/, "");
  return isOwn ? `${url.pathname}${url.search}` : url.href;
}

/** The one names a charset, the other none. */
function isCharsetAlone(name: string, a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return (
    name === "content-type" &&
    short !== "" &&
    !short.includes("charset") &&
    long.replace(/;charset="?[\w-]+"?/, "") === short
  );
}

const LISTS: ReadonlySet<string> = new Set([
  "vary",
  "allow",
  "cache-control",
  "access-control-allow-methods",
  "access-control-allow-headers",
  "access-control-expose-headers",
]);
