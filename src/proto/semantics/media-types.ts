const REMEMBERED_TYPES = 256;

/** Which media types are meant: `text/html`, `text/*`, and those with a suffix (RFC 6838 §4.2.8): `application/*+json`. */
export class MediaTypes {
  private readonly patterns: readonly (readonly [start: string, end: string])[];
  /** Field values that have been judged. */
  private readonly known: Map<string, boolean> = new Map();

  constructor(patterns: readonly string[]) {
    this.patterns = patterns.map((pattern) => {
      const [start = "", end] = pattern.toLowerCase().split("*");
      return [start, end ?? EXACT];
    });
  }

  /** @param value of Content-Type, with its parameters */
  has(value: string): boolean {
    let is = this.known.get(value);
    if (is === undefined) {
      is = this.judge(value);
      if (this.known.size >= REMEMBERED_TYPES) this.known.clear();
      this.known.set(value, is);
    }
    return is;
  }

  private judge(value: string): boolean {
    const type = value.split(";", 1)[0]!.trim().toLowerCase();
    // Its messages are compressed one by one, by its own rules.
    if (type.startsWith("application/grpc") && !type.startsWith("application/grpc-web-text")) return false;
    return this.patterns.some(([start, end]) =>
      end === EXACT
        ? type === start
        : type.length > start.length + end.length && type.startsWith(start) && type.endsWith(end),
    );
  }
}

const EXACT = "=";
