import { escapedTemplate } from "../../../proto/template/template.ts";

/** Milliseconds of a time of HAProxy, which counts bare numbers in milliseconds; null if it is none. */
export function haproxyTime(text: string): number | null {
  const parts = /^(\d+)(us|ms|s|m|h|d)?$/.exec(text);
  if (parts === null) return null;
  return Math.ceil(
    Number(parts[1]) * { us: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[parts[2] ?? "ms"]!,
  );
}

/** A log format as a text with placeholders; null if a part has no counterpart, or is a variable of the environment. */
export function formatOf(text: string): string | null {
  if (/\$(\{|[A-Za-z_])/.test(text)) return null;
  let out = "";
  let from = 0;
  for (let at = text.indexOf("%"); at >= 0; at = text.indexOf("%", from)) {
    const isSample = text[at + 1] === "[";
    const end = isSample ? text.indexOf("]", at + 2) + 1 : at + (text[at + 1] === "%" ? 2 : 3);
    const value = isSample
      ? end === 0
        ? undefined
        : sample(text.slice(at + 2, end - 1))
      : SHORT[text.slice(at + 1, end)];
    if (value === undefined) return null;
    out += escapedTemplate(text.slice(from, at)) + value;
    from = end;
  }
  return out + escapedTemplate(text.slice(from));
}

function sample(text: string): string | undefined {
  const plain = text.replace(/,lower$|,host_only$/, "").trim();
  if (Object.hasOwn(SAMPLES, plain)) return SAMPLES[plain];
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
