import { HeaderId, headerName } from "./header-block.ts";

/**
 * Fields about one connection or about how a message is framed on it, and those that Connection names: they are not passed
 * on. RFC 9110 §7.6.1; RFC 9112 §6.
 */
export const HOP_BY_HOP: readonly HeaderId[] = [
  HeaderId.Connection,
  HeaderId.ContentLength,
  HeaderId.TransferEncoding,
  HeaderId.KeepAlive,
  HeaderId.ProxyConnection,
  HeaderId.ProxyAuthenticate,
  HeaderId.ProxyAuthorization,
  HeaderId.Te,
  HeaderId.Trailer,
  HeaderId.Upgrade,
  HeaderId.NamedByConnection,
];

/**
 * The names of those about one connection, in lower case, and of `Trailers`, which the gateway does not send either: what no setting
 * may add, remove or choose by. docs/upstreams.md#fields-that-are-sent
 */
export const HOP_BY_HOP_NAMES: ReadonlySet<string> = new Set(
  [...HOP_BY_HOP, HeaderId.Trailers]
    .filter((id) => id !== HeaderId.ContentLength && id !== HeaderId.NamedByConnection)
    .map((id) => headerName(id).toLowerCase()),
);
