/** The parts of a Set-Cookie field as browsers read them: RFC 6265 §5.2. Quotes mean nothing to them, and a semicolon always ends a part. */
export class SetCookie {
  /** `name=value`. */
  readonly pair: string;
  private attributes: { readonly name: string; readonly text: string }[];

  constructor(field: string) {
    const [pair, ...parts] = field.split(";");
    this.pair = pair!.trim();
    this.attributes = parts.map((part) => {
      const text = part.trim();
      return { name: nameIn(text).toLowerCase(), text };
    });
  }

  /** The name of the cookie; "" for a value without one. */
  get name(): string {
    return this.pair.includes("=") ? nameIn(this.pair) : "";
  }

  /**
   * Gives each attribute with this name another value.
   * @param lower the name in lower case
   * @param next the new value for a value, the same for no change; null takes the attribute out
   */
  change(lower: string, next: (value: string) => string | null): void {
    this.attributes = this.attributes.flatMap((attribute) => {
      if (attribute.name !== lower) return [attribute];
      const name = nameIn(attribute.text);
      const value = attribute.text.slice(name.length).replace(/^\s*=\s*/, "");
      const changed = next(value);
      if (changed === null) return [];
      return changed === value ? [attribute] : [{ name: lower, text: `${name}=${changed}` }];
    });
  }

  /** Puts an attribute in the place of all with its name, in any case. @param text null for none */
  put(name: string, text: string | null): void {
    const lower = name.toLowerCase();
    this.attributes = this.attributes.filter((attribute) => attribute.name !== lower);
    if (text !== null) this.attributes.push({ name: lower, text });
  }

  /** As a field says it. */
  toString(): string {
    return [this.pair, ...this.attributes.map(({ text }) => text)].join("; ");
  }
}

function nameIn(text: string): string {
  const end = text.indexOf("=");
  return (end < 0 ? text : text.slice(0, end)).trim();
}
