import { latin1, TOKEN } from "../../core/bytes.ts";
import { Claim, claimOf } from "../../proto/h1/claimed-fields.ts";
import { canonicaliseDeeply } from "../../proto/target/canonical-path.ts";
import { removeDotSegments } from "../../proto/target/dot-segments.ts";
import { decodeFully } from "../../proto/target/percent-decoding.ts";

/** A probe that may be sent: its head as HTTP/1.1. */
interface ProbeRequest {
  readonly ok: true;
  readonly head: Buffer;
  /** For the check that a route is there. */
  readonly canonicalPath: string;
}

/** Why a probe may not be sent. */
interface ProbeRefusal {
  readonly ok: false;
  readonly status: 400 | 403;
  readonly message: string;
}

/**
 * Reads the body of a proxy-test call and makes the probe's head. docs/endpoints.md#proxy-test
 * @param text the body, JSON
 * @param host the Host of the probe where it brings none of its own
 */
export function readProbe(text: string, host: string): ProbeRequest | ProbeRefusal {
  const call = parseCall(text);
  if (typeof call === "string") return refuse(400, call);
  const method = call.method ?? "GET";
  if (typeof method !== "string" || !METHODS.includes(method)) return refuse(400, "method must be GET, HEAD or POST");
  if (typeof call.path !== "string" || call.path === "") return refuse(400, "path is missing");
  const target = call.path.startsWith("/") ? call.path : `/${call.path}`;
  if (!isPlainTarget(call.path)) return refuse(400, "path must be relative, without scheme, host or user info");
  const { canonical } = canonicaliseDeeply(pathOf(target));
  if (leadsInside(target) || isInternal(canonical)) return refuse(403, "paths under /internal/ cannot be probed");
  const headers = readHeaders(call.headers ?? {});
  if (!Array.isArray(headers)) return headers;
  const named = headers.some(([name]) => name.toLowerCase() === "host");
  const lines = [`${method} ${target} HTTP/1.1`, ...(named ? [] : [`Host: ${host}`]), ...headers.map(asLine)];
  if (method === "POST") lines.push("Content-Length: 0");
  return { ok: true, head: Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), canonicalPath: canonical };
}

interface ProbeCall {
  readonly path?: unknown;
  readonly method?: unknown;
  readonly headers?: unknown;
}

function parseCall(text: string): ProbeCall | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Said below, like every other body that is no object.
  }
  return "the body must be a JSON object with path, method and headers";
}

/** Visible ASCII only, no backslash; nothing before the first slash, and no second one right after it. */
function isPlainTarget(path: string): boolean {
  if (!/^[\x21-\x5b\x5d-\x7e]+$/.test(path) || path.startsWith("//")) return false;
  const first = pathOf(path).split("/")[0]!;
  return !first.includes(":") && !first.includes("@");
}

function pathOf(target: string): string {
  return target.split(/[?#]/)[0]!;
}

/** Under any number of decodings and with every kind of slash, does the path lead to the internal endpoints? */
function leadsInside(target: string): boolean {
  const decoded = decodeFully(pathOf(target)).text.replaceAll("\\", "/").replace(/\/+/g, "/");
  return isInternal(decoded) || isInternal(removeDotSegments(decoded));
}

function isInternal(path: string): boolean {
  const lower = path.toLowerCase();
  return lower === "/internal" || lower.startsWith("/internal/");
}

function readHeaders(given: unknown): [string, string][] | ProbeRefusal {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    return refuse(400, "headers must be an object");
  const kept: [string, string][] = [];
  for (const [name, value] of Object.entries(given)) {
    // Origins that read fields as CGI does take `_` for `-`, and some of them any other sign.
    const lower = name.toLowerCase().replace(/[^a-z0-9]/g, "-");
    if (IDENTITY.includes(lower)) return refuse(403, `the header ${lower} cannot be probed with`);
    if (typeof value !== "string" || !isToken(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      return refuse(400, "header names must be tokens, and values text on one line");
    }
    if (!claims(name) && !STRIPPED.includes(lower)) kept.push([name, value]);
  }
  return kept;
}

/** Whether the field says whom a request comes from: a probe comes from its caller. */
function claims(name: string): boolean {
  return claimOf(latin1(name), 0, name.length) !== Claim.None && name.toLowerCase() !== "x-request-id";
}

function isToken(name: string): boolean {
  return name !== "" && [...name].every((character) => TOKEN[character.codePointAt(0)!] === 1);
}

function asLine([name, value]: readonly [string, string]): string {
  return `${name}: ${value}`;
}

function refuse(status: 400 | 403, message: string): ProbeRefusal {
  return { ok: false, status, message };
}

const METHODS: readonly string[] = ["GET", "HEAD", "POST"];
const IDENTITY: readonly string[] = ["x-authenticated-user", "x-admin", "x-user", "x-remote-user"];
/** Credentials, which a probe must not carry, and what frames the message, which is the gateway's own business. */
const STRIPPED: readonly string[] = [
  "authorization",
  "cookie",
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
];
