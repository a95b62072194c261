import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { CODING_NAMES, Coding, codingWeights } from "../../proto/semantics/accept-encoding.ts";
import { forbidsTransforming } from "../../proto/semantics/transformed-head.ts";
import type { CompressionPolicy } from "./compression-policy.ts";

/**
 * Writes Accept-Encoding anew where responses are compressed: the encodings of the configuration that the client takes, the
 * one that it gets first. The cache so has few variants, and origin, files and `CompressingHandler` all go by the same.
 * docs/compression.md#negotiation
 */
export class ContentCodingPhase implements Phase {
  readonly name = "contentCoding";
  private readonly offers: readonly (Offer | null)[];

  /** @param policies by the routes' numbers; null for those whose responses are not compressed */
  constructor(policies: readonly (CompressionPolicy | null)[]) {
    this.offers = policies.map((policy) => policy && { codings: policy.codings, decided: new Map() });
  }

  run(ex: Exchange): Verdict {
    const offer = this.offers[ex.route!.index] ?? null;
    if (offer !== null) negotiate(ex.request, offer);
    return Verdict.Next;
  }
}

/** What a route has to offer. */
interface Offer {
  readonly codings: readonly Coding[];
  /** What has become of fields: browsers send few different ones. */
  readonly decided: Map<string, string>;
}

/** The coding that the client gets, after `ContentCodingPhase`. */
export function negotiatedCoding({ headers }: RequestHead): Coding {
  const index = headers.find(HeaderId.AcceptEncoding);
  if (index < 0) return Coding.Identity;
  return Math.max(0, FIRST_BYTES.indexOf(headers.bytes[headers.valueFrom(index)]!));
}

/** A client that says nothing of encodings stays so. */
function negotiate(request: RequestHead, offer: Offer): void {
  const { headers } = request;
  const first = headers.find(HeaderId.AcceptEncoding);
  if (first < 0) return;
  const isOne = headers.find(HeaderId.AcceptEncoding, first + 1) < 0;
  const text = headers.valueText(first);
  const value = wantsPlain(request)
    ? PLAIN
    : isOne
      ? decidedFor(request, text, offer)
      : accepted(request, offer.codings);
  if (!isOne || text !== value) headers.setValueOf(HeaderId.AcceptEncoding, value);
}

function decidedFor(request: RequestHead, text: string, { codings, decided }: Offer): string {
  const known = decided.get(text);
  if (known !== undefined) return known;
  const value = accepted(request, codings);
  if (decided.size >= MAX_DECIDED) decided.clear();
  if (text.length <= MAX_DECIDED_CHARS) decided.set(text, value);
  return value;
}

/** A range is one of the plain form, which can be continued; and a client may forbid every change (RFC 9111 §5.2.1.6). */
function wantsPlain({ headers }: RequestHead): boolean {
  return headers.find(HeaderId.Range) >= 0 || forbidsTransforming(headers);
}

function accepted({ headers }: RequestHead, codings: readonly Coding[]): string {
  const weights = codingWeights(headers);
  const wanted = codings.filter((coding) => weights[coding]! > 0).sort((a, b) => weights[b]! - weights[a]!);
  return wanted.length === 0 ? PLAIN : wanted.map((coding) => CODING_NAMES[coding]).join(", ");
}

const PLAIN = "identity";
const MAX_DECIDED = 256;
const MAX_DECIDED_CHARS = 128;
/** Of the names, by Coding: they all differ. */
const FIRST_BYTES: Uint8Array = Uint8Array.from(CODING_NAMES, (name) => name.charCodeAt(0));
