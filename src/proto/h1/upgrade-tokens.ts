import { sliceText } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { ListTokens } from "./list-tokens.ts";

/**
 * Whether a head's Upgrade fields name HTTP, alone or among others. RFC 9113 §3.1: servers ignore that since 2022; HTTP/2
 * in cleartext begins with its preface.
 */
export function namesHttp(headers: HeaderBlock): boolean {
  for (let i = headers.find(HeaderId.Upgrade); i >= 0; i = headers.find(HeaderId.Upgrade, i + 1)) {
    if (protocolsAt(headers, i).some((one) => HTTP.test(one))) return true;
  }
  return false;
}

/**
 * Whether an origin may be asked for what Upgrade names: one field, of protocols other than HTTP. Upgrading to HTTP by way
 * of an origin would take the requests after it out of the gateway's sight; what is no protocol's name could be taken for
 * it by an origin.
 */
export function isForwardableUpgrade(headers: HeaderBlock): boolean {
  const protocols = protocolsOf(headers);
  return protocols.length > 0 && protocols.every((one) => PROTOCOL.test(one) && !HTTP.test(one));
}

/** Whether a 101 switches to what was asked for, and to nothing else. RFC 9110 §7.8. */
export function grantsUpgrade(asked: HeaderBlock, response: HeaderBlock): boolean {
  const protocols = protocolsOf(response);
  const wanted = protocolsOf(asked);
  return protocols.length > 0 && protocols.every((one) => wanted.includes(one));
}

/** The protocols of the Upgrade field, in lower case; none if there is no such field, or more than one. */
function protocolsOf(headers: HeaderBlock): string[] {
  const index = headers.find(HeaderId.Upgrade);
  return index < 0 || headers.find(HeaderId.Upgrade, index + 1) >= 0 ? [] : protocolsAt(headers, index);
}

function protocolsAt(headers: HeaderBlock, index: number): string[] {
  const tokens = new ListTokens(headers, index);
  const protocols: string[] = [];
  while (tokens.next()) protocols.push(sliceText(headers.bytes, tokens.from, tokens.to).toLowerCase());
  return protocols;
}

/** A name and perhaps a version. RFC 9110 §7.8. */
const PROTOCOL = /^[\w!#$%&'*+.^`|~-]+(\/[\w!#$%&'*+.^`|~-]+)?$/;
/** `h2c`, `h2`, `HTTP/2.0`, drafts such as `h2c-14`; and `TLS/1.2` (RFC 2817), after which HTTP goes on. */
const HTTP = /^(h2c?(-\d+)?|https?|tls)(\/|$)/;
