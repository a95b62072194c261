/**
 * Gives equal parts of routes as one object: of ten thousand routes most say nothing about health checks or headers, and
 * each would carry the same defaults through every thread. For plain data that is never changed.
 */
export class SharedParts {
  private readonly parts: Map<string, object> = new Map();

  /** The same values, with parts in place of equal ones that were seen before; `own` names those that are left alone. */
  share<T extends object>(whole: T, own: ReadonlySet<string>): T {
    const shared: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(whole)) {
      const isPart = typeof value === "object" && value !== null && !own.has(key);
      shared[key] = isPart ? this.one(value) : value;
    }
    return shared as T;
  }

  private one(part: object): object {
    const text = JSON.stringify(part);
    const known = this.parts.get(text);
    if (known !== undefined) return known;
    this.parts.set(text, part);
    return part;
  }
}
