import { escapedTemplate } from "../../../proto/template/template.ts";

/** Milliseconds of a time of nginx, such as `30`, `1m 30s` or `500ms`; null if it is none. */
export function nginxTime(text: string): number | null {
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  if (!/^(\d+(ms|[smhdwMy])\s*)+$/.test(text)) return null;
  let ms = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|[smhdwMy])\s*/gy)) ms += Number(count) * UNIT_MS[unit!]!;
  return ms;
}

/** Bytes of a size of nginx, such as `10m`; null if it is none. */
export function nginxSize(text: string): number | null {
  const parts = /^(\d+)([kKmMgG]?)$/.exec(text);
  if (parts === null) return null;
  return Number(parts[1]) * { "": 1, k: 1024, m: 1_048_576, g: 1_073_741_824 }[parts[2]!.toLowerCase()]!;
}

/**
 * A text with variables of nginx as one with placeholders; null if a variable has no counterpart. Groups of an expression are
 * `{match.N}` where `hasGroups` says so.
 */
export function nginxTemplate(text: string, hasGroups = false): string | null {
  let out = "";
  let from = 0;
  for (const found of text.matchAll(/\$(?:\{(\w+|map\.\w+)\}|(\w+))/g)) {
    const name = found[1] ?? found[2]!;
    const value = /^[1-9]$/.test(name) ? (hasGroups ? `{match.${name}}` : null) : placeholder(name);
    if (value === null) return null;
    out += escapedTemplate(text.slice(from, found.index)) + value;
    from = found.index + found[0].length;
  }
  return out + escapedTemplate(text.slice(from));
}

function placeholder(name: string): string | null {
  const fixed = VARIABLES[name];
  if (fixed !== undefined) return fixed;
  if (name.startsWith("map.")) return `{${name}}`;
  const answer = /^(?:sent|upstream)_(http|cookie)_(\w+)$/.exec(name);
  if (answer !== null)
    return answer[1] === "http"
      ? `{response.header.${answer[2]!.replaceAll("_", "-")}}`
      : `{response.cookie.${answer[2]}}`;
  const [, kind, rest = ""] = /^(http|cookie|arg)_(\w+)$/.exec(name) ?? [];
  if (kind === "http") return `{header.${rest.replaceAll("_", "-")}}`;
  return kind === undefined ? null : `{${kind === "arg" ? "query" : "cookie"}.${rest}}`;
}

/** THE variables of nginx that have a counterpart. docs/placeholders.md */
const VARIABLES: Readonly<Record<string, string>> = {
  host: "{host}",
  http_host: "{host}",
  hostname: "{host}",
  server_name: "{host}",
  proxy_host: "{host}",
  server_port: "{port}",
  scheme: "{scheme}",
  request_method: "{method}",
  uri: "{path}",
  document_uri: "{path}",
  request_uri: "{uri}",
  args: "{query}",
  query_string: "{query}",
  // "?" if there is a query: a query alone cannot be told from none.
  remote_addr: "{client_ip}",
  realip_remote_addr: "{client_ip}",
  binary_remote_addr: "{client_ip}",
  remote_port: "{client_port}",
  proxy_protocol_addr: "{proxy_protocol.address}",
  proxy_protocol_port: "{proxy_protocol.port}",
  server_protocol: "{protocol}",
  content_type: "{header.Content-Type}",
  content_length: "{header.Content-Length}",
  upstream_addr: "{upstream}",
  request_id: "{request_id}",
  remote_user: "{auth.user}",
  upstream_cache_status: "{cache.status}",
  ssl_protocol: "{tls.version}",
  ssl_server_name: "{tls.server_name}",
  ssl_session_reused: "{tls.resumed}",
  connection: "{connection}",
  ssl_client_s_dn: "{tls.subject}",
  geoip2_data_country_code: "{geo.country}",
  geoip_country_code: "{geo.country}",
};

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  M: 2_592_000_000,
  y: 31_536_000_000,
};
