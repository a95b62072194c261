import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SHOP_FILE } from "../harness/grpc-shop.ts";
import { LineCollector } from "../harness/line-collector.ts";

/** The Shop service on gRPC for Go, see grpc-go/main.go. */
export class GoShop {
  readonly lines = new LineCollector();

  private constructor(
    private readonly child: Bun.Subprocess<"ignore", "pipe", "ignore">,
    readonly url: string,
    /** Where Go's protojson answers. */
    readonly reference: string,
  ) {}

  /** Starts it. @param binary as `buildGoShop` gives it */
  static async start(binary: string, reflection: "v1" | "v1alpha" | "both" | "none"): Promise<GoShop> {
    const child = Bun.spawn([binary, SHOP_FILE, reflection], { stdin: "ignore", stdout: "pipe", stderr: "ignore" });
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    reader.releaseLock();
    const [rpc, http] = new TextDecoder().decode(value).trim().split(/\s+/);
    const shop = new GoShop(child, `http://127.0.0.1:${rpc}`, `http://127.0.0.1:${http}`);
    void shop.lines.follow(child.stdout);
    return shop;
  }

  stop(): void {
    this.child.kill("SIGKILL");
  }
}

/** Builds the server; null where Go or its modules cannot be had, which is said in one line. */
export async function buildGoShop(): Promise<string | null> {
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  if (go === undefined) {
    console.log("skipped: gRPC for Go needs go (Debian: apt install golang)");
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), "edge-go-shop-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const binary = join(folder, "shop");
  const build = Bun.spawn([go, "build", "-o", binary, "."], {
    cwd: join(import.meta.dir, "grpc-go"),
    env: { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod" },
    stdout: "ignore",
    stderr: "ignore",
    timeout: BUILD_MS,
  });
  if ((await build.exited) === 0) return binary;
  console.log("skipped: the modules of gRPC for Go cannot be had");
  return null;
}

const BUILD_MS = 120_000;
