import { latin1 } from "../../core/bytes.ts";
import { HeaderId, headerIdFromName } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { CLAIMS } from "./claimed-fields.ts";

/**
 * A field of requests by its name, as it will be sent: THE reading of whatever chooses, counts, caches or lets in by a field. What is taken
 * off a client is not there, nor is what belongs to the connection or is named by it; another spelling of the name (`X_Team`) is another
 * field, which does not go on where the configuration goes by the name. docs/security.md#one-key
 */
export class SentField {
  /** In lower case. */
  readonly name: Uint8Array;
  private readonly id: HeaderId;
  private readonly isNeverSent: boolean;
  /** Whether the gateway writes it itself, and reads it of trusted proxies alone. */
  private readonly isOwn: boolean;

  constructor(name: string) {
    this.name = latin1(name.toLowerCase());
    this.id = headerIdFromName(name);
    this.isNeverSent = NEVER_SENT.has(this.id);
    this.isOwn = CLAIMS.includes(this.id);
  }

  /** Where the next one is, from the field `from` on; -1 if there is none. */
  find({ headers, sender }: RequestHead, from: number = 0): number {
    if (this.isNeverSent || (this.isOwn && !sender.fromTrustedProxy)) return -1;
    return this.id === HeaderId.Other ? headers.findNamed(this.name, from) : headers.find(this.id, from);
  }

  /** The values of all of them; of X-Forwarded-Proto the one that is sent. */
  values(head: RequestHead): string[] {
    if (this.id === HeaderId.XForwardedProto) return [head.sender.scheme];
    const values: string[] = [];
    for (let i = this.find(head); i >= 0; i = this.find(head, i + 1)) values.push(head.headers.valueText(i));
    return values;
  }
}

/** A length is sent as the gateway has read it, and an upgrade where it is one. */
const NEVER_SENT: ReadonlySet<HeaderId> = new Set(
  HOP_BY_HOP.filter((id) => id !== HeaderId.ContentLength && id !== HeaderId.Upgrade),
);
