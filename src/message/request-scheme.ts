import type { ClientPeer } from "./client-peer.ts";
import { HeaderId } from "./header-block.ts";
import type { RequestHead } from "./request-head.ts";

/** What a scheme is asked of. */
interface Asked {
  readonly request: RequestHead;
  readonly client: ClientPeer;
  readonly fromTrustedProxy: boolean;
}

/**
 * The scheme that the client used: what a trusted proxy says, else that of the connection. THE reading of X-Forwarded-Proto: its first
 * element is the client's own (`https, http` behind two proxies), and `wss` and `ws` are the schemes of handshakes that are sent as
 * requests of `https` and `http`. docs/security.md#identity-headers
 */
export function requestScheme({ request, client, fromTrustedProxy }: Asked): "https" | "http" {
  const told = fromTrustedProxy ? toldScheme(request.headers.valueOf(HeaderId.XForwardedProto)) : "";
  if (told !== "") return told;
  return client.tls ? "https" : "http";
}

function toldScheme(value: string): "https" | "http" | "" {
  if (value === "") return "";
  const comma = value.indexOf(",");
  switch ((comma < 0 ? value : value.slice(0, comma)).trim().toLowerCase()) {
    case "https":
    case "wss":
      return "https";
    case "http":
    case "ws":
      return "http";
    default:
      return "";
  }
}
