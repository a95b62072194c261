import { createHash, timingSafeEqual } from "node:crypto";
import type { InternalApiConfig } from "../../config/runtime-config.ts";
import { Fault } from "../../core/fault.ts";
import { isLoopback } from "../../message/client.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-id.ts";
import { NetworkSet } from "../../shared/cidr.ts";
import { errorBody, jsonReply } from "./built-in-reply.ts";

/**
 * Who may see `/internal/*` and `/metrics`. Decisions, "Access": loopback peers and the networks of `internal_api.allow`,
 * judged on the TCP peer and never on a header; all others get 403. With `internal_api.token` set, those who may come
 * must also show it (401 otherwise), those on this machine included: what reaches the gateway through another proxy
 * here comes from loopback too.
 */
export class AccessGuard {
  private readonly networks: NetworkSet;
  private readonly tokenDigest: Buffer | null;

  constructor(config: Pick<InternalApiConfig, "allow" | "token">) {
    this.networks = new NetworkSet(config.allow);
    this.tokenDigest = config.token === "" ? null : digest(config.token);
  }

  /**
   * Answers the exchange with a refusal if it must not go on.
   * @returns whether it may
   */
  admits(ex: Exchange): boolean {
    const { client } = ex;
    // Behind a load balancer that sends PROXY headers, whoever it speaks for must be one of them too.
    const mayCome = this.knows(client.socketAddress) && (client.isDirect() || this.knows(client.address));
    if (!mayCome) {
      ex.sink.abort(ex, Fault.AccessDenied);
      return false;
    }
    if (this.tokenDigest === null || this.showsToken(ex, this.tokenDigest)) return true;
    ex.sink.fixed(ex, UNAUTHORIZED);
    return false;
  }

  private knows(address: string): boolean {
    return isLoopback(address) || this.networks.has(address);
  }

  private showsToken(ex: Exchange, expected: Buffer): boolean {
    const { headers } = ex.request;
    const index = headers.find(HeaderId.Authorization);
    // Two of them are nobody's credentials.
    if (index < 0 || headers.find(HeaderId.Authorization, index + 1) >= 0) return false;
    const bearer = BEARER.exec(headers.valueText(index));
    // Digests have one length, and comparing them takes one time, whatever was sent.
    return bearer !== null && timingSafeEqual(digest(bearer[1]!), expected);
  }
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token, "latin1").digest();
}

/** RFC 6750 §2.1; the scheme's case does not matter (RFC 9110 §11.1). */
const BEARER = /^bearer +(\S+)$/i;
const UNAUTHORIZED = jsonReply(401, errorBody(401, "a bearer token is needed"), [
  ["WWW-Authenticate", 'Bearer realm="edge"'],
]);
