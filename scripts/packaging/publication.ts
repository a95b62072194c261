// How a release is found and trusted: its signed list of checksums, and folders for apt and dnf.
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipOf, type Release, run } from "./run.ts";

/** Signs the list of checksums. The comment, which is signed too, names version and time. docs/install.md#a-release */
export function signSums({ version, epoch, out }: Release, secretKey: string): void {
  const comment = `timestamp:${epoch}\tfile:SHA256SUMS\tedge ${version}`;
  run(["minisign", "-S", "-s", resolve(secretKey), "-m", "SHA256SUMS", "-t", comment], out);
}

/** A folder that a package manager reads from any web server. */
interface Repository {
  /** Of the folder. */
  readonly name: string;
  /** @throws ReleaseFault without the tool that makes its lists */
  make(out: string): void;
}

export const REPOSITORIES: readonly Repository[] = [
  {
    name: "apt",
    make(out) {
      const folder = filled(out, "apt", ".deb");
      const packages = run(["apt-ftparchive", "packages", "."], folder);
      writeFileSync(join(folder, "Packages"), packages);
      writeFileSync(join(folder, "Packages.gz"), gzipOf(packages));
      const about = ["Origin=edge", "Label=edge", "Suite=stable", "Codename=stable"].flatMap((fact) => [
        "-o",
        `APT::FTPArchive::Release::${fact}`,
      ]);
      writeFileSync(join(folder, "Release"), run(["apt-ftparchive", ...about, "release", "."], folder));
    },
  },
  {
    name: "dnf",
    make(out) {
      run(["createrepo_c", "--quiet", "--no-database", filled(out, "dnf", ".rpm")]);
    },
  },
];

/** A fresh folder with the packages of one kind. */
function filled(out: string, name: string, ending: string): string {
  const folder = join(out, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const file of readdirSync(out)) if (file.endsWith(ending)) cpSync(join(out, file), join(folder, file));
  return folder;
}
