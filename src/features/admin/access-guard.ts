import { createHash, timingSafeEqual } from "node:crypto";
import type { Cidr } from "../../config/cidr.ts";
import { Fault } from "../../core/fault.ts";
import { NetworkSet } from "../../core/network-set.ts";
import { errorBody } from "../../core/status.ts";
import { isLoopback } from "../../message/client-peer.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { requestHost, takesHost } from "../../message/request-host.ts";
import { saysForwarded } from "../../proto/h1/claimed-fields.ts";
import { prebuiltJson } from "./built-in-response.ts";
import { FOREIGN, isForeign } from "./foreign-origin.ts";
import { isLocalName } from "./local-name.ts";
import type { Operator } from "./operator.ts";

/** What `internal_api` says of all who may come. */
interface AccessConfig {
  readonly allow: readonly Cidr[];
  readonly hosts: readonly string[];
  readonly token: string;
  readonly auth: { readonly enabled: boolean };
}

/**
 * Who may see `/internal/*` and `/metrics`: loopback peers and the networks of `internal_api.allow`,
 * judged on the TCP peer; all others get 403. The client that a PROXY header or a trusted proxy names must be allowed as well.
 * With `internal_api.auth`, all who may come must be admitted by it, or show the token.
 * With `internal_api.token` set alone, all who may come must also show it (401 otherwise). Without one, a request that another
 * proxy has forwarded gets 403, and clients on this machine, and all that come by their address alone, must also call the gateway by a name
 * that no page of the web can have, or by one of `internal_api.hosts`: a page whose name resolves to the gateway's address gets 403.
 * Who may open the UNIX socket of `internal_api.socket` may come, and needs nothing else; the sockets of other listeners are for clients. docs/security.md#internal-endpoints
 */
export class AccessGuard {
  private readonly networks: NetworkSet;
  private readonly hosts: readonly string[];
  private readonly tokenDigest: Buffer | null;
  private readonly hasAuth: boolean;

  constructor(config: AccessConfig) {
    this.hasAuth = config.auth.enabled;
    this.networks = new NetworkSet(config.allow);
    this.hosts = config.hosts;
    this.tokenDigest = config.token === "" ? null : digest(config.token);
  }

  /**
   * Answers the exchange with a refusal if it must not go on.
   * @returns whether it may
   */
  admits(ex: Exchange): boolean {
    if (ex.client.listener.isForOperators) return true;
    if (!this.mayCome(ex)) {
      ex.sink.abort(ex, Fault.AccessDenied);
      return false;
    }
    if (this.tokenDigest !== null && this.showsToken(ex, this.tokenDigest)) return true;
    const isLetIn = this.hasAuth ? ex.identity !== null : this.tokenDigest === null;
    if (isLetIn) return this.isCalledRightly(ex);
    ex.sink.fixed(ex, UNAUTHORIZED);
    return false;
  }

  /** The same for what tells nothing of the gateway: no token is needed, since a page that a browser goes to cannot show one. */
  admitsShell(ex: Exchange): boolean {
    if (ex.client.listener.isForOperators) return true;
    if (!this.hasAuth && this.tokenDigest !== null && this.mayCome(ex)) return this.isCalledRightly(ex);
    return this.admits(ex);
  }

  /**
   * The same for what acts: the caller must be an operator, and no page of another origin. `internal_api.allow` alone, which may name a
   * network of scrapers, lets clients look and not act. Everything that changes something, or has the gateway send something, asks this.
   */
  admitsOperator(ex: Exchange): boolean {
    if (!this.admits(ex)) return false;
    const refusal = isForeign(ex.request) ? FOREIGN : this.knowsOperator(ex) ? null : UNKNOWN;
    if (refusal !== null) ex.sink.fixed(ex, refusal);
    return refusal === null;
  }

  /** Whether a request that `admits` has let in may act, without a refusal. */
  mayAct(ex: Exchange): boolean {
    return !isForeign(ex.request) && this.knowsOperator(ex);
  }

  private knowsOperator(ex: Exchange): boolean {
    const { socketAddress } = ex.client;
    if (this.operatorOf(ex).by !== "") return true;
    return isLoopback(socketAddress) && isLoopback(ex.clientIp);
  }

  /** Who asks, of a request that `admits` has let in. */
  operatorOf(ex: Exchange): Operator {
    const { socketAddress, listener } = ex.client;
    if (listener.isForOperators) return { by: socketAddress.replace("unix:", "uid "), from: "unix" };
    const showsToken = this.tokenDigest !== null && this.showsToken(ex, this.tokenDigest);
    return { by: ex.identity?.user ?? (showsToken ? "token" : ""), from: ex.clientIp };
  }

  /** Whether `internal_api.auth` has no say in a request: it may not come at all, or shows the token. */
  decide(ex: Exchange): boolean {
    if (ex.client.listener.isForOperators) return true;
    return !this.mayCome(ex) || (this.tokenDigest !== null && this.showsToken(ex, this.tokenDigest));
  }

  /**
   * Whether a request to any route comes from one whom `admits` lets in: the host name does not count, since the route has
   * its own. With `internal_api.auth` without a token, the UNIX socket alone tells.
   */
  recognizes(ex: Exchange): boolean {
    if (ex.client.listener.isForOperators) return true;
    if (!this.mayCome(ex)) return false;
    return this.tokenDigest === null ? !this.hasAuth : this.showsToken(ex, this.tokenDigest);
  }

  /** A proxy that is not trusted, or that names no client, may forward for any: what it forwards needs the token. */
  private mayCome(ex: Exchange): boolean {
    const { client, forwardedIp } = ex;
    if (!this.knows(client.socketAddress) || (!client.isDirect() && !this.knows(client.address))) return false;
    if (forwardedIp !== "") return this.knows(forwardedIp);
    return this.tokenDigest !== null || !saysForwarded(ex.request.headers);
  }

  private knows(address: string): boolean {
    return isLoopback(address) || this.networks.has(address);
  }

  private isCalledRightly(ex: Exchange): boolean {
    if (!isLoopback(ex.clientIp) && (this.hasAuth || this.tokenDigest !== null)) return true;
    const host = requestHost(ex.request);
    if (isLocalName(host) || (this.hosts.length > 0 && takesHost(this.hosts, host))) return true;
    ex.sink.fixed(ex, MISNAMED);
    return false;
  }

  private showsToken(ex: Exchange, expected: Buffer): boolean {
    const { headers } = ex.request;
    const index = headers.find(HeaderId.Authorization);
    // Two of them are no valid credentials.
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
const MISNAMED = prebuiltJson(403, errorBody(403, "not under this host name: internal_api.hosts does not name it"));
const UNKNOWN = prebuiltJson(
  403,
  errorBody(403, "actions need internal_api.token, a user of internal_api.auth, or a caller on this machine"),
);
const UNAUTHORIZED = prebuiltJson(401, errorBody(401, "a bearer token is needed"), [
  ["WWW-Authenticate", 'Bearer realm="edge"'],
]);
