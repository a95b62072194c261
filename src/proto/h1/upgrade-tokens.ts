import { sliceText } from "../../core/bytes.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { HeaderId } from "../../message/header-id.ts";
import { ListTokens } from "./list-tokens.ts";

/**
 * Whether a head's Upgrade fields name HTTP/2, alone or among others. RFC 9113 §3.1: servers ignore that since 2022; HTTP/2
 * in cleartext begins with its preface.
 */
export function namesHttp2(headers: HeaderBlock): boolean {
  for (let i = headers.find(HeaderId.Upgrade); i >= 0; i = headers.find(HeaderId.Upgrade, i + 1)) {
    const tokens = new ListTokens(headers.bytes, headers.spans[i * 4 + 2]!, headers.spans[i * 4 + 3]!);
    while (tokens.next()) if (HTTP2.test(sliceText(headers.bytes, tokens.from, tokens.to))) return true;
  }
  return false;
}

/** `h2c`, `h2`, `HTTP/2.0`. */
const HTTP2 = /^(h2c?|http\/2(\..*)?)$/i;
