import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const EDGE = process.env.EDGE_BINARY ?? resolve(import.meta.dir, "..", "..", "..", "edge");
const CONVERT_MS = 20_000;
/** Between a Caddyfile and what Caddy makes of it. */
const RULE = "----------";
/** What `edge convert` prints of a file. */
const TOLD = /(\d+) directives, (\d+) carried over, (\d+) without need of a setting, (\d+) noted/;

/** What `edge convert` made of a Caddyfile. */
export interface Conversion {
  /** Its config.yaml; "" for a file that it refuses. */
  readonly config: string;
  readonly carried: number;
  readonly standard: number;
  readonly noted: number;
  /** The directives that it noted, each once. */
  readonly names: readonly string[];
  /** What it said of a file that it refuses, or `edge check` of its files. */
  readonly fault: string;
  readonly isRefused: boolean;
}

/** A fixture of the adapter. */
export interface Fixture {
  readonly file: string;
  /** Whether Caddy refuses it. */
  readonly isFaulty: boolean;
  readonly conversion: Conversion;
}

/** Converts a Caddyfile in a folder, where its files may be, and checks the result. */
export function conversionOf(text: string, folder: string): Conversion {
  const file = join(folder, "Caddyfile");
  const out = join(folder, "out");
  writeFileSync(file, text);
  rmSync(out, { recursive: true, force: true });
  const options = { stdout: "pipe", stderr: "pipe", timeout: CONVERT_MS } as const;
  const run = Bun.spawnSync([EDGE, "convert", file, "--from", "caddy", "--out", out], options);
  const told = run.stderr.toString();
  const [, , carried, standard, noted] = TOLD.exec(told) ?? [];
  const counts = { carried: Number(carried ?? 0), standard: Number(standard ?? 0), noted: Number(noted ?? 0) };
  if (run.exitCode !== 0 || carried === undefined)
    return { config: "", ...counts, names: [], fault: told.trim(), isRefused: true };
  const routes = readFileSync(join(out, "routes.yaml"), "utf8");
  const names = [...routes.matchAll(/^# \| [^|]*Caddyfile:\d+ \| (\S+)/gm)].map(([, name = ""]) => name);
  const config = join(out, "config.yaml");
  const check = Bun.spawnSync([EDGE, "check", "--config", config], options);
  const fault = check.exitCode === 0 ? "" : `${check.stdout}${check.stderr}`.trim();
  return { config, ...counts, names: [...new Set(names)].toSorted(), fault, isRefused: false };
}

/** Converts all fixtures of the adapter. */
export function readFixtures(checkout: string): Fixture[] {
  const folder = join(checkout, "caddytest", "integration", "caddyfile_adapt");
  const scratch = mkdtempSync(join(tmpdir(), "edge-caddy-suite-"));
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".caddyfiletest"))
      .toSorted()
      .map((name) => {
        const [source = "", adapted = ""] = readFileSync(join(folder, name), "utf8").split(RULE);
        // Fixtures import files from beside their folder.
        const text = source.replaceAll(/(?<=^\s*import )(testdata\/\S+)/gm, (path) => join(dirname(folder), path));
        return {
          file: name.replace(/\.caddyfiletest$/, ""),
          isFaulty: !adapted.trim().startsWith("{"),
          conversion: conversionOf(text, scratch),
        };
      });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
