import { Byte, copyBytes, latin1 } from "../core/bytes.ts";
import { type ClientPeer, unmapped } from "../message/client-peer.ts";
import type { Exchange } from "../message/exchange.ts";
import { Framing, type RequestHead } from "../message/request-head.ts";
import {
  encodedParams,
  FieldParams,
  fieldParamsBound,
  writeNumberParam,
  writeParam,
  writeTextParam,
} from "../proto/fastcgi/params.ts";
import {
  BEGIN_RECORD_BYTES,
  END_OF_STDIN,
  frameParams,
  HEADER_BYTES,
  paramsFramingBound,
  writeBegin,
} from "../proto/fastcgi/records.ts";
import { isShownAsItCame, queryWithMark, shownPath } from "../proto/target/routed-path.ts";

/** Bytes of the parameters beside those of fields, of the script and of the request line: names, lengths, addresses, numbers. */
const OWN_BOUND = 1024;

/** How often a target may be written: as it came, its query, and its path with up to three characters for each of its own. */
const TARGET_COPIES = 5;

const FIELDS: FieldParams = new FieldParams();

/** Bytes that the parameters of a request take at most. @param headEnd bytes of the head as HTTP/1.1 */
export function scriptParamsBound(ex: Exchange, headEnd: number): number {
  const { request, identity, script } = ex;
  const user = identity === null ? 0 : identity.user.length * 3;
  const line = (request.targetTo - request.targetFrom) * TARGET_COPIES + (request.methodTo - request.methodFrom);
  return script!.params.length + user + line + fieldParamsBound(headEnd) + headEnd * 2 + OWN_BOUND;
}

/** Bytes that `writeScriptRequest` may write at most. @param headEnd bytes of the head as HTTP/1.1 */
export function scriptRequestBound(ex: Exchange, headEnd: number): number {
  const params = scriptParamsBound(ex, headEnd);
  return BEGIN_RECORD_BYTES + params + paramsFramingBound(params);
}

/**
 * Writes the beginning of a FastCGI request: all of one that has no body.
 * @param head the head as HTTP/1.1, up to `headEnd`
 * @returns the offset after it
 */
export function writeScriptRequest(
  ex: Exchange,
  keepsConnection: boolean,
  head: Buffer,
  headEnd: number,
  out: Buffer,
  start: number,
): number {
  const from = writeBegin(out, start, keepsConnection) + HEADER_BYTES;
  const at = frameParams(out, from, writeScriptParams(ex, head, headEnd, out, from));
  return ex.request.hasBody() ? at : copyBytes(out, at, END_OF_STDIN, 0, END_OF_STDIN.length);
}

/**
 * Writes what a script learns of a request, whatever protocol it is told in. What goes to an origin is decided in one place, whatever
 * it speaks, so that fields are those of a head of HTTP/1.1. docs/php.md#what-scripts-see
 * @param head the head as HTTP/1.1, up to `headEnd`
 * @returns the offset after it
 */
export function writeScriptParams(ex: Exchange, head: Buffer, headEnd: number, out: Buffer, start: number): number {
  const { params } = ex.script!;
  let at = copyBytes(out, start, params, 0, params.length);
  at = writeEnds(ex, out, at);
  at = writeLine(ex.request, out, at);
  // Fields go before what the gateway says itself: of two with one name, scripts see the last one.
  at = FIELDS.write(head, headEnd, out, at);
  at = writeParam(out, at, CONTENT_TYPE, head, FIELDS.typeFrom, FIELDS.typeTo);
  if (ex.request.framing === Framing.Length) at = writeNumberParam(out, at, CONTENT_LENGTH, ex.request.contentLength);
  else at = copyBytes(out, at, NO_LENGTH, 0, NO_LENGTH.length);
  at = writeParam(out, at, SERVER_NAME, head, FIELDS.hostFrom, endOfName(head, FIELDS.hostFrom, FIELDS.hostTo));
  return ex.identity !== null && ex.identity.user !== "" ? writeUser(ex.identity.user, out, at) : at;
}

/**
 * Method, target and version of the client's request, whatever a rewrite has made of the path: the target as the route was chosen by it, and as
 * it was sent. docs/php.md#what-scripts-see
 */
function writeLine(request: RequestHead, out: Buffer, start: number): number {
  const { bytes, pathTo, queryTo } = request;
  let at = writeParam(out, start, REQUEST_METHOD, bytes, request.methodFrom, request.methodTo);
  if (isShownAsItCame(request)) at = writeParam(out, at, REQUEST_URI, bytes, request.targetFrom, request.targetTo);
  else at = writeTextParam(out, at, REQUEST_URI, shownPath(request) + queryWithMark(request));
  at = writeParam(out, at, REQUEST_URI_RAW, bytes, request.targetFrom, request.targetTo);
  const queryFrom = bytes[pathTo] === Byte.Question ? Math.min(pathTo + 1, queryTo) : queryTo;
  at = writeParam(out, at, QUERY_STRING, bytes, queryFrom, queryTo);
  const version = request.major === 1 && request.minor === 0 ? HTTP_10 : VERSIONS[request.major - 1]!;
  return copyBytes(out, at, version, 0, version.length);
}

/** Who asks, and where: the client that a trusted proxy tells of has no port that is known. */
function writeEnds(ex: Exchange, out: Buffer, start: number): number {
  const { client } = ex;
  client.scriptParams ??= endsOf(client);
  const { direct, server } = client.scriptParams;
  let at: number;
  if (ex.forwardedIp === "") at = copyBytes(out, start, direct, 0, direct.length);
  else at = writeTextParam(out, copyBytes(out, start, server, 0, server.length), REMOTE_ADDR, ex.forwardedIp);
  const scheme = ex.scheme === "https" ? HTTPS_SCHEME : HTTP_SCHEME;
  return copyBytes(out, at, scheme, 0, scheme.length);
}

function endsOf(client: ClientPeer): NonNullable<ClientPeer["scriptParams"]> {
  const { ends, tls, localPort } = client;
  const address = unmapped(ends?.localAddress ?? "");
  const port = ends?.localPort || localPort || (tls ? 443 : 80);
  const remotePort = ends?.remotePort ?? 0;
  const server: (readonly [string, string])[] = [["SERVER_PORT", `${port}`]];
  if (address !== "") server.push(["SERVER_ADDR", address]);
  const remote: (readonly [string, string])[] = [["REMOTE_ADDR", client.address]];
  // What a PROXY header tells of has another port than the connection.
  if (client.isDirect() && remotePort > 0) remote.push(["REMOTE_PORT", `${remotePort}`]);
  return { server: encodedParams(server), direct: encodedParams([...server, ...remote]) };
}

/** The name of a user may have any characters, which scripts read as UTF-8. */
function writeUser(user: string, out: Buffer, at: number): number {
  return writeTextParam(out, at, REMOTE_USER, Buffer.from(user.replaceAll("\0", ""), "utf8").latin1Slice());
}

/** Where the name of a host ends: before its port. */
function endOfName(head: Buffer, from: number, to: number): number {
  const colon = head.lastIndexOf(Byte.Colon, to - 1);
  return colon <= from || colon >= to || head[to - 1] === CLOSING_BRACKET ? to : colon;
}

const CLOSING_BRACKET = 0x5d;
const CONTENT_LENGTH: Uint8Array = latin1("CONTENT_LENGTH");
const CONTENT_TYPE: Uint8Array = latin1("CONTENT_TYPE");
const QUERY_STRING: Uint8Array = latin1("QUERY_STRING");
const REMOTE_ADDR: Uint8Array = latin1("REMOTE_ADDR");
const REMOTE_USER: Uint8Array = latin1("REMOTE_USER");
const REQUEST_URI_RAW: Uint8Array = latin1("REQUEST_URI_RAW");
const REQUEST_METHOD: Uint8Array = latin1("REQUEST_METHOD");
const REQUEST_URI: Uint8Array = latin1("REQUEST_URI");
const SERVER_NAME: Uint8Array = latin1("SERVER_NAME");
const NO_LENGTH: Buffer = encodedParams([["CONTENT_LENGTH", ""]]);
const HTTP_10: Buffer = encodedParams([["SERVER_PROTOCOL", "HTTP/1.0"]]);
/** By major version, from 1 on; as nginx writes them. */
const VERSIONS: readonly Buffer[] = ["HTTP/1.1", "HTTP/2.0", "HTTP/3.0"].map((version) =>
  encodedParams([["SERVER_PROTOCOL", version]]),
);
const HTTP_SCHEME: Buffer = encodedParams([["REQUEST_SCHEME", "http"]]);
const HTTPS_SCHEME: Buffer = encodedParams([
  ["REQUEST_SCHEME", "https"],
  ["HTTPS", "on"],
]);
