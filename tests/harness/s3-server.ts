import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { IS_LONG } from "./long-lane.ts";
import { freePort } from "./ports.ts";

const TOOLS = join(import.meta.dir, "../../.bun");
const MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const BUILD_MS = 400_000;

/** An S3 server, versitygw: one that is there, or built in the long lane (some 80 MB); null without it, which is said in one line. */
export async function s3Binary(): Promise<string | null> {
  const built = join(TOOLS, "versitygw");
  const found = existsSync(built) ? built : Bun.which("versitygw");
  if (found !== null || !IS_LONG) return found;
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  if (go !== undefined) {
    mkdirSync(TOOLS, { recursive: true });
    const env = { ...process.env, GOBIN: TOOLS, GOTOOLCHAIN: "local" };
    const child = Bun.spawn([go, "install", MODULE], { env, stdout: "ignore", stderr: "ignore", timeout: BUILD_MS });
    if ((await child.exited) === 0) return built;
  }
  console.log("skipped: S3 needs versitygw, a Go module, which could not be built");
  return null;
}

/** An S3 server of the test's own, with one bucket, whose objects are files. */
export class S3Server {
  readonly bucket = "edge-test";
  readonly accessKeyId = "test-key-id";
  readonly secretAccessKey = "test-secret-key";

  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly child: Bun.Subprocess,
  ) {}

  /** @param binary of `s3Binary` @param before a server that has ended, whose place and objects this one has */
  static async start(binary: string, before: S3Server | null = null): Promise<S3Server> {
    const folder = before?.folder ?? mkdtempSync(join(tmpdir(), "edge-s3-"));
    const port = before?.port ?? freePort();
    mkdirSync(join(folder, "data", "edge-test"), { recursive: true });
    mkdirSync(join(folder, "meta"), { recursive: true });
    const options = ["--port", `127.0.0.1:${port}`, "--quiet", "posix", "--sidecar", join(folder, "meta")];
    const child = Bun.spawn([binary, ...options, join(folder, "data")], {
      cwd: folder,
      env: { ...process.env, HOME: folder, ROOT_ACCESS_KEY: "test-key-id", ROOT_SECRET_KEY: "test-secret-key" },
      stdout: "ignore",
      stderr: "ignore",
    });
    const server = new S3Server(port, folder, child);
    process.on("exit", () => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    });
    await eventually(() => fetch(server.endpoint));
    return server;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Name and content of every object. */
  objects(): [string, string][] {
    const data = join(this.folder, "data", this.bucket);
    return (readdirSync(data, { recursive: true }) as string[])
      .filter((name) => statSync(join(data, name)).isFile())
      .map((name) => [name, readFileSync(join(data, name), "utf8")]);
  }

  /** Ends it; its objects stay. */
  async pause(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  async stop(): Promise<void> {
    await this.pause();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
