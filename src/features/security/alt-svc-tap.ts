import type { Exchange, ReplyTap } from "../../message/exchange.ts";
import { ExtraFields } from "../../message/extra-fields.ts";

/** Tells clients that come over TLS where HTTP/3 is to be had. RFC 7838 §3, RFC 9114 §3.1.1. */
export class AltSvcTap implements ReplyTap {
  readonly name = "altSvc";
  private readonly fields: ExtraFields;

  /** @param port UDP port of the HTTP/3 listener */
  constructor(port: number) {
    this.fields = new ExtraFields([["Alt-Svc", `h3=":${port}"; ma=${MAX_AGE_S}`]]);
  }

  onHead(ex: Exchange): void {
    if (ex.client.tls && ex.request.major < 3) ex.reply.addExtra(this.fields);
  }

  onFixed(ex: Exchange): void {
    this.onHead(ex);
  }

  onEnd(_ex: Exchange): void {}
}

const MAX_AGE_S = 86_400;
