import { latin1 } from "../../core/bytes.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { isSameFolded } from "../../proto/h1/claimed-fields.ts";

/**
 * Takes the fields by which methods of `auth` tell origins who asks off every request of every client on
 * every route, in any case and with any separator. Part of the pipeline only where a method sets some. docs/authentication.md#fields-of-a-method
 */
export class IdentityFieldsPhase implements Phase {
  readonly name = "identityFields";
  private readonly names: readonly Uint8Array[];
  /** 1 where a name has this many bytes. */
  private readonly lengths: Uint8Array;

  /** @param names in lower case */
  constructor(names: readonly string[]) {
    this.names = names.map(latin1);
    this.lengths = new Uint8Array(Math.max(...names.map(({ length }) => length)) + 1);
    for (const { length } of names) this.lengths[length] = 1;
  }

  run({ request: { headers } }: Exchange): Verdict {
    const { bytes, count, spans } = headers;
    for (let i = 0; i < count; i++) {
      const from = spans[i * 4]!;
      const to = spans[i * 4 + 1]!;
      if (this.lengths[to - from] !== 1) continue;
      for (let n = 0; n < this.names.length; n++) {
        if (isSameFolded(bytes, from, to, this.names[n]!)) headers.ids[i] = HeaderId.NamedByConnection;
      }
    }
    return Verdict.Next;
  }
}
