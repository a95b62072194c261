import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { isRead, Method } from "../../message/request-head.ts";

/**
 * Sends clients that came in clear text to the same address over TLS, where their listener says so: `server.tls.redirect_http`,
 * `redirect_https`. The gateway's own endpoints
 * answer as always, for those who watch it; so do ACME challenges, which others than the gateway may answer: a GET or HEAD of
 * one token below their folder, and nothing else there. A client that a trusted proxy took over TLS is where it should be. CONNECT
 * and TRACE go on to the 405 that they get everywhere.
 * docs/security.md#tls-and-client-certificates
 */
export class HttpsRedirectPhase implements Phase {
  readonly name = "httpsRedirect";

  run(ex: Exchange): Verdict {
    const { httpsPort } = ex.client.listener;
    if (httpsPort < 0 || ex.client.tls || this.isExempt(ex)) return Verdict.Next;
    const { request } = ex;
    const host = request.authority().replace(PORT, "");
    if (host === "") {
      ex.sink.abort(ex, Fault.MissingHost);
      return Verdict.Done;
    }
    const query = request.queryTo > request.pathTo ? request.target().slice(request.pathTo - request.targetFrom) : "";
    const location = `https://${host}${httpsPort === HTTPS_PORT ? "" : `:${httpsPort}`}${request.path()}${query.split("#", 1)[0]}`;
    // RFC 9110 §15.4.9: 308 keeps method and body; clients of old know 301 alone.
    ex.sink.fixed(ex, new PrebuiltResponse(isRead(request.method) ? 301 : 308, [["Location", location]], ""));
    return Verdict.Done;
  }

  private isExempt({ route, request, canonicalPath, scheme }: Exchange): boolean {
    if (route?.kind.isBuiltIn === true) return true;
    if (scheme === "https") return true;
    if (request.method === Method.Connect || request.method === Method.Trace) return true;
    // Where the path leads, not how it is written: dot segments after the challenges' prefix lead out of it.
    const path = canonicalPath === "" ? request.path() : canonicalPath;
    return (isRead(request.method) && CHALLENGE.test(path)) || !path.startsWith("/");
  }
}

const HTTPS_PORT = 443;
/** RFC 8555 §8.3: a token is base64url. */
const CHALLENGE = /^\/\.well-known\/acme-challenge\/[\w-]+$/;
/** The port at the end of an authority, after a name, an IPv4 address or an IPv6 address in brackets. */
const PORT = /:\d*$/;
