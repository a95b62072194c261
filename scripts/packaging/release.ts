// scripts/release. docs/install.md#a-release
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { VERSION } from "../../src/core/version.ts";
import { type Built, makeImage } from "./image.ts";
import { licenceTexts, type Packaged, packagedModules, runtimePackage, spdxList } from "./licences.ts";
import { REPOSITORIES, signSums } from "./publication.ts";
import { epochOf, gzipOf, projectFile, type Release, ReleaseFault, ROOT, run, sha256, tarOf } from "./run.ts";
import { findPackager, MANUALS, makePackages } from "./system-packages.ts";
import { programOf, TARGETS, type Target } from "./targets.ts";

const USAGE = `usage: scripts/release [--targets NAME,NAME] [--out FOLDER] [--sign FILE] [--repositories]

  --targets       of ${TARGETS.map(({ name }) => name).join(", ")}; all by default
  --out           the folder for the files (default dist)
  --sign          a secret key of minisign: signs SHA256SUMS, for edge update and install.sh
  --repositories  makes apt and dnf folders of the packages

SOURCE_DATE_EPOCH is the time of all files, by default that of the last commit.
What cannot be made here, for want of a tool, is named in one line, and the exit code is 3.
`;

function main(args: string[]): number {
  const { values } = parseArgs({
    args,
    options: {
      targets: { type: "string", default: TARGETS.map(({ name }) => name).join(",") },
      out: { type: "string", default: "dist" },
      sign: { type: "string", default: "" },
      repositories: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const names = values.targets.split(",");
  const unknown = names.find((name) => !TARGETS.some((target) => target.name === name));
  if (unknown !== undefined) throw new ReleaseFault(`no target is called ${unknown}\n\n${USAGE}`);
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  mkdirSync(join(ROOT, ".bun"), { recursive: true });
  const work = mkdtempSync(join(ROOT, ".bun/release."));
  try {
    const wanted = TARGETS.filter(({ name }) => names.includes(name));
    return make({ version: VERSION, epoch: epochOf(), work, out }, wanted, values);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

interface Extras {
  /** A secret key of minisign; "" for no signature. */
  readonly sign: string;
  readonly repositories: boolean;
}

function make(release: Release, targets: readonly Target[], { sign, repositories }: Extras): number {
  const missed: string[] = [];
  const attempt = <T>(what: string, work: () => T): T | null => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof ReleaseFault)) throw error;
      missed.push(`${what}: ${error.message}`);
      return null;
    }
  };
  const modules: readonly Packaged[] = [runtimePackage(), ...packagedModules()];
  const shared = sharedFiles(release, modules);
  const files: string[] = [];
  const packager = targets.some(({ packaged }) => packaged !== null) ? attempt("deb and rpm", findPackager) : null;
  const imaged: Built[] = [];
  for (const target of targets) {
    const program = attempt(target.name, () => compile(release, target));
    if (program === null) continue;
    files.push(archive(release, target, program, shared));
    if (target.packaged === null) continue;
    imaged.push({ target, program });
    if (packager !== null) files.push(...makePackages(release, target, program, shared, packager));
  }
  const image = imaged.length === 0 ? null : attempt("image", () => makeImage(release, imaged, shared));
  if (image !== null) files.push(image.file);
  const libc = image === null ? [] : [debianLibc(image.libc)];
  const list = `edge-${release.version}.spdx.json`;
  writeFileSync(join(release.out, list), spdxList(release, [...modules, ...libc]));
  cpSync(join(ROOT, "scripts/packaging/install.sh"), join(release.out, "install.sh"));
  const summed = [...files, list, "install.sh"].sort().map((name) => {
    const bytes = readFileSync(join(release.out, name));
    process.stdout.write(`${(bytes.length / 1e6).toFixed(1).padStart(7)} MB  ${name}\n`);
    return `${sha256(bytes)}  ${name}\n`;
  });
  writeFileSync(join(release.out, "SHA256SUMS"), summed.join(""));
  if (sign !== "") attempt("SHA256SUMS.minisig", () => signSums(release, sign));
  if (repositories) for (const one of REPOSITORIES) attempt(one.name, () => one.make(release.out));
  for (const one of missed) process.stderr.write(`not made: ${one}\n`);
  return missed.length === 0 ? 0 : 3;
}

/** The C library of the image. */
function debianLibc(version: string): Packaged {
  return { name: "libc6", version, licence: "LGPL-2.1-or-later", text: "", from: "debian" };
}

/** What is the same for all systems: configuration, completions, manual pages, licences. @returns its folder */
function sharedFiles({ work, epoch }: Release, modules: readonly Packaged[]): string {
  const shared = join(work, "shared");
  for (const folder of ["config", "completions", "man", "systemd"])
    mkdirSync(join(shared, folder), { recursive: true });
  const edge = (...args: string[]) => run([join(ROOT, "edge"), ...args], ROOT, { SOURCE_DATE_EPOCH: String(epoch) });
  edge("init", "--dir", join(shared, "config"));
  writeFileSync(join(shared, "completions/edge.bash"), edge("completion", "bash"));
  writeFileSync(join(shared, "completions/_edge"), edge("completion", "zsh"));
  writeFileSync(join(shared, "completions/edge.fish"), edge("completion", "fish"));
  for (const { file, page } of MANUALS) writeFileSync(join(shared, `man/${file}.gz`), gzipOf(edge("man", page)));
  for (const name of readdirSync(join(ROOT, "scripts/systemd"))) {
    cpSync(join(ROOT, "scripts/systemd", name), join(shared, "systemd", name));
  }
  const texts = licenceTexts(modules);
  writeFileSync(join(shared, "copyright"), `${projectFile("LICENSE")}\n${texts}`);
  writeFileSync(join(shared, "THIRD-PARTY-LICENSES.txt"), texts);
  for (const name of ["LICENSE", "CHANGELOG.md"]) cpSync(join(ROOT, name), join(shared, name));
  return shared;
}

/** Compiles the binary for a target. The runtime is the one whose checksum bun.lock has. @returns where it is */
function compile({ work }: Release, target: Target): string {
  const program = join(work, target.name, programOf(target));
  const runtime = join(runtimeFolder(work, target), "node_modules/@oven", target.runtime, "bin");
  const [executable = ""] = readdirSync(runtime).filter((name) => /^bun(\.exe)?$/.test(name));
  mkdirSync(join(work, target.name), { recursive: true });
  run(["scripts/build", "--runtime", join(runtime, executable), "--for", target.compiler, "--out", program]);
  return program;
}

function runtimeFolder(work: string, { os, cpu, libc, runtime }: Target): string {
  const folder = join(work, "runtimes", runtime);
  mkdirSync(folder, { recursive: true });
  for (const name of ["package.json", "bun.lock"]) cpSync(join(ROOT, name), join(folder, name));
  const machine = ["--os", os, "--cpu", cpu, "--libc", libc];
  run([process.execPath, "install", "--frozen-lockfile", "--ignore-scripts", ...machine], folder);
  return folder;
}

/** The binary and all that goes with it, in a folder of the release's name. */
function archive(release: Release, target: Target, program: string, shared: string): string {
  const name = `edge-${release.version}-${target.name}`;
  const top = join(release.work, "archive", target.name);
  const folder = join(top, name);
  cpSync(shared, folder, { recursive: true });
  if (target.os !== "linux") rmSync(join(folder, "systemd"), { recursive: true });
  rmSync(join(folder, "copyright"));
  cpSync(program, join(folder, basename(program)));
  run(["chmod", "-R", "u=rwX,go=rX", folder]);
  if (target.os === "win32") {
    run(["find", ".", "-exec", "touch", "-h", "-d", `@${release.epoch}`, "{}", "+"], top);
    const paths = run(["find", name, "-type", "f"], top).toString().trim().split("\n").sort();
    run(["zip", "-qX9", join(release.out, `${name}.zip`), ...paths], top, { TZ: "UTC" });
    return `${name}.zip`;
  }
  writeFileSync(join(release.out, `${name}.tar.gz`), gzipOf(tarOf(top, release.epoch, [name])));
  return `${name}.tar.gz`;
}

try {
  process.exitCode = main(process.argv.slice(2));
} catch (error) {
  const isUsage = error instanceof TypeError && "code" in error;
  if (!(error instanceof ReleaseFault) && !isUsage) throw error;
  process.stderr.write(`release: ${(error as Error).message}\n`);
  process.exitCode = isUsage ? 2 : 1;
}
