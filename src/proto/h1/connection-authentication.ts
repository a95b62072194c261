import { Byte, equalsLower, latin1 } from "../../core/ascii.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { HeaderId } from "../../message/header-id.ts";

/**
 * Whether a request may make an origin take its connection for that of one client: with NTLM and Negotiate, origins
 * authenticate connections and not requests (RFC 4559 §6). docs/security.md#connections-to-origins
 */
export function authenticatesConnection(headers: HeaderBlock): boolean {
  for (let i = headers.find(HeaderId.Authorization); i >= 0; i = headers.find(HeaderId.Authorization, i + 1)) {
    const from = headers.spans[i * 4 + 2]!;
    const to = headers.spans[i * 4 + 3]!;
    if (SCHEMES.some((scheme) => beginsWith(headers.bytes, from, to, scheme))) return true;
  }
  return false;
}

function beginsWith(bytes: Uint8Array, from: number, to: number, scheme: Uint8Array): boolean {
  const end = from + scheme.length;
  if (end > to || !equalsLower(bytes, from, end, scheme)) return false;
  return end === to || bytes[end] === Byte.Space || bytes[end] === Byte.Tab;
}

const SCHEMES: readonly Uint8Array[] = ["ntlm", "negotiate"].map(latin1);
