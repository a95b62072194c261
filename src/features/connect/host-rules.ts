/** An entry of `allow`: hosts and ports. */
export interface HostRule {
  /** A name, an address without brackets, `*.` and a domain, or `*`. */
  readonly host: string;
  /** 0 for every port; none for 80 and 443. */
  readonly port: number | null;
}

const RULE =
  /^(\*|(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_-]{1,63}){0,31}|\[[0-9a-f:.]{2,45}\])(?::(\*|[1-9]\d{0,4}))?$/;
const USUAL_PORTS: readonly number[] = [80, 443];

/** Reads `*.example.com:443`; null for a text that is none. */
export function hostRule(text: string): HostRule | null {
  const parts = text.length > 300 ? null : RULE.exec(text.trim().toLowerCase());
  if (parts === null) return null;
  const [, host = "", port] = parts;
  const number = port === "*" ? 0 : Number(port);
  if (port !== undefined && number > 65_535) return null;
  return { host: host.replace(/^\[|\]$/g, ""), port: port === undefined ? null : number };
}

/** The text of a rule. */
export function ruleText({ host, port }: HostRule): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return port === null ? name : `${name}:${port === 0 ? "*" : port}`;
}

/** The hosts and ports that clients may name: all others are refused. docs/forward-proxy.md#where-to */
export class HostRules {
  private readonly exact: ReadonlyMap<string, readonly HostRule[]>;
  private readonly domains: ReadonlyMap<string, readonly HostRule[]>;
  private readonly any: readonly HostRule[];

  constructor(rules: readonly HostRule[]) {
    this.any = rules.filter(({ host }) => host === "*");
    this.domains = Map.groupBy(
      rules.filter(({ host }) => host.startsWith("*.")),
      ({ host }) => host.slice(2),
    );
    this.exact = Map.groupBy(
      rules.filter(({ host }) => !host.startsWith("*")),
      ({ host }) => host,
    );
  }

  /** @param hostname lower case, without brackets and without a dot at its end */
  allows(hostname: string, port: number): boolean {
    if (takes(this.any, port) || takes(this.exact.get(hostname), port)) return true;
    for (let dot = hostname.indexOf("."); dot >= 0; dot = hostname.indexOf(".", dot + 1))
      if (takes(this.domains.get(hostname.slice(dot + 1)), port)) return true;
    return false;
  }
}

function takes(rules: readonly HostRule[] | undefined, port: number): boolean {
  return (
    rules?.some((rule) => (rule.port === null ? USUAL_PORTS.includes(port) : rule.port === 0 || rule.port === port)) ===
    true
  );
}
