import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { believeIdentity } from "../../proto/h1/claimed-fields.ts";
import { forwardedClient, type TrustedProxies } from "./forwarded-client.ts";

/**
 * Finds the client's real address where a trusted proxy is before the gateway: see `Exchange.clientIp`. Part of the
 * pipeline only where `trusted_proxies` is not empty.
 */
export class ClientAddressPhase implements Phase {
  readonly name = "clientAddress";
  private readonly trusted: TrustedProxies;

  constructor(trusted: TrustedProxies) {
    this.trusted = trusted;
  }

  run(ex: Exchange): Verdict {
    if (!this.trusted.has(ex.client.address)) return Verdict.Next;
    ex.fromTrustedProxy = true;
    const { headers } = ex.request;
    ex.forwardedIp = forwardedClient(headers, this.trusted);
    believeIdentity(headers);
    return Verdict.Next;
  }
}
