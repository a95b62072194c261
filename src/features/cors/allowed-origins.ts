/** The part of an origin before a star, and the part behind it. */
interface OriginPattern {
  readonly start: string;
  readonly end: string;
}

/**
 * Origins that are allowed by name or by a pattern: `https://*.example.com` stands for all names below, and `https://*` for all names. The port of a
 * pattern is that of the origin. docs/guards.md#cors
 */
export class AllowedOrigins {
  private readonly named: ReadonlySet<string>;
  private readonly patterns: readonly OriginPattern[];

  /** @param origins in lower case; "*" is none of them */
  constructor(origins: readonly string[]) {
    this.named = new Set(origins.filter((origin) => !origin.includes("*")));
    this.patterns = origins
      .filter((origin) => origin.includes("//*"))
      .map((origin) => {
        const star = origin.indexOf("*");
        return { start: origin.slice(0, star), end: origin.slice(star + 1) };
      });
  }

  /** @param origin as a browser sends it, in lower case */
  has(origin: string): boolean {
    return this.named.has(origin) || (this.patterns.length > 0 && this.patterns.some((one) => fits(origin, one)));
  }
}

/** The star is part of a host name: no port, no user and no path are in it. */
function fits(origin: string, { start, end }: OriginPattern): boolean {
  const to = origin.length - end.length;
  if (to <= start.length || !origin.startsWith(start) || !origin.endsWith(end)) return false;
  return HOST_PART.test(origin.slice(start.length, to));
}

const HOST_PART = /^[a-z0-9_][a-z0-9._-]*$/;

/** Whether a text is the origin of a page with an address of its own: `null` stands for any number of pages. */
export function isPageOrigin(origin: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,]+$/.test(origin);
}
