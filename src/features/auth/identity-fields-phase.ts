import { equalsLower, latin1 } from "../../core/bytes.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { isSameFolded } from "../../proto/h1/claimed-fields.ts";

/** Names of fields, in lower case. */
interface FieldNames {
  /** Those by which methods of `auth` tell origins who asks: no client's own goes on, in any case and with any separator. */
  readonly set: readonly string[];
  /**
   * Those by which the configuration chooses, counts, caches or lets in: they go on as they are, and no other spelling of them does, which an
   * origin might read for them (RFC 3875 §4.1.18).
   */
  readonly read: readonly string[];
  /** Identity fields that every client may send, as they are written here. */
  readonly passed: readonly string[];
}

/**
 * Takes fields off the requests of every client on every route, before anything looks at them. Part of the pipeline only if the
 * configuration names some. docs/authentication.md#fields-of-a-method, docs/security.md#one-key
 */
export class IdentityFieldsPhase implements Phase {
  readonly name = "identityFields";
  private readonly names: readonly Uint8Array[];
  /** How many of the names are `set`, which come first, and how many are `set` or `read`. */
  private readonly setCount: number;
  private readonly takenCount: number;
  /** 1 where a name has this many bytes. */
  private readonly lengths: Uint8Array;

  private constructor({ set, read, passed }: FieldNames) {
    const names = [...set, ...read, ...passed];
    this.names = names.map(latin1);
    this.setCount = set.length;
    this.takenCount = set.length + read.length;
    this.lengths = new Uint8Array(Math.max(...names.map(({ length }) => length)) + 1);
    for (const { length } of names) this.lengths[length] = 1;
  }

  /** Null if there is nothing to do: a name without a separator has one spelling. */
  static of({ set, read, passed }: FieldNames): IdentityFieldsPhase | null {
    const names = { set, passed, read: read.filter((name) => /[^a-z0-9]/.test(name)) };
    return set.length + passed.length + names.read.length === 0 ? null : new IdentityFieldsPhase(names);
  }

  run({ request: { headers } }: Exchange): Verdict {
    for (let i = 0; i < headers.count; i++) {
      const from = headers.nameFrom(i);
      const to = headers.nameTo(i);
      if (this.lengths[to - from] === 1) this.judge(headers, i, from, to);
    }
    return Verdict.Next;
  }

  private judge({ bytes, ids }: HeaderBlock, index: number, from: number, to: number): void {
    for (let n = 0; n < this.names.length; n++) {
      const name = this.names[n]!;
      if (!isSameFolded(bytes, from, to, name)) continue;
      const isExact = equalsLower(bytes, from, to, name);
      if (n < this.setCount || (n < this.takenCount && !isExact)) {
        ids[index] = HeaderId.NamedByConnection;
        return;
      }
      if (n >= this.takenCount && isExact) ids[index] = HeaderId.Other;
    }
  }
}
