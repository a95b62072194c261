import { escapedTemplate } from "../../../proto/template/template.ts";
import { durationSetting } from "../plan.ts";

/** Milliseconds of a duration of Go, such as `1m30s`, or with days; null if it is none. */
export function goDuration(text: string): number | null {
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h|d))+$/.test(text)) return null;
  let ms = 0;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d)/gy))
    ms += Number(count) * UNIT_MS[unit!]!;
  return ms;
}

/** Bytes of a size such as `10MB` or `1MiB`; null if it is none. */
export function humanSize(text: string): number | null {
  const parts = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?$/i.exec(text.trim());
  if (parts === null) return null;
  const power = " kmgt".indexOf(parts[2]!.toLowerCase() || " ");
  return Math.floor(Number(parts[1]) * (parts[3] === "" ? 1000 : 1024) ** power);
}

/** A text with placeholders of Caddy as one with those of the gateway; null if one has no counterpart. */
export function caddyTemplate(text: string): string | null {
  let out = "";
  let from = 0;
  for (const found of text.matchAll(/\{([a-zA-Z_][\w.\-[\]]*)\}/g)) {
    const value = placeholder(found[1]!);
    if (value === null) return null;
    out += escapedTemplate(text.slice(from, found.index)) + value;
    from = found.index + found[0].length;
  }
  return out + escapedTemplate(text.slice(from));
}

function placeholder(name: string): string | null {
  const plain = name.replace(/^http\.request\./, "");
  const fixed = PLACEHOLDERS[plain];
  if (fixed !== undefined) return fixed;
  const [, kind, rest] = /^(header|cookie|query|uri\.query)\.(.+)$/.exec(plain) ?? [];
  if (kind !== undefined) return `{${kind === "uri.query" ? "query" : kind}.${rest}}`;
  const group = /^(?:http\.regexp|re)(?:\.[\w-]+)?\.(\d+)$/.exec(name)?.[1];
  return group === undefined || group === "0" ? null : `{match.${group}}`;
}

/** THE placeholders of Caddy that have a counterpart. docs/placeholders.md */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  host: "{host}",
  hostport: "{host}",
  port: "{port}",
  scheme: "{scheme}",
  method: "{method}",
  uri: "{uri}",
  orig_uri: "{uri}",
  path: "{path}",
  "uri.path": "{path}",
  "orig_uri.path": "{path}",
  query: "{query}",
  "uri.query": "{query}",
  remote_host: "{client_ip}",
  "remote.host": "{client_ip}",
  client_ip: "{client_ip}",
  "http.vars.client_ip": "{client_ip}",
  uuid: "{request_id}",
  tls_version: "{tls.version}",
  "tls.version": "{tls.version}",
  tls_client_subject: "{tls.subject}",
  "http.auth.user.id": "{auth.user}",
};

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** The networks of `private_ranges`. */
export const PRIVATE_RANGES: readonly string[] = [
  "192.168.0.0/16",
  "172.16.0.0/12",
  "10.0.0.0/8",
  "127.0.0.1/8",
  "fd00::/8",
  "::1",
];

/** For `timeouts` of the global options. */
export function timeText(text: string): string | null {
  const ms = goDuration(text);
  return ms === null || ms === 0 ? null : durationSetting(ms);
}

/** `$1` and `${1}` as groups of an expression. */
export function groups(text: string): string {
  return text.replace(/\$\{?(\d)\}?/g, "{match.$1}");
}
