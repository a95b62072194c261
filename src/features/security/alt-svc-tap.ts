import type { Exchange, ResponseTap } from "../../message/exchange.ts";

/** Tells clients that come over TLS where their listener has HTTP/3. RFC 7838 §3, RFC 9114 §3.1.1. */
export class AltSvcTap implements ResponseTap {
  readonly name = "altSvc";

  onHead(ex: Exchange): void {
    const { altSvc } = ex.client.listener;
    if (altSvc !== null && ex.client.tls && ex.request.major < 3) ex.response.addExtra(altSvc);
  }

  onFixed(ex: Exchange): void {
    this.onHead(ex);
  }

  onEnd(_ex: Exchange): void {}
}
