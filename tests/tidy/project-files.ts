// Which files belong to the project: what git tracks, and what it would track.
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** The top of the repository. */
export const ROOT = join(import.meta.dir, "../..");

/** Paths from the top of the repository, sorted. */
export const PROJECT_FILES: readonly string[] = listFiles();

/** The text of a project file; null for a binary one. */
export function projectText(path: string): string | null {
  const bytes = readFileSync(join(ROOT, path));
  return bytes.includes(0) ? null : bytes.toString("utf8");
}

function listFiles(): string[] {
  const git = Bun.spawnSync(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], { cwd: ROOT });
  const listed = git.success ? git.stdout.toString().split("\0") : withoutGit();
  return listed.filter((path) => path !== "" && isFile(path)).sort();
}

// An unpacked archive has no git: then the folders that .gitignore names are left out.
function withoutGit(): string[] {
  const ignored = readFileSync(join(ROOT, ".gitignore"), "utf8").split("\n");
  const folders = ignored.filter((line) => line.endsWith("/")).map((line) => line.replace(/^\//, ""));
  const all = [...new Bun.Glob("**").scanSync({ cwd: ROOT, dot: true })];
  return all.filter((path) => path !== "edge" && !folders.some((folder) => `/${path}`.includes(`/${folder}`)));
}

function isFile(path: string): boolean {
  return existsSync(join(ROOT, path)) && statSync(join(ROOT, path)).isFile();
}
