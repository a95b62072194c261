import { escapedTemplate } from "../../../proto/template/template.ts";

/** Milliseconds of a time of HAProxy, which counts bare numbers in milliseconds; null where it is none. */
export function haproxyTime(text: string): number | null {
  const parts = /^(\d+)(us|ms|s|m|h|d)?$/.exec(text);
  if (parts === null) return null;
  return Math.ceil(
    Number(parts[1]) * { us: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[parts[2] ?? "ms"]!,
  );
}

/** A log format as a text with placeholders; null where a part has no counterpart. */
export function formatOf(text: string): string | null {
  let out = "";
  let from = 0;
  for (const found of text.matchAll(/%\[([^\]]+)\]|%(ci|hr|HM|HP|HU|ID|%)/g)) {
    const value = found[1] === undefined ? SHORT[found[2]!] : sample(found[1]);
    if (value === undefined) return null;
    out += escapedTemplate(text.slice(from, found.index)) + value;
    from = found.index + found[0].length;
  }
  const rest = text.slice(from);
  return /%[[{]/.test(rest) ? null : out + escapedTemplate(rest);
}

function sample(text: string): string | undefined {
  const plain = text.replace(/,lower$|,host_only$/, "").trim();
  const fixed = SAMPLES[plain];
  if (fixed !== undefined) return fixed;
  const [, kind, name] = /^(?:req\.)?(hdr|fhdr|cook|url_param|urlp)\(([\w-]+)\)$/.exec(plain) ?? [];
  if (kind === undefined) return undefined;
  if (/^host$/i.test(name!) && kind.endsWith("hdr")) return "{host}";
  return `{${kind.endsWith("hdr") ? "header" : kind === "cook" ? "cookie" : "query"}.${name}}`;
}

const SAMPLES: Readonly<Record<string, string>> = {
  src: "{client_ip}",
  path: "{path}",
  pathq: "{uri}",
  "capture.req.uri": "{uri}",
  "capture.req.method": "{method}",
  url: "{uri}",
  query: "{query}",
  method: "{method}",
  dst_port: "{port}",
  "unique-id": "{request_id}",
  "uuid()": "{request_id}",
  uuid: "{request_id}",
  ssl_fc_protocol: "{tls.version}",
  ssl_c_s_dn: "{tls.subject}",
};

const SHORT: Readonly<Record<string, string>> = {
  ci: "{client_ip}",
  HM: "{method}",
  HP: "{path}",
  HU: "{uri}",
  ID: "{request_id}",
  "%": "%",
};
