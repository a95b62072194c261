import { latin1, sliceText } from "../../core/bytes.ts";
import { CACHE_RESULT_NAMES } from "../../message/cache-result.ts";
import { UNKNOWN_CLIENT } from "../../message/client-peer.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId, headerIdFromName } from "../../message/header-block.ts";
import { requestHost } from "../../message/request-host.ts";
import { SentField } from "../h1/sent-fields.ts";
import { CookieValues } from "../semantics/cookie-values.ts";
import { SetCookie } from "../semantics/set-cookie.ts";
import { offsetBehindSegments, pathFrom } from "../target/canonical-path.ts";
import { decodeOnce } from "../target/percent-decoding.ts";
import { queryWithMark, sentPath } from "../target/routed-path.ts";
import { ja4Of } from "../tls/ja4.ts";
import { capturedGroup, hostWildcard } from "./captured-groups.ts";

/** Gives the value that a placeholder has for an exchange, one character a byte; "" if there is none. */
export type PlaceholderReader = (ex: Exchange) => string;

/** What a value is in a URL: what of it may stand there unescaped. */
export type UrlForm = "path" | "query" | "uri" | "host" | "word";

/** A placeholder: everything that the gateway knows of it. */
interface Placeholder {
  /** As in a template, without braces; `NAME` or `N` at its end is for the reader. */
  readonly name: string;
  /** For docs/placeholders.md, in Markdown. */
  readonly doc: string;
  readonly form: UrlForm;
  /** What may stand in the place of `NAME` or `N`; absent for a placeholder without. */
  readonly argument?: RegExp;
  /** Called once a template: what can be prepared is. */
  reader(argument: string): PlaceholderReader;
}

const CACHE_STATUSES = CACHE_RESULT_NAMES.map((name) => name.toUpperCase());

/** THE placeholders. docs/placeholders.md */
export const PLACEHOLDERS: readonly Placeholder[] = [
  plain("host", "the host that the request is for: lower case, without port and final dot", "host", hostOf),
  plain("port", "the port that the request is for: of its `Host`, else the scheme's own", "word", portOf),
  plain(
    "scheme",
    "`https` or `http`; of a client behind a trusted proxy, what that proxy says",
    "word",
    ({ scheme }) => scheme,
  ),
  plain("method", "the method", "word", ({ request }) => request.methodText()),
  plain("path", "the path as the client sent it, dot segments resolved, without the query", "path", ({ request }) =>
    sentPath(request),
  ),
  plain("query", "the query, without `?`", "query", queryOf),
  plain("uri", "path and query", "uri", uriOf),
  plain(
    "raw_uri",
    "the target as the client wrote it, dot segments and all: for records, never to decide by or to redirect to",
    "word",
    ({ request }) => request.target(),
  ),
  plain("prefix", "the route's `prefix` or `path`, as in routes.yaml", "path", ({ route }) => route?.path ?? ""),
  plain("rest", "the path after the route's prefix; it begins with `/`", "path", restOf),
  plain("tail", "what follows the route's prefix: nothing, or a path that begins with `/`", "path", tailOf),
  plain("client_ip", "the client's address, as the access log has it", "host", (ex) => ex.clientIp),
  plain("client_port", "the port that the client's connection comes from; empty if unknown", "word", clientPortOf),
  plain("proxy_protocol.address", "the address that a PROXY header told; empty without one", "host", ({ client }) =>
    client.toldAddress === UNKNOWN_CLIENT ? "" : client.toldAddress,
  ),
  plain("proxy_protocol.port", "the port that it told, likewise", "word", ({ client }) =>
    String(client.toldPort || ""),
  ),
  plain(
    "connection",
    "a number of the client's connection, which no other one of the same worker has",
    "word",
    ({ client }) => String(client.number),
  ),
  plain("protocol", "the protocol, such as `HTTP/1.1` or `HTTP/2.0`", "word", ({ request }) => request.protocol()),
  plain("request_id", "the request's id, as the access log has it", "word", (ex) => ex.facts.nameOf(ex)),
  {
    name: "header.NAME",
    doc: "a field of the request; several are joined with commas. Identity fields only if a trusted proxy sent them",
    form: "word",
    argument: /^[\w!#$%&'*+.^`|~-]+$/,
    reader: headerReader,
  },
  {
    name: "cookie.NAME",
    doc: "a cookie",
    form: "word",
    argument: /^[\w!#$%&'*+.^`|~-]+$/,
    reader: cookieReader,
  },
  {
    name: "query.NAME",
    doc: "the first parameter of the query with this name, decoded",
    form: "word",
    argument: /^[\w.-]+$/,
    reader: (name) => (ex) => parameterOf(ex, name),
  },
  plain(
    "tls.ja4",
    "the [JA4 fingerprint](fingerprints.md) of the client's handshake; empty in clear text and over HTTP/3",
    "word",
    ({ client }) => ja4Of(client),
  ),
  plain(
    "tls.group",
    "the group of its key exchange, such as `X25519MLKEM768`; likewise",
    "word",
    ({ client }) => client.tlsGroup,
  ),
  plain(
    "http2.fingerprint",
    "how the client began its HTTP/2 connection: [settings, window, priorities, pseudo-headers](fingerprints.md#http2)",
    "word",
    ({ client }) => client.opening?.text ?? "",
  ),
  plain("tls.version", "such as `TLSv1.3`; empty in clear text", "word", (ex) => ex.client.tlsVersion),
  plain(
    "tls.server_name",
    "the name that the client's handshake asked for; empty in clear text and over HTTP/3",
    "host",
    ({ client }) => client.serverName,
  ),
  plain(
    "tls.resumed",
    "`r` if the client's handshake resumed a session, `.` if not; empty in clear text and over HTTP/3",
    "word",
    ({ client }) => RESUMED.get(client.isResumed) ?? "",
  ),
  plain(
    "tls.subject",
    "the subject of the client's verified certificate, such as `CN=client,O=Example`",
    "word",
    subjectOf,
  ),
  plain("auth.user", "the user whom [auth](authentication.md) let in; empty without `auth`", "word", userOf),
  {
    name: "auth.claim.NAME",
    doc: "what [auth](authentication.md#claims) knows of the user under this name; a list is joined with commas",
    form: "word",
    argument: /^[\w!#$%&'*+.^`|~-]+$/,
    reader: (name) => (ex) => claimOfUser(ex, name),
  },
  plain(
    "geo.country",
    "the client's [country](guards.md#countries-and-networks), such as `DE`; empty if unknown",
    "word",
    ({ country }) => country,
  ),
  plain("geo.asn", "the number of the network that the client is in, likewise", "word", ({ asn }) => String(asn || "")),
  plain(
    "agent.name",
    "the [agent](agents.md) that has signed the request, such as `bot.example`; empty without one",
    "word",
    ({ agentName }) => agentName,
  ),
  plain(
    "cache.status",
    "the outcome of the [cache](cache.md), such as `HIT`, `MISS` or `STALE`; empty if the route has none",
    "word",
    ({ cacheResult }) => CACHE_STATUSES[cacheResult]!,
  ),
  plain(
    "upstream",
    "the address of the target that got the request last, such as `10.0.0.5:8000`; in responses, and empty if none got it",
    "word",
    upstreamOf,
  ),
  {
    name: "response.header.NAME",
    doc: "a field of the response; several are joined with commas. In fields of responses, and empty before there is one",
    form: "word",
    argument: /^[\w!#$%&'*+.^`|~-]+$/,
    reader: responseHeaderReader,
  },
  {
    name: "response.cookie.NAME",
    doc: "a cookie that the response sets, likewise",
    form: "word",
    argument: /^[\w!#$%&'*+.^`|~-]+$/,
    reader: (name) => (ex) => responseCookieOf(ex, name),
  },
  plain("route", "the name of the route in metrics: its `prefix` or `path`", "path", ({ route }) => route?.label ?? ""),
  {
    name: "map.NAME",
    doc: "the value of a [map](routing.md#maps) for this request",
    form: "path",
    argument: /^[A-Za-z0-9_-]+$/,
    reader: (name) => (ex) => ex.facts.maps?.valueOf(name, ex) ?? "",
  },
  {
    name: "match.N",
    doc: "the text that group N of the route's [`regex`](routing.md#routes-by-expressions) found, or of its [`rewrite.regex`](routing.md#rewrite) if that fits, from 1 on",
    form: "path",
    argument: /^[1-9]\d?$/,
    reader: (index) => (ex) => capturedGroup(ex, Number(index)),
  },
  {
    name: "host.N",
    doc: "the part that the star of the route's [host pattern](routing.md#hosts) stands for: `{host.1}` is `shop` for shop.example.com at `*.example.com`",
    form: "host",
    argument: /^1$/,
    reader:
      () =>
      ({ request, route }) =>
        hostWildcard(request, route?.init.hosts ?? []),
  },
];

const RESUMED: ReadonlyMap<boolean | null, string> = new Map([
  [true, "r"],
  [false, "."],
]);

function plain(name: string, doc: string, form: UrlForm, read: PlaceholderReader): Placeholder {
  return { name, doc, form, reader: () => read };
}

function hostOf({ request }: Exchange): string {
  return requestHost(request);
}

function portOf(ex: Exchange): string {
  const named = /:(\d{1,5})$/.exec(ex.request.authority())?.[1];
  if (named !== undefined) return String(Number(named));
  return ex.scheme === "https" ? "443" : "80";
}

function clientPortOf({ client }: Exchange): string {
  return String(client.toldPort || client.ends?.remotePort || "");
}

/** A label is the target's URL, whose scheme clients are not told. */
function upstreamOf({ attempt: { upstreamLabel } }: Exchange): string {
  return upstreamLabel.replace(/^\w+:\/\//, "");
}

/** RFC 9110 §5.3, as of requests. */
function responseHeaderReader(name: string): PlaceholderReader {
  const lower = latin1(name.toLowerCase());
  const id = headerIdFromName(name);
  const next = (headers: HeaderBlock, from: number): number =>
    id === HeaderId.Other ? headers.findNamed(lower, from) : headers.find(id, from);
  return ({ response: { headers } }) => {
    const values: string[] = [];
    for (let i = next(headers, 0); i >= 0; i = next(headers, i + 1)) {
      const value = headers.valueText(i);
      if (value !== "") values.push(value);
    }
    return values.join(", ");
  };
}

/** The first one with the name. */
function responseCookieOf({ response: { headers } }: Exchange, name: string): string {
  for (let i = headers.find(HeaderId.SetCookie); i >= 0; i = headers.find(HeaderId.SetCookie, i + 1)) {
    const cookie = new SetCookie(headers.valueText(i));
    if (cookie.name === name) return cookie.pair.slice(cookie.pair.indexOf("=") + 1).trim();
  }
  return "";
}

function queryOf({ request }: Exchange): string {
  const { pathTo, queryTo } = request;
  return queryTo > pathTo ? request.text(pathTo + 1, queryTo) : "";
}

function uriOf({ request }: Exchange): string {
  return sentPath(request) + queryWithMark(request);
}

function restOf(ex: Exchange): string {
  const { route } = ex;
  if (route === null) return "";
  // An exact route takes the whole path.
  if (route.init.exact) return "/";
  const path = sentPath(ex.request);
  const depth = route.path === "/" ? 0 : route.path.split("/").length - 1;
  return pathFrom(path, offsetBehindSegments(path, depth));
}

function tailOf(ex: Exchange): string {
  const { route } = ex;
  if (route === null || route.init.exact) return "";
  const path = sentPath(ex.request);
  const depth = route.path === "/" ? 0 : route.path.split("/").length - 1;
  const offset = offsetBehindSegments(path, depth);
  return offset >= path.length ? "" : pathFrom(path, offset);
}

function userOf({ identity }: Exchange): string {
  return identity === null ? "" : Buffer.from(identity.user, "utf8").latin1Slice();
}

function claimOfUser({ identity }: Exchange, name: string): string {
  if (identity === null || !Object.hasOwn(identity.claims, name)) return "";
  return Buffer.from(identity.claims[name]!, "utf8").latin1Slice();
}

function subjectOf({ client }: Exchange): string {
  return client.identity === null ? "" : Buffer.from(client.identity.subject, "utf8").latin1Slice();
}

/** RFC 9110 §5.3: several fields with a name are one list. */
function headerReader(name: string): PlaceholderReader {
  const field = new SentField(name);
  const separator = name.toLowerCase() === "cookie" ? "; " : ", ";
  return ({ request }) =>
    field
      .values(request)
      .filter((value) => value !== "")
      .join(separator);
}

function cookieReader(name: string): PlaceholderReader {
  const values = new CookieValues(name);
  return ({ request: { headers } }) => {
    values.begin(headers);
    return values.next() ? sliceText(headers.bytes, values.from, values.to) : "";
  };
}

function parameterOf(ex: Exchange, name: string): string {
  for (const pair of queryOf(ex).split("&")) {
    const end = pair.indexOf("=");
    if (decodeParameter(end < 0 ? pair : pair.slice(0, end)) !== name) continue;
    return end < 0 ? "" : decodeParameter(pair.slice(end + 1));
  }
  return "";
}

function decodeParameter(text: string): string {
  return decodeOnce(text.replaceAll("+", " "));
}
