import { SAID_OF_CLIENTS } from "../../core/identity-names.ts";
import { HOP_BY_HOP_NAMES } from "../../message/hop-by-hop.ts";

/** Of messages and connections, and of the gateway's own words about the client. docs/upstreams.md#fields-that-are-sent */
export const RESERVED_FIELDS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_NAMES,
  "host",
  "content-length",
  "expect",
  "cookie",
  "via",
  "forwarded",
  ...SAID_OF_CLIENTS,
]);
