import type { Statement } from "../statement.ts";

/** One address of a site. */
export interface Address {
  readonly host: string;
  /** Whether it is of clear text, as far as the address shows it. */
  readonly isClear: boolean;
  readonly port: number;
}

/** A site with its addresses. */
export interface CaddyBlock {
  readonly site: Statement;
  readonly addresses: readonly Address[];
}

/** `http_port` and `https_port`. */
export function portsOf(options: Statement | null): { readonly http: number; readonly https: number } {
  const port = (name: string, usual: number): number => Number(options?.all(name)[0]?.args[0] ?? usual);
  return { http: port("http_port", 80), https: port("https_port", 443) };
}

/** Reads an address of a site: scheme, name and port. */
export function siteAddress(text: string, ports: { readonly http: number; readonly https: number }): Address {
  const [, scheme = "", rest = ""] = /^(?:(https?):\/\/)?(.*)$/s.exec(text)!;
  const slash = rest.indexOf("/");
  const parts = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(slash < 0 ? rest : rest.slice(0, slash));
  const host = (parts?.[1] ?? "").toLowerCase().replace(/^(0\.0\.0\.0|\[::\]|\*)$/, "");
  const port = Number(parts?.[2] ?? -1);
  const isClear =
    scheme === "http" || (scheme === "" && (port === ports.http || (host === "" && port !== ports.https)));
  return { host, isClear, port: port >= 0 ? port : isClear ? ports.http : ports.https };
}

/** A site of clear text that does nothing but lead to https. */
export function siteLeads(site: Statement): boolean {
  const block = site.block ?? [];
  return (
    block.length > 0 &&
    block.every(
      ({ name, args }) => name === "redir" && /^https:\/\//.test(args.find((one) => one.startsWith("http")) ?? ""),
    )
  );
}

/** The addresses that a site listens at; empty for all. */
export function boundTo(site: Statement, options: Statement | null = null): string[] {
  const own = site.all("bind").flatMap(({ args }) => args);
  const words = own.length > 0 ? own : (options?.all("default_bind").flatMap(({ args }) => args) ?? []);
  return words.some((word) => /^(0\.0\.0\.0|\[?::\]?)$/.test(word)) ? [] : words;
}

/** The sites as they are served: one with certificates of its own has TLS at every port but 80. */
export function sitesOf(list: readonly CaddyBlock[]): CaddyBlock[] {
  return list.map((one) => {
    const hasTls = one.site.all("tls").some(({ args }) => args.length > 0);
    const isSecure = ({ isClear, port }: Address): boolean => isClear && port !== 80 && hasTls;
    return {
      ...one,
      addresses: one.addresses.map((address) => (isSecure(address) ? { ...address, isClear: false } : address)),
    };
  });
}
