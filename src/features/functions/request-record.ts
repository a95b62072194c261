import { type Exchange, UNKNOWN_CLIENT } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { CLAIMS } from "../../proto/h1/claimed-fields.ts";
import { dropTable, HOP_BY_HOP } from "../../proto/h1/reply-encoder.ts";
import { requestScheme } from "../../proto/template/placeholders.ts";
import { writeFields } from "./field-record.ts";
import type { Batch, CallKind } from "./wire.ts";

/** Fields about a connection, and what a client says in the gateway's place, are not for functions. */
const DROPPED: readonly HeaderId[] = [...HOP_BY_HOP, ...CLAIMS].filter((id) => id !== HeaderId.ContentLength);
const DROP: Uint8Array = dropTable(DROPPED);
const DROP_ON_UPGRADE: Uint8Array = dropTable(
  DROPPED.filter((id) => id !== HeaderId.Upgrade && id !== HeaderId.Connection),
);

/** Writes the fields of a record of a request. The exchange has its id. */
export function writeCall(out: Batch, kind: CallKind, ex: Exchange, hasBody: boolean): void {
  out.line(kind);
  out.line(ex.request.methodText());
  out.line(urlOf(ex));
  out.line(ex.clientIp === UNKNOWN_CLIENT ? "" : ex.clientIp);
  out.line(ex.reply.requestId());
  out.line(ex.route!.label);
  out.line(authOf(ex));
  out.line(hasBody ? "1" : "0");
  writeFields(out, ex.request.headers, ex.request.upgrade ? DROP_ON_UPGRADE : DROP);
}

/** The URL as the client asked for it, before a prefix is taken off. docs/functions.md#modules */
function urlOf(ex: Exchange): string {
  const { request } = ex;
  const target = request.text(request.pathFrom, request.queryTo);
  const path = target.startsWith("/") ? target : target.startsWith("?") ? `/${target}` : "/";
  return `${requestScheme(ex)}://${request.authority() || "localhost"}${path}`;
}

function authOf({ identity }: Exchange): string {
  return identity === null ? "" : JSON.stringify({ user: identity.user, claims: identity.claims });
}
