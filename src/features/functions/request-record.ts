import { Byte } from "../../core/bytes.ts";
import { UNKNOWN_CLIENT } from "../../message/client-peer.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import { requestScheme } from "../../message/request-scheme.ts";
import { CLAIMS } from "../../proto/h1/claimed-fields.ts";
import { isPlainPath } from "../../proto/h1/request-rules.ts";
import { dropTable } from "../../proto/h1/response-encoder.ts";
import { isShownAsItCame, shownPath } from "../../proto/target/routed-path.ts";
import type { Batch, CallKind } from "./wire.ts";

/** Fields about a connection, and what a client says in the gateway's place, are not for functions. */
const DROPPED: readonly HeaderId[] = [...HOP_BY_HOP, ...CLAIMS].filter((id) => id !== HeaderId.ContentLength);
const DROP: Uint8Array = dropTable(DROPPED);
const DROP_ON_UPGRADE: Uint8Array = dropTable(
  DROPPED.filter((id) => id !== HeaderId.Upgrade && id !== HeaderId.Connection),
);

/**
 * Writes the fields of a record of a request, which `CallHead` reads: lines of which none is empty, up to one that is. Names of fields are in lower
 * case, so that the thread finds one by searching the text. The exchange has its id.
 */
export function writeCall(out: Batch, kind: CallKind, ex: Exchange, hasBody: boolean): void {
  const { request } = ex;
  out.put(kind);
  out.line(hasBody ? 1 : 0);
  out.copy(request.bytes, request.methodFrom, request.methodTo);
  out.byte(Byte.Lf);
  writeUrl(out, ex);
  out.byte(Byte.Equals);
  out.line(ex.clientIp === UNKNOWN_CLIENT ? "" : ex.clientIp);
  out.byte(Byte.Equals);
  out.line(ex.response.requestId());
  out.byte(Byte.Equals);
  out.line(ex.route!.label);
  out.byte(Byte.Equals);
  out.line(authOf(ex));
  out.byte(Byte.Equals);
  writeRawTarget(out, ex);
  writeFields(out, ex, request.upgrade ? DROP_ON_UPGRADE : DROP);
  out.byte(Byte.Lf);
}

/**
 * The URL before a prefix is removed: scheme, authority, path and query. The path is that by which the route was chosen, so that what a module
 * decides by it holds for every spelling. docs/functions.md#modules
 */
function writeUrl(out: Batch, ex: Exchange): void {
  const { request } = ex;
  const { bytes, pathFrom, pathTo, queryTo } = request;
  out.put(requestScheme(ex));
  out.put("://");
  out.line(request.authority() || "localhost");
  if (pathTo > pathFrom && bytes[pathFrom] === Byte.Slash) {
    if (isPlainPath(request)) out.copy(bytes, pathFrom, pathTo);
    else out.put(shownPath(request));
  } else out.byte(Byte.Slash);
  out.copy(bytes, pathTo, queryTo);
  out.byte(Byte.Lf);
}

/** The target as the client has sent it, where the URL does not say it already. */
function writeRawTarget(out: Batch, { request }: Exchange): void {
  if (!isShownAsItCame(request)) out.copy(request.bytes, request.targetFrom, request.targetTo);
  out.byte(Byte.Lf);
}

function writeFields(out: Batch, { request: { headers } }: Exchange, drop: Uint8Array): void {
  const { bytes, ids, count } = headers;
  for (let i = 0; i < count; i++) {
    if (drop[ids[i]!] === 1) continue;
    out.copyLower(bytes, headers.nameFrom(i), headers.nameTo(i));
    out.byte(Byte.Colon);
    out.copy(bytes, headers.valueFrom(i), headers.valueTo(i));
    out.byte(Byte.Lf);
  }
}

function authOf({ identity }: Exchange): string {
  return identity === null ? "" : JSON.stringify({ user: identity.user, claims: identity.claims });
}
