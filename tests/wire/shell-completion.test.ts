import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE_MS } from "../harness/byte-socket.ts";
import { eventually } from "../harness/eventually.ts";
import { runEdge } from "../harness/gateway.ts";
import { runProcess } from "../harness/run-process.ts";

type Shell = "bash" | "zsh" | "fish";

const SHELLS = ["bash", "zsh", "fish"] as const;
const scripts: Record<Shell, string> = { bash: "", zsh: "", fish: "" };
/** What help says: the commands, and their flags as they are typed, by the words that lead to them. */
let commands: string[] = [];
const helped = new Map<string, string[]>();

const BELOW = ["agents list", "agents check", "kubernetes manifests"];

beforeAll(async () => {
  for (const shell of SHELLS) scripts[shell] = await printed("completion", shell);
  commands = [...(await printed("help")).matchAll(/^ {2}([\w-]+) {2}/gm)].map(([, name]) => name!);
  for (const words of [
    ...commands.filter((name) => name !== "help"),
    "waf test",
    "waf learn",
    "waf import",
    ...BELOW,
  ]) {
    const text = await printed(...words.split(" "), "--help");
    if (["waf", "agents", "kubernetes"].includes(words)) continue;
    helped.set(
      words,
      [...text.matchAll(/^ {2}(-.*?)(?: [^-\s]\S*)? {2}/gm)].flatMap(([, flags]) => flags!.split(", ")),
    );
  }
});

async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runEdge(args);
  expect([args.join(" "), code, stderr]).toEqual([args.join(" "), 0, ""]);
  return stdout;
}

/** Runs a script of a shell with files to complete in its folder. */
async function inShell(shell: Shell, script: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "edge-completion-"));
  try {
    mkdirSync(join(folder, "some folder"));
    writeFileSync(join(folder, "some file"), "");
    writeFileSync(join(folder, "edge.completion"), scripts[shell]);
    const options = { cwd: folder, env: { PATH: process.env.PATH, HOME: folder }, timeout: PATIENCE_MS };
    const done = await runProcess([shell, ...(shell === "fish" ? ["-N"] : []), "-c", script], options);
    expect(done.stderr).toBe("");
    return done.stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What bash offers for each line, the words as readline divides them; `@default` and `@dirnames` where it takes names of files. */
async function inBash(lines: readonly string[]): Promise<string[]> {
  const calls = lines.map((line) => {
    const words = line.split(/ |(?<==)|(?==)/).map((word) => `'${word}'`);
    return `COMP_WORDS=(${words.join(" ")}) COMP_CWORD=${words.length - 1}; _edge; echo "$option\${COMPREPLY[*]}"; option=`;
  });
  const stub = 'compopt() { option="@$2"; }';
  const text = await inShell("bash", `set -u; . ./edge.completion; option=; ${stub}\n${calls.join("\n")}`);
  return text.trimEnd().split("\n");
}

describe("bash completes", () => {
  test("commands, and every flag that help shows", async () => {
    const words = [...helped.keys()];
    const [all, ...flags] = await inBash(["edge ", ...words.map((one) => `edge ${one} -`)]);
    expect(all!.split(" ")).toEqual(commands);
    expect(words.length).toBeGreaterThan(20);
    flags.forEach((offered, i) => {
      expect([words[i], ...offered.split(" ").sort()]).toEqual([words[i], ...helped.get(words[i]!)!.toSorted()]);
    });
  });

  test.each<[string, string]>([
    ["edge se", "serve"],
    ["edge nothing ", ""],
    ["edge waf ", "test learn import"],
    ["edge waf learn --min", "--min-clients"],
    ["edge serve --log", "--log-format"],
    ["edge serve -log", "-log-format"],
    ["edge serve --log-format ", "auto json text"],
    ["edge serve --log-format=", "auto json text"],
    ["edge serve --log-format=j", "json"],
    ["edge serve -log-format j", "json"],
    ["edge serve --demo=", "true false"],
    ["edge serve --demo --log-format=json --ro", "--routes"],
    ["edge serve --demo=true --log-format j", "json"],
    ["edge check --config ", "@default"],
    ["edge check -c x -r=", "@default"],
    ["edge init --dir ", "@dirnames"],
    ["edge loadgen -c ", ""],
    ["edge loadgen -tier ", "quick medium steady soak all"],
    ["edge schema ", "config routes crd"],
    ["edge schema config ", ""],
    ["edge completion ", "bash zsh fish"],
    ["edge waf learn ", "access incidents"],
    ["edge waf learn --min-clients 4 access ", "@default"],
    ["edge logs --json ", "@default"],
    ["edge help sc", "schema"],
    ["edge help rou", "routes"],
  ])("%s", async (line, offered) => {
    expect((await inBash([line]))[0]!.split(" ").sort()).toEqual(offered.split(" ").sort());
  });

  test("names of files on a terminal, those with spaces too", async () => {
    const folder = mkdtempSync(join(tmpdir(), "edge-completion-"));
    let shown = "";
    const data = (_: unknown, bytes: Uint8Array) => {
      shown += Buffer.from(bytes).toString();
    };
    writeFileSync(join(folder, "some file.yaml"), "");
    writeFileSync(join(folder, "edge.completion"), scripts.bash);
    const child = Bun.spawn(["bash", "--norc", "--noprofile", "-i"], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? "", TERM: "dumb", HOME: folder, PS1: "ready>" },
      terminal: { cols: 120, rows: 24, data },
    });
    try {
      await eventually(() => expect(shown).toContain("ready>"));
      child.terminal!.write(". ./edge.completion; edge() { printf '<%s>' \"$@\"; }\r");
      child.terminal!.write("edge check --config=so\t\r");
      await eventually(() => expect(shown).toContain("<check><--config=some file.yaml>"));
    } finally {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe.skipIf(Bun.which("fish") === null)("fish completes", () => {
  const complete = async (lines: readonly string[]) => {
    const calls = lines.map((line) => `complete -C '${line}' | string replace -r '\\t.*' ''; echo .`);
    const text = await inShell("fish", `source edge.completion\n${calls.join("\n")}`);
    return text.split(".\n").map((part) => part.split("\n").filter((line) => line !== ""));
  };

  test("commands, and every flag that help shows", async () => {
    const words = [...helped.keys()];
    const found = await complete([
      "edge ",
      ...words.map((one) => `edge ${one} --`),
      ...words.map((one) => `edge ${one} -`),
    ]);
    expect(found[0]!.sort()).toEqual([...commands].sort());
    words.forEach((one, i) => {
      const long = helped.get(one)!.filter((flag) => flag.startsWith("--"));
      const short = helped.get(one)!.filter((flag) => !flag.startsWith("--"));
      expect([one, ...found[i + 1]!.sort()]).toEqual([one, ...long.sort()]);
      expect([one, found[i + 1 + words.length]]).toEqual([one, expect.arrayContaining(short)]);
    });
  });

  test("words, files and folders", async () => {
    const lines = [
      "edge schema ",
      "edge waf ",
      "edge serve --log-format ",
      "edge check -c some",
      "edge init --dir some",
    ];
    const [schema, waf, format, file, folder] = await complete([...lines, "edge waf learn access some"]);
    expect([schema, waf!.sort(), format]).toEqual([
      ["config", "crd", "routes"],
      ["import", "learn", "test"],
      ["auto", "json", "text"],
    ]);
    expect(file).toEqual(expect.arrayContaining([expect.stringContaining("file")]));
    expect(folder).toEqual([expect.stringContaining("folder")]);
  });
});

describe.skipIf(Bun.which("zsh") === null)("zsh", () => {
  test("takes the script, which holds every command and flag", async () => {
    expect(await inShell("zsh", "zsh -n ./edge.completion")).toBe("");
    const script = scripts.zsh.replaceAll("\\", "");
    for (const name of commands) expect(script).toMatch(new RegExp(`^ *'${name}:.+'$`, "m"));
    for (const [words, flags] of helped) {
      // A word below a command may be the name of another command.
      const from = words
        .split(" ")
        .reduce((rest, word) => rest.slice(rest.search(new RegExp(`^ *${word}[)]$`, "m"))), script);
      const part = from.split(";;")[0]!;
      for (const flag of flags)
        expect([words, part]).toEqual([words, expect.stringMatching(new RegExp(`['*)]${flag}=?\\[`))]);
    }
  });
});

describe("edge man", () => {
  const PAGES = ["edge", "config", "routes"];

  test("has every command and each of its flags as help shows them, and the usual sections", async () => {
    const page = (await printed("man")).replaceAll("\\-", "-");
    const sections = [...page.matchAll(/^\.SH (.+)$/gm)].map(([, title]) => title);
    expect(sections).toEqual(
      "NAME,SYNOPSIS,DESCRIPTION,COMMANDS,OPTIONS,FILES,ENVIRONMENT,SIGNALS,EXIT STATUS,EXAMPLES,SEE ALSO".split(","),
    );
    for (const name of commands) expect(page).toContain(`\n.TP\n.B ${name}\n`);
    for (const [words, flags] of helped) {
      const part = page.split(`\n.SS edge ${words}\n`)[1]?.split(/\n\.S[SH] /)[0] ?? "";
      const terms = [...part.matchAll(/^\.B (-.*?)(?: [^-\s]\S*)?$/gm)].flatMap(([, typed]) => typed!.split(", "));
      expect([words, ...terms]).toEqual([words, ...flags]);
    }
  });

  test.each(["config", "routes"])("%s has the keys of the file", async (file) => {
    const page = (await printed("man", file)).replace(/\\(?:-|\(\w\w|e|u\[\w+\])/g, (sequence) =>
      sequence === "\\-" ? "-" : "?",
    );
    const keys = [...(await printed("help", file)).matchAll(/^ *(?:- )?([a-z_]\w*):/gm)].map(([key]) => key);
    expect(keys.length).toBeGreaterThan(50);
    for (const key of keys) expect(page).toContain(`\n${key}`);
  });

  test("has the date that a build asks for", async () => {
    const { stdout } = await runEdge(["man"], { env: { SOURCE_DATE_EPOCH: "1700000000" } });
    expect(stdout).toStartWith(".TH EDGE 1 2023-11-14 ");
  });

  test("says of exit codes what docs/tools.md says", async () => {
    const page = await printed("man");
    const docs = await Bun.file(join(import.meta.dir, "../../docs/tools.md")).text();
    const codes = [...docs.split("\n## ")[0]!.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => code);
    const part = page.split(".SH EXIT STATUS\n")[1]!.split(".SH ")[0]!;
    expect([...part.matchAll(/^\.B (\d+)$/gm)].map(([, code]) => code)).toEqual(codes);
  });

  for (const [program, args] of [
    ["mandoc", ["-T", "lint", "-W", "style"]],
    ["groff", ["-man", "-ww", "-z", "-Tutf8"]],
    ["groff", ["-man", "-ww", "-z", "-Tascii"]],
  ] as const) {
    test.skipIf(Bun.which(program) === null).each(PAGES)(`${program} has nothing to say about %s`, async (name) => {
      const path = join(tmpdir(), `edge-page-${crypto.randomUUID()}`);
      try {
        writeFileSync(path, await printed("man", name));
        const { code, stdout, stderr } = await runProcess([program, ...args, path], { timeout: PATIENCE_MS });
        expect([code, stdout, stderr]).toEqual([0, "", ""]);
      } finally {
        rmSync(path, { force: true });
      }
    });
  }
});
