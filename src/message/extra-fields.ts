import { HeaderBlock } from "./header-block.ts";

/**
 * Fields that a response gets beside its own: those of the gateway's policies. Made once for a configuration, so that
 * writing them is one copy; other protocols than HTTP/1.1 take the parts.
 */
export class ExtraFields {
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The fields as lines. */
  readonly lines: Buffer;
  private ownBlock: HeaderBlock | null = null;
  /** By the following fields; weakly, since a reload may replace their configuration. */
  private readonly joined: WeakMap<ExtraFields, ExtraFields> = new WeakMap();

  /** @param fields names and values without CR, LF and NUL, of characters below 0x100 */
  constructor(fields: readonly (readonly [string, string])[]) {
    this.fields = fields;
    this.lines = Buffer.from(fields.map(([name, value]) => `${name}: ${value}\r\n`).join(""), "latin1");
  }

  /** The fields as a block, for protocols that do not take the lines. Made when it is first asked for. */
  get block(): HeaderBlock {
    this.ownBlock ??= blockOf(this.fields);
    return this.ownBlock;
  }

  /** These fields and those after them, made once for each pair: there are as many as policies have responses. */
  with(others: ExtraFields): ExtraFields {
    let both = this.joined.get(others);
    if (both === undefined) {
      both = new ExtraFields([...this.fields, ...others.fields]);
      this.joined.set(others, both);
    }
    return both;
  }
}

/** The fields that give a cookie. A cache on the way must not give one client's cookie to others: the response is marked as this client's. RFC 9111 §5.2.2.7 */
export function cookieFields(cookie: string): ExtraFields {
  return new ExtraFields([
    ["Set-Cookie", cookie],
    ["Cache-Control", "private"],
  ]);
}

/** A block of these fields. */
export function blockOf(fields: readonly (readonly [name: string, value: string])[]): HeaderBlock {
  const block = new HeaderBlock();
  block.resetOwn();
  for (const [name, value] of fields) block.add(name, value);
  return block;
}

/** The values of the fields with a name, in any case of letters. */
export function valuesOf(fields: readonly (readonly [name: string, value: string])[], name: string): string[] {
  const lower = name.toLowerCase();
  return fields.filter(([one]) => one.toLowerCase() === lower).map(([, value]) => value);
}
