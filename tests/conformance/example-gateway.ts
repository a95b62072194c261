import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** grpc-gateway before its own example services, and the gRPC servers behind it; see grpc-gateway/main.go. */
export class ExampleGateway {
  private constructor(
    private readonly child: Bun.Subprocess<"ignore", "pipe", "inherit">,
    private readonly folder: string,
    /** The server of the examples; the one that gives messages back; grpc-gateway itself. */
    readonly urls: { readonly examples: string; readonly echoes: string; readonly gateway: string },
    /** The service configuration of UnannotatedEchoService, which has no options. */
    readonly serviceConfig: string,
  ) {}

  /** Starts it. @param built as `buildExampleGateway` gives it */
  static async start(built: string): Promise<ExampleGateway> {
    const folder = mkdtempSync(join(tmpdir(), "edge-grpc-gateway-"));
    const child = Bun.spawn([join(built, "compare"), folder], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    const { value } = await child.stdout.getReader().read();
    const addresses = new TextDecoder().decode(value).trim().split(" ");
    const [examples, echoes, gateway] = addresses.map((address) => `http://${address}`) as [string, string, string];
    return new ExampleGateway(child, folder, { examples, echoes, gateway }, join(built, SERVICE_CONFIG));
  }

  /** The descriptors of all services. */
  get descriptorSet(): string {
    return join(this.folder, "examples.binpb");
  }

  stop(): void {
    this.child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** @returns the folder with the binary; null where Go or the module cannot be had, which is said in one line */
export async function buildExampleGateway(): Promise<string | null> {
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  if (go === undefined) {
    console.log("skipped: grpc-gateway's examples need go (Debian: apt install golang)");
    return null;
  }
  const source = join(import.meta.dir, "grpc-gateway", "main.go");
  const key = Bun.hash(MODULE + readFileSync(source, "utf8")).toString(36);
  const kept = join(import.meta.dir, "..", "..", ".bun", `grpc-gateway-${key}`);
  if (existsSync(join(kept, "compare"))) return kept;
  const built = await build(go, source, kept);
  if (!built) console.log("skipped: the module of grpc-gateway cannot be had or built");
  return built ? kept : null;
}

async function build(go: string, source: string, kept: string): Promise<boolean> {
  const env = { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod" };
  const download = Bun.spawn([go, "mod", "download", "-json", MODULE], { env, stderr: "ignore", timeout: BUILD_MS });
  const text = await download.stdout.text();
  if ((await download.exited) !== 0) return false;
  const module = (JSON.parse(text) as { readonly Dir: string }).Dir;
  const copy = mkdtempSync(join(tmpdir(), "edge-grpc-gateway-build-"));
  try {
    for (const part of MODULE_PARTS) cpSync(join(module, part), join(copy, part), { recursive: true });
    // What is in the module cache may not be written.
    chmodSync(copy, 0o755);
    Bun.spawnSync(["chmod", "-R", "u+w", copy]);
    const place = join(copy, "examples", "internal", "cmd", "compare");
    mkdirSync(place, { recursive: true });
    cpSync(source, join(place, "main.go"));
    const result = join(copy, "result");
    mkdirSync(result);
    const command = [go, "build", "-o", join(result, "compare"), "./examples/internal/cmd/compare"];
    const compile = Bun.spawn(command, { cwd: copy, env, stdout: "ignore", stderr: "ignore", timeout: BUILD_MS });
    if ((await compile.exited) !== 0) return false;
    cpSync(join(copy, "examples/internal/proto/examplepb", SERVICE_CONFIG), join(result, SERVICE_CONFIG));
    rmSync(kept, { recursive: true, force: true });
    mkdirSync(join(kept, ".."), { recursive: true });
    cpSync(result, `${kept}.part`, { recursive: true });
    renameSync(`${kept}.part`, kept);
    return true;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const MODULE = "github.com/grpc-ecosystem/grpc-gateway/v2@v2.27.3";
const SERVICE_CONFIG = "standalone_echo_service.yaml";
/** What the examples are made of. */
const MODULE_PARTS = [
  "go.mod",
  "go.sum",
  "internal",
  "runtime",
  "utilities",
  "protoc-gen-openapiv2",
  "examples/internal/proto",
  "examples/internal/server",
];
const BUILD_MS = 240_000;
