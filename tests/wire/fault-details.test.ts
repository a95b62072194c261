// A broken origin for every cause of a 502 or 504: the log says which it was.
import { afterAll, describe, expect, test } from "bun:test";
import { FAULT_DETAILS } from "../../src/core/fault-detail-rows.ts";
import {
  type Break,
  BrokenOrigins,
  fieldBlock,
  frame,
  says,
  saysAndCloses,
  saysAndResets,
} from "../harness/broken-origins.ts";
import { makeCertificate, TestAuthority } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { endRecord, record, STDOUT } from "../harness/fastcgi-records.ts";
import { FullBacklog } from "../harness/full-backlog.ts";
import { freePort, type Settings, startGateway } from "../harness/gateway.ts";
import { NameServer } from "../harness/name-server.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const OK = "HTTP/1.1 200 OK\r\n";
const SETTINGS = frame(4, 0, 0);
const HEADERS = 1;
const DATA = 0;
const END_STREAM = 1;
const END_HEADERS = 4;
const STATUS = [":status", "200"] as const;

/** The frames of an origin of HTTP/2 for the first stream, with its SETTINGS before them. */
function h2(...frames: readonly Uint8Array[]): readonly Uint8Array[] {
  return [SETTINGS, ...frames];
}

function head(fields: readonly (readonly [string, string])[], flags = END_HEADERS): Uint8Array {
  return frame(HEADERS, flags, 1, fieldBlock(...fields));
}

const fields = (count: number): [string, string][] => Array.from({ length: count }, (_, i) => [`x-${i}`, "1"]);
const lines = (count: number): string =>
  fields(count)
    .map(([name]) => `${name}: 1\r\n`)
    .join("");
const goAway = (last: number, code: number): Uint8Array => {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(last, 0);
  payload.writeUInt32BE(code, 4);
  return frame(7, 0, 0, payload);
};
const resetOf = (code: number): Uint8Array => frame(3, 0, 1, Buffer.from([0, 0, 0, code]));
const alert = "\x15\x03\x03\x00\x02\x02\x28";

/** What an origin does by protocol, in the order of the table. */
const BROKEN: readonly (readonly [detail: string, protocol: "http" | "h2c" | "fastcgi" | "https", act: Break])[] = [
  ["cleartext_on_tls", "http", saysAndCloses(alert)],
  ["cleartext_on_tls", "h2c", saysAndCloses(alert)],
  ["not_http", "http", saysAndCloses("SSH-2.0-OpenSSH_9.2\r\n")],
  ["not_http", "h2c", saysAndCloses("SSH-2.0-OpenSSH_9.2\r\n")],
  ["not_http", "fastcgi", saysAndCloses("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ["http1_on_h2", "h2c", saysAndCloses("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")],
  ["h2_on_http1", "http", saysAndCloses(SETTINGS, goAway(0, 1))],
  ["closed_before_head", "http", saysAndCloses()],
  ["closed_before_head", "h2c", saysAndCloses(...h2())],
  ["closed_before_head", "fastcgi", saysAndCloses()],
  ["closed_before_head", "fastcgi", saysAndCloses(endRecord())],
  ["reset_before_head", "http", saysAndResets()],
  ["reset_before_head", "http", saysAndResets(OK)],
  ["reset_before_head", "h2c", saysAndResets(...h2())],
  ["reset_before_head", "fastcgi", saysAndResets()],
  ["closed_in_head", "http", saysAndCloses(`${OK}Content-Le`)],
  ["closed_in_head", "fastcgi", saysAndCloses(record(STDOUT, "Content-Ty"))],
  ["first_byte_timeout", "http", says()],
  ["first_byte_timeout", "h2c", says(...h2())],
  ["first_byte_timeout", "fastcgi", says()],
  ["head_timeout", "http", says(OK)],
  ["head_timeout", "h2c", says(...h2(head([STATUS], 0)))],
  ["head_timeout", "fastcgi", says(record(STDOUT, "Content-Ty"))],
  ["bad_status", "http", says("HTTP/1.1 2x0 OK\r\n\r\n")],
  ["bad_status", "http", says("HTTP/1.1 099 OK\r\n\r\n")],
  ["bad_status", "http", says("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")],
  ["bad_status", "h2c", says(...h2(head([[":status", "2x0"]])))],
  ["bad_status", "h2c", says(...h2(head([["x", "1"]])))],
  ["bad_status", "fastcgi", saysAndCloses(record(STDOUT, "Status: 2x0\r\n\r\n"), endRecord())],
  ["bad_field", "http", says(`${OK}X-A : 1\r\nContent-Length: 0\r\n\r\n`)],
  ["bad_field", "http", says(`${OK}X-A: a\x01b\r\nContent-Length: 0\r\n\r\n`)],
  ["bad_field", "h2c", says(...h2(head([STATUS, ["connection", "close"]])))],
  ["bad_field", "h2c", says(...h2(head([STATUS, ["X-Upper", "1"]])))],
  ["bad_field", "fastcgi", saysAndCloses(record(STDOUT, "X A: 1\r\n\r\n"), endRecord())],
  ["bad_length", "http", says(`${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`)],
  ["bad_length", "http", says(`${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)],
  ["bad_length", "http", says(`${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`)],
  ["bad_length", "h2c", says(...h2(head([STATUS, ["content-length", "x"]])))],
  ["bad_length", "h2c", says(...h2(head([STATUS, ["content-length", "2"]]), frame(DATA, END_STREAM, 1, "hello")))],
  ["bad_length", "fastcgi", saysAndCloses(record(STDOUT, "Content-Length: x\r\n\r\n"), endRecord())],
  ["too_many_fields", "http", says(`${OK}${lines(300)}Content-Length: 0\r\n\r\n`)],
  ["too_many_fields", "h2c", says(...h2(head([STATUS, ...fields(300)])))],
  ["too_many_fields", "fastcgi", saysAndCloses(record(STDOUT, `${lines(300)}\r\n`), endRecord())],
  ["head_too_large", "http", says(`${OK}X-A: ${"a".repeat(100_000)}\r\n\r\n`)],
  ["head_too_large", "h2c", says(...h2(...largeHead()))],
  [
    "head_too_large",
    "fastcgi",
    says(...Array.from({ length: 9 }, () => record(STDOUT, `X-A: ${"a".repeat(9000)}\r\n`))),
  ],
  ["bad_chunk", "http", says(`${OK}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`)],
  ["closed_in_body", "http", saysAndCloses(`${OK}Content-Length: 9\r\n\r\nhello`)],
  ["closed_in_body", "http", saysAndCloses(`${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`)],
  ["closed_in_body", "h2c", saysAndCloses(...h2(head([STATUS]), frame(DATA, 0, 1, "hello")))],
  ["closed_in_body", "fastcgi", saysAndCloses(record(STDOUT, "X: 1\r\n\r\nhello"))],
  ["reset_in_body", "http", saysAndResets(`${OK}Content-Length: 9\r\n\r\nhello`)],
  ["reset_in_body", "h2c", saysAndResets(...h2(head([STATUS]), frame(DATA, 0, 1, "hello")))],
  ["reset_in_body", "fastcgi", saysAndResets(record(STDOUT, "X: 1\r\n\r\nhello"))],
  ["idle_timeout", "http", says(`${OK}Content-Length: 9\r\n\r\nhello`)],
  ["idle_timeout", "h2c", says(...h2(head([STATUS]), frame(DATA, 0, 1, "hello")))],
  ["idle_timeout", "fastcgi", says(record(STDOUT, "X: 1\r\n\r\nhello"))],
  ["h2_reset", "h2c", says(...h2(resetOf(2)))],
  ["h2_reset", "h2c", says(...h2(head([STATUS]), frame(DATA, 0, 1, "hello"), resetOf(2)))],
  ["h2_goaway", "h2c", saysAndCloses(...h2(goAway(0, 0)))],
  ["h2_goaway", "h2c", saysAndCloses(...h2(goAway(1, 2)))],
  ["h2_protocol", "h2c", says(...h2(frame(DATA, 0, 0, "x")))],
  ["h2_protocol", "h2c", says(...h2(frame(HEADERS, END_HEADERS, 1, "\xff\xff\xff\xff\xff\xff")))],
  ["tls_on_cleartext", "https", saysAndCloses("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ["tls_handshake_closed", "https", saysAndCloses()],
  ["tls_handshake_closed", "https", saysAndResets()],
  ["tls_handshake_timeout", "https", says()],
  ["tls_alert", "https", saysAndCloses(alert)],
];

/** More than 64 KiB of fields, in four frames. */
function largeHead(): readonly Uint8Array[] {
  const block = fieldBlock(STATUS, ["x-a", "a".repeat(60_000)], ["x-b", "b".repeat(9000)]);
  const pieces = [0, 1, 2, 3, 4].map((i) => block.subarray(i * 16_000, (i + 1) * 16_000));
  return pieces.map((piece, i) => frame(i === 0 ? HEADERS : 9, i === pieces.length - 1 ? END_HEADERS : 0, 1, piece));
}

interface Case {
  readonly detail: string;
  readonly what: string;
  readonly target: string;
  readonly more: Settings;
}

const SCRIPTS = { fastcgi: { root: "/srv/app", check_files: false } };
const origins = new BrokenOrigins();
const names = await NameServer.start();
const backlog = await FullBacklog.start();
const cases: Case[] = [];
const files: Record<string, string> = {};

function add(detail: string, target: string, more: Settings = {}): void {
  const { length } = cases.filter((one) => one.detail === detail);
  const [scheme] = target.split(":");
  cases.push({ detail, what: `${detail}-${scheme}-${length}`.replace(/[:]/g, "-"), target, more });
}

for (const [detail, protocol, act] of BROKEN) {
  const target = `${protocol}://127.0.0.1:${await origins.add(act)}`;
  add(detail, target, protocol === "fastcgi" ? SCRIPTS : {});
}
await addConnections();
await addCertificates();
afterAll(() => {
  origins.stop();
  names.stop();
  backlog?.stop();
});

async function addConnections(): Promise<void> {
  for (const scheme of ["http", "h2c", "fastcgi"]) {
    const target = `${scheme}://127.0.0.1:${freePort()}`;
    add("connect_refused", target, scheme === "fastcgi" ? SCRIPTS : {});
  }
  add("socket_not_found", "unix:/nowhere/app.sock");
  if (backlog !== null)
    for (const scheme of ["http", "h2c"]) add("connect_timeout", `${scheme}://127.0.0.1:${backlog.port}`);
  for (const scheme of ["http", "h2c"]) add("dns_not_found", `${scheme}://gone.test:${freePort()}`);
}

async function addCertificates(): Promise<void> {
  const authority = await TestAuthority.make("known");
  const past = { notBefore: new Date(Date.now() - 2e8), notAfter: new Date(Date.now() - 1e8) };
  const loopback = [{ type: "ip", value: "127.0.0.1" }] as const;
  files["known.pem"] = authority.cert;
  const tls = { ca_file: "known.pem" };
  const serve = async (options: {
    cert: string;
    key: string;
    ca?: string;
    requestCert?: boolean;
    rejectUnauthorized?: boolean;
  }) => origins.add(saysAndCloses(`${OK}Content-Length: 0\r\n\r\n`), options);
  const known = await authority.issue({ names: loopback });
  for (const scheme of ["https", "h2"]) {
    add("tls_verify:self_signed", `${scheme}://127.0.0.1:${await serve(await makeCertificate([...loopback]))}`);
    add("tls_verify:unknown_issuer", `${scheme}://127.0.0.1:${await serve(known)}`);
    add(
      "tls_verify:expired",
      `${scheme}://127.0.0.1:${await serve(await authority.issue({ names: loopback, ...past }))}`,
      { tls },
    );
    const other = await authority.issue({ names: [{ type: "dns", value: "other.test" }] });
    add("tls_verify:name", `${scheme}://127.0.0.1:${await serve(other)}`, { tls });
  }
  add("http1_on_h2", `h2://127.0.0.1:${await serve(known)}`, { tls });
  const picky = { ...known, ca: authority.cert, requestCert: true, rejectUnauthorized: true };
  add("tls_alert", `https://127.0.0.1:${await serve(picky)}`, { tls });
}

const good = EchoOrigin.start();
good.on("/ok", (call) => call.reply("200 OK", [], "here"));
const refused = `http://127.0.0.1:${freePort()}`;

const gateway = await startGateway({
  config: { server: { workers: 1, debug_header: true }, proxy: { transport: { nameservers: [names.address] } } },
  routes: [
    ...cases.map(({ what, target, more }) => ({ prefix: `/${what}`, target, ...more })),
    { prefix: "/dns_failed", target: "http://broken.test:1" },
    { prefix: "/dns_timeout", target: "http://silent.test:1" },
    { prefix: "/again", targets: [{ url: refused }, { url: good.url, backup: true }], retries: { attempts: 1 } },
  ].map((route) => ({
    type: "upstream",
    retries: { attempts: 0 },
    timeouts: { connect: "300ms", response_header: "200ms", idle: "200ms" },
    circuit_breaker: { failure_threshold: 1000 },
    ...route,
  })),
  files,
});
afterAll(() => stopAll(gateway, good));

test("every row has a case", () => {
  const others = ["dns_failed", "dns_timeout", ...(backlog === null ? ["connect_timeout"] : [])];
  const seen = new Set([...cases.map(({ detail }) => detail), ...others]);
  expect(
    FAULT_DETAILS.slice(1)
      .map(({ label }) => label)
      .filter((label) => !seen.has(label)),
  ).toEqual([]);
});

describe("the log says why", () => {
  test.each(cases)("$what", async ({ what, detail, target }) => {
    const reply = await gateway.once(request(`GET /${what}/a`)).catch(() => null);
    const line = await gateway.log("its line", (one) => one.event === "access" && one.path === `/${what}/a`);
    expect(line).toMatchObject({ fault_detail: detail, target, attempts: 1 });
    expect(line.attempt_ms).toHaveLength(1);
    expect(line.fault).not.toBeNull();
    if (reply !== null && reply.status >= 500) expect(reply.fields.get("x-edge-fault")).toBe(detail);
    const event = await gateway.log(
      "its event",
      (one) => one.event === "upstream_failed" && one.upstream === target && one.fault_detail === detail,
    );
    expect(event.request_id).toBe(line.request_id);
  });
});

describe("the log says of the name servers", () => {
  test.each([
    ["dns_failed", "isBroken"],
    ["dns_timeout", "isSilent"],
  ] as const)("%s", async (detail, fault) => {
    names[fault] = true;
    await gateway.once(request(`GET /${detail}/a`));
    names[fault] = false;
    const line = await gateway.log("its line", (one) => one.event === "access" && one.path === `/${detail}/a`);
    expect(line).toMatchObject({ status: 502, fault: "name_unresolved", fault_detail: detail, attempts: 1 });
  });
});

describe("a request that succeeds", () => {
  test("has its attempts in its line, and no fault", async () => {
    expect((await gateway.once(request("GET /again/ok"))).status).toBe(200);
    const line = await gateway.log("its line", (one) => one.event === "access" && one.path === "/again/ok");
    expect(line).toMatchObject({ fault: null, fault_detail: null, target: good.url, attempts: 2 });
    expect(line.attempt_ms).toHaveLength(2);
    const event = await gateway.log("why it was sent again", (one) => one.upstream === refused);
    expect(event).toMatchObject({ event: "upstream_failed", reason: "ECONNREFUSED", fault_detail: "connect_refused" });
    expect(event.request_id).toBe(line.request_id);
  });

  test("of the gateway's own has no attempt, and a refusal repeats its fault", async () => {
    await gateway.once(request("GET /nowhere"));
    const line = await gateway.log("its line", (one) => one.event === "access" && one.path === "/nowhere");
    expect(line).toMatchObject({ status: 404, target: null, attempts: 0, attempt_ms: [] });
    expect(line.fault_detail).toBe(line.fault as string);
  });
});

describe("the cause in a header", () => {
  test("is for operators alone: not for clients that another proxy forwards for", async () => {
    const path = `/${cases[0]!.what}/a`;
    const mine = await gateway.once(request(`GET ${path}`));
    const theirs = await gateway.once(request(`GET ${path}`, ["X-Forwarded-For: 192.0.2.1"]));
    expect([mine.status, theirs.status]).toEqual([502, 502]);
    expect(mine.fields.get("x-edge-fault")).toBe(cases[0]!.detail);
    expect(theirs.fields.has("x-edge-fault")).toBe(false);
  });

  test("is on refusals of the gateway too, and on no response of an origin", async () => {
    expect((await gateway.once(request("GET /nowhere"))).fields.get("x-edge-fault")).toBe("not_found");
    expect((await gateway.once(request("GET /again/ok"))).fields.has("x-edge-fault")).toBe(false);
  });
});
