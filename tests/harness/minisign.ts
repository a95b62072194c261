import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProcess } from "./run-process.ts";

/** Where minisign is; null without it. */
export const MINISIGN: string | null = Bun.which("minisign");
if (MINISIGN === null) console.log("skipped: signatures need minisign (Debian: apt install minisign)");

/** A pair of keys of minisign, without a password. */
export class MinisignKey {
  private constructor(private readonly folder: string) {}

  static async make(): Promise<MinisignKey> {
    const folder = mkdtempSync(join(tmpdir(), "edge-minisign-"));
    const key = new MinisignKey(folder);
    await key.run("-G", "-W", "-p", key.publicFile, "-s", key.secretFile);
    return key;
  }

  /** The text of `minisign.pub`. */
  get publicText(): string {
    return readFileSync(this.publicFile, "utf8");
  }

  /** The text of `.minisig` for a text. @param options of the command line, such as -l or -t COMMENT */
  async sign(text: string, ...options: readonly string[]): Promise<string> {
    const file = join(this.folder, "text");
    writeFileSync(file, text);
    await this.run("-S", "-s", this.secretFile, "-m", file, ...options);
    return readFileSync(`${file}.minisig`, "utf8");
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private get publicFile(): string {
    return join(this.folder, "key.pub");
  }

  private get secretFile(): string {
    return join(this.folder, "key.sec");
  }

  private async run(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await runProcess([MINISIGN!, ...args], { cwd: this.folder, env: {}, timeout: 20_000 });
    if (code !== 0) throw new Error(`minisign: ${stderr}`);
  }
}
