// The entry of scripts/conformance-connect: Connect's own conformance runner, whose reference server is behind a gateway.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProcess } from "../../harness/run-process.ts";
import { checkoutOf, versionOf, writeSuitePage } from "../suite-page.ts";

/** A part of the suite. */
interface Part {
  readonly name: string;
  readonly version: string;
  readonly protocols: string;
  /** Whether clients speak gRPC-Web to an origin that speaks gRPC alone. */
  readonly isBridge: boolean;
}

interface PartOutcome {
  readonly part: string;
  readonly passed: number;
  /** Names of cases, with the first line about each. */
  readonly failed: readonly (readonly [name: string, said: string])[];
  /** Why the part came to no end; "" if it did. */
  readonly fault: string;
}

/** gRPC is a protocol of HTTP/2 alone. */
const WITHOUT_GRPC = "PROTOCOL_CONNECT, PROTOCOL_GRPC_WEB";
const PARTS: readonly Part[] = [
  { name: "HTTP/1.1", version: "HTTP_VERSION_1", protocols: WITHOUT_GRPC, isBridge: false },
  { name: "HTTP/2", version: "HTTP_VERSION_2", protocols: `${WITHOUT_GRPC}, PROTOCOL_GRPC`, isBridge: false },
  { name: "HTTP/3", version: "HTTP_VERSION_3", protocols: WITHOUT_GRPC, isBridge: false },
  {
    name: "gRPC-Web to gRPC",
    version: "HTTP_VERSION_1, HTTP_VERSION_2",
    protocols: "PROTOCOL_GRPC_WEB",
    isBridge: true,
  },
];
const BUILD_MS = 900_000;
const PART_MS = 1_200_000;
/** The gateway does not look into compressed messages: one coding is as good as six. */
const COMPRESSIONS = "COMPRESSION_IDENTITY";

const usage = "scripts/conformance-connect CHECKOUT, a checkout of github.com/connectrpc/conformance";
const checkout = checkoutOf(join("cmd", "connectconformance"), usage, ["."]);
const tools = mkdtempSync(join(tmpdir(), "edge-connect-"));
process.on("exit", () => rmSync(tools, { recursive: true, force: true }));
if (!isBuilt()) {
  process.stderr.write("the programs of the suite cannot be built: it needs Go, and its modules\n");
  process.exit(2);
}
const outcomes: PartOutcome[] = [];
for (const part of PARTS) outcomes.push(await run(part));
writePage(outcomes);
process.exit(outcomes.every(({ fault, passed }) => fault === "" && passed > 0) ? 0 : 1);

function isBuilt(): boolean {
  if (Bun.which("go") === null) return false;
  const programs = ["connectconformance", "referenceserver", "grpcserver"].map((name) => `./cmd/${name}`);
  const env = { ...process.env, GOFLAGS: "-mod=mod" };
  const build = Bun.spawnSync(["go", "build", "-o", `${tools}/`, ...programs], {
    ...{ cwd: checkout, env, timeout: BUILD_MS, stdout: "ignore", stderr: "inherit" },
  });
  return build.exitCode === 0;
}

async function run({ name, version, protocols, isBridge }: Part): Promise<PartOutcome> {
  const settings = join(tools, "part.yaml");
  writeFileSync(
    settings,
    [
      "features:",
      `  versions: [${version}]`,
      `  protocols: [${protocols}]`,
      `  codecs: [CODEC_PROTO${isBridge ? "" : ", CODEC_JSON"}]`,
      `  compressions: [${COMPRESSIONS}]`,
      `  supportsTlsClientCerts: ${!isBridge}`,
      ...(isBridge ? ["  streamTypes: [STREAM_TYPE_UNARY, STREAM_TYPE_SERVER_STREAM]"] : []),
      "",
    ].join("\n"),
  );
  const origin = join(tools, isBridge ? "grpcserver" : "referenceserver");
  const server = [process.execPath, join(import.meta.dir, "server.ts")];
  const options = [
    ...["--mode", "server", "--conf", settings, "--max-servers", "1", "--parallel", "4"],
    // Of what grpc-go fails as a server of gRPC-Web, it leaves some calls without a response.
    ...(isBridge ? ["--skip", `@${join(checkout, "testing", "grpcserver-web-known-failing.txt")}`] : []),
    "--",
  ];
  const { stdout, stderr } = await runProcess([join(tools, "connectconformance"), ...options, ...server], {
    env: { ...process.env, EDGE_CONNECT_ORIGIN: origin, EDGE_CONNECT_BRIDGE: isBridge ? "1" : "0" },
    timeout: PART_MS,
  });
  const text = `${stdout}\n${stderr}`;
  const failed = [...text.matchAll(/^FAILED: (.+):\n\t(.*)$/gm)].map(([, at = "", said = ""]) => [at, said] as const);
  const counted = /^(\d+) passed, \d+ failed/m.exec(text);
  const fault = counted === null ? text.trim().split("\n").at(-1)! || "no end" : "";
  return { part: name, passed: Number(counted?.[1] ?? 0), failed, fault };
}

function writePage(all: readonly PartOutcome[]): void {
  const sum = (count: (one: PartOutcome) => number): number => all.reduce((total, one) => total + count(one), 0);
  writeSuitePage({
    name: "connect",
    title: "Connect's conformance suite",
    intro: [
      "Cases of github.com/connectrpc/conformance for servers: `scripts/conformance-connect CHECKOUT`. The suite's reference server is behind edge, and its reference client speaks",
      "Connect, gRPC and gRPC-Web to edge, with and without TLS and client certificates. *gRPC-Web to gRPC* has `grpc_web: true` before a server that speaks gRPC alone, grpc-go's;",
      "the cases that this server fails by the suite's own list, about calls with no message or with several, are left out there.",
    ].join("\n"),
    version: versionOf(checkout),
    counts: [
      ["passed", sum(({ passed }) => passed)],
      ["failed", sum(({ failed }) => failed.length)],
      ...all.map(({ part, passed }) => [`passed over ${part}`, passed] as const),
      ["parts without an end", all.filter(({ fault }) => fault !== "").length],
    ],
    columns: ["part", "case", "said", "reason"],
    rows: all.flatMap(({ part, failed, fault }) => [
      ...(fault === "" ? [] : [[part, "the part came to no end", fault, ""]]),
      ...failed.map(([name, said]) => [part, name, said, reasonOf(name)]),
    ]),
  });
}

function reasonOf(name: string): string {
  if (name.startsWith("Timeouts/"))
    return "the server cuts the stream at the deadline, and edge says that it did, not why";
  if (name.startsWith("TLS Client Certs/HTTPVersion:3"))
    return "habit: over HTTP/3 the runtime takes certificates that an authority has signed; that of the suite is its own authority";
  return "not explained yet";
}
