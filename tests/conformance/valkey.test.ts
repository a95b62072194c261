// The tests of a fleet with Valkey in the place of Redis: that of this machine, or Debian 13's in a folder of its own. docs/fleet.md#the-store
import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IS_LONG } from "../harness/long-lane.ts";
import { runProcess } from "../harness/run-process.ts";

const INSTALL_MS = 300_000;
const RUN_MS = 400_000;
const PROJECT = join(import.meta.dir, "..", "..");
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const FILES = ["fleet", "fleet-outages", "fleet-tls", "fleet-purges"].map((name) => `tests/wire/${name}.test.ts`);
/** Of Debian 13: the server with its client, and what both are linked with. */
const PACKAGES = [
  ...["valkey-server", "valkey-tools", "libc6", "libssl3t64", "libsystemd0", "libjemalloc2", "liblzf1", "libatomic1"],
  ...["libstdc++6", "libgcc-s1", "libcap2", "libzstd1", "zlib1g"],
];

const folder = mkdtempSync(join(tmpdir(), "edge-valkey-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const runner = IS_LONG ? await findValkey() : null;

/** What stands before the name of a program of Valkey; null where it cannot be had, which is said in one line. */
async function findValkey(): Promise<string | null> {
  const found = Bun.which("valkey-server");
  if (found !== null && Bun.which("valkey-cli") !== null) return "";
  const root = join(folder, "root");
  if (process.arch === "x64" && (await unpack(root))) {
    const libraries = join(root, "usr/lib/x86_64-linux-gnu");
    return `${libraries}/ld-linux-x86-64.so.2 --library-path ${libraries} ${root}/usr/bin/`;
  }
  console.log("skipped: valkey-server is not here, and Debian's packages of it cannot be had");
  return null;
}

/** Unpacks Debian's packages; nothing is installed. */
async function unpack(root: string): Promise<boolean> {
  const [lists, archives] = [join(folder, "state", "lists", "partial"), join(folder, "cache", "archives", "partial")];
  for (const path of [lists, archives, root]) mkdirSync(path, { recursive: true });
  const sources = join(folder, "sources.list");
  writeFileSync(sources, `deb [signed-by=${KEYRING}] http://deb.debian.org/debian trixie main\n`);
  const options = [
    ...[
      `Dir::State=${join(folder, "state")}`,
      `Dir::Cache=${join(folder, "cache")}`,
      `Dir::Etc::sourcelist=${sources}`,
    ],
    ...["Dir::Etc::sourceparts=/dev/null", "Dir::State::status=/dev/null", "APT::Sandbox::User=root"],
  ].flatMap((option) => ["-o", option]);
  const steps = [
    ["apt-get", ...options, "-qq", "update"],
    ["apt-get", ...options, "-qq", "download", ...PACKAGES],
  ];
  for (const step of steps) {
    const run = await runProcess(step, { cwd: folder, timeout: INSTALL_MS }).catch(() => ({ code: 1 }));
    if (run.code !== 0) return false;
  }
  for (const name of new Bun.Glob("*.deb").scanSync(folder)) {
    const run = await runProcess(["dpkg", "-x", join(folder, name), root], { timeout: INSTALL_MS });
    if (run.code !== 0) return false;
  }
  return true;
}

test.skipIf(runner === null)(
  "a fleet on Valkey: limits, purges, sentinels, a cluster, TLS, outages",
  async () => {
    const programs = join(folder, "bin");
    mkdirSync(programs);
    for (const name of ["server", "cli"]) {
      const path = join(programs, `redis-${name}`);
      writeFileSync(path, `#!/bin/sh\nexec ${runner}valkey-${name} "$@"\n`);
      chmodSync(path, 0o755);
    }
    const version = await runProcess([join(programs, "redis-server"), "--version"], { timeout: INSTALL_MS });
    expect(version.stdout).toStartWith("Valkey server");
    const env = { ...process.env, PATH: `${programs}:${process.env.PATH ?? ""}` };
    const run = await runProcess([process.execPath, "test", "--timeout", "60000", ...FILES], {
      cwd: PROJECT,
      env,
      timeout: RUN_MS,
    });
    console.log(
      `${version.stdout.split(" ").slice(0, 3).join(" ")}: ${run.stderr.match(/^ *\d+ (pass|fail)$/gm)?.join(",")}`,
    );
    expect(run.code, run.stderr).toBe(0);
  },
  RUN_MS,
);
