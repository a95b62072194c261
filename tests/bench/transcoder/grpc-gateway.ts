import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** grpc-gateway, the transcoder that most people run, in front of the Shop service; see grpc-gateway/main.go. */
export class GrpcGateway {
  private constructor(
    private readonly child: Bun.Subprocess<"ignore", "pipe", "inherit">,
    readonly port: number,
  ) {}

  get pid(): number {
    return this.child.pid;
  }

  /**
   * Starts it with one thread for Go code, as the gateway beside it has one worker.
   * @param binary as `buildGrpcGateway` gives it
   * @param server host:port of the gRPC server
   */
  static async start(binary: string, server: string): Promise<GrpcGateway> {
    const child = Bun.spawn([binary, server], {
      env: { ...process.env, GOMAXPROCS: "1" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    const { value } = await child.stdout.getReader().read();
    return new GrpcGateway(child, Number(new TextDecoder().decode(value).trim()));
  }

  stop(): void {
    this.child.kill("SIGKILL");
  }
}

/** Generates its code and builds it; null where Go, protoc or a module cannot be had, which is said in one line. */
export async function buildGrpcGateway(): Promise<string | null> {
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  if (go === undefined || Bun.which("protoc") === null) {
    console.log("skipped: grpc-gateway needs go and protoc (Debian: apt install golang protobuf-compiler)");
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), "edge-grpc-gateway-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(import.meta.dir, "grpc-gateway"), folder, { recursive: true });
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const env = { ...process.env, GOTOOLCHAIN: "local", GOBIN: bin, PATH: `${bin}:${process.env.PATH}` };
  const steps = [
    ...PLUGINS.map((plugin) => [go, "install", plugin]),
    protocCall(),
    [go, "build", "-o", "gateway", "."],
  ];
  for (const step of steps) {
    const run = Bun.spawn(step, { cwd: folder, env, stdout: "ignore", stderr: "ignore", timeout: STEP_MS });
    if ((await run.exited) === 0) continue;
    console.log(`skipped: grpc-gateway could not be built (${step.slice(0, 3).join(" ")})`);
    return null;
  }
  return join(folder, "gateway");
}

function protocCall(): string[] {
  const packages = [
    "shop.proto=edge.test/gateway/shop",
    ...["annotations", "http"].map(
      (name) => `google/api/${name}.proto=google.golang.org/genproto/googleapis/api/annotations`,
    ),
  ];
  const options = ["module=edge.test/gateway", ...packages.map((one) => `M${one}`)].join(",");
  const outputs = ["go", "go-grpc", "grpc-gateway"].flatMap((name) => [`--${name}_out=.`, `--${name}_opt=${options}`]);
  return ["protoc", "-I", join(import.meta.dir, "..", "..", "vectors", "transcode"), ...outputs, "shop.proto"];
}

const PLUGINS = [
  "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
  "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1",
  "github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway@v2.24.0",
];
const STEP_MS = 180_000;
