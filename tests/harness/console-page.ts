import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** One step of a page: a file that is written, or a command with what it prints. */
export type PageStep =
  | { readonly kind: "file"; readonly name: string; readonly text: string }
  | { readonly kind: "command"; readonly section: string; readonly line: string; readonly printed: string };

/**
 * The steps of a page of docs, in order: `yaml` blocks that begin with the name of a file, and `console` blocks.
 * @param until a heading; what is below it is left out
 */
export function pageSteps(page: string, until: string): readonly PageStep[] {
  const text = readFileSync(join(DOCS, page), "utf8");
  const [before] = text.split(`\n## ${until}\n`);
  const steps: PageStep[] = [];
  let section = "";
  for (const [, heading, kind, block] of before!.matchAll(/^## (.*)$|^```(\w+)\n([\s\S]*?)^```$/gm)) {
    if (heading !== undefined) section = heading;
    const name = /^# (\w+\.yaml)\n/.exec(block ?? "")?.[1];
    if (kind === "yaml" && name !== undefined) steps.push({ kind: "file", name, text: block! });
    if (kind !== "console") continue;
    for (const part of block!.split(/^\$ /m).slice(1)) {
      const end = part.indexOf("\n");
      steps.push({ kind: "command", section, line: part.slice(0, end), printed: part.slice(end + 1) });
    }
  }
  return steps;
}

/**
 * Whether an output is the one of the page: `…` is any text on a line, a line that is `…` any number of lines. Blanks
 * at ends of lines do not count.
 */
export function isPrinted(expected: string, output: string): boolean {
  const escaped = plain(expected)
    .split("\n")
    .map((line) => (line === "…" ? "(?:[^\\n]*\\n?)*?" : `${line.split("…").map(literal).join("[^\\n]*")}\\n?`));
  return new RegExp(`^${escaped.join("")}$`).test(plain(output));
}

/** A shell that runs one command after another in one folder, with its jobs, as a terminal would. */
export class PageShell {
  private readonly shell: Bun.Subprocess<"pipe", "pipe", "pipe">;
  private readonly output: AsyncIterator<Uint8Array>;
  private pending = "";

  /** @param home the folder, also that of `~`; created if missing */
  constructor(home: string, env: Readonly<Record<string, string>> = {}) {
    mkdirSync(home, { recursive: true });
    this.shell = Bun.spawn(["bash"], {
      cwd: home,
      env: { PATH: process.env.PATH ?? "", HOME: home, LC_ALL: "C.UTF-8", ...env },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.output = this.shell.stdout[Symbol.asyncIterator]();
  }

  /** Runs a command. @returns its standard output and error @throws where it takes too long */
  async run(line: string): Promise<string> {
    this.shell.stdin.write(`{ ${line}\n} 2>&1; echo; echo ${END}\n`);
    await this.shell.stdin.flush();
    const late = setTimeout(() => this.end(), LIMIT_MS);
    try {
      for (;;) {
        const at = this.pending.indexOf(`\n${END}\n`);
        if (at >= 0) {
          const output = this.pending.slice(0, at);
          this.pending = this.pending.slice(at + END.length + 2);
          return output;
        }
        const { value, done } = await this.output.next();
        if (done === true) throw new Error(`no end of: ${line}\n${this.pending}`);
        this.pending += Buffer.from(value).toString("utf8");
      }
    } finally {
      clearTimeout(late);
    }
  }

  /** Writes a file into the folder in which the shell is now. */
  async write(name: string, text: string): Promise<void> {
    writeFileSync(join((await this.run("pwd")).trim(), name), text);
  }

  end(): void {
    this.shell.kill("SIGKILL");
  }
}

function plain(text: string): string {
  return text.replace(/[ \t]+$/gm, "").trim();
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

const END = "--- end of the command ---";
const LIMIT_MS = 60_000;
const DOCS = join(import.meta.dir, "../../docs");
