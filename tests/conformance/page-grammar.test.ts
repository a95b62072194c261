// The pages by LanguageTool, in the long lane: at most one find of its rules of grammar in a thousand words.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { IS_LONG, longTest } from "../harness/long-lane.ts";
import { runProcess } from "../harness/run-process.ts";

const TOP = join(import.meta.dir, "../..");
const SOURCES = join(import.meta.dir, "languagetool");
/** Kept from one run to the next. */
const JARS = join(TOP, ".bun/languagetool");
const folder = mkdtempSync(join(tmpdir(), "edge-grammar-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A page as sentences: no code, no tables, no headings; code within a sentence is a name. */
function sentencesOf(page: string): string {
  return page
    .replace(/^\s*```[\s\S]*?^\s*```\s*$/gm, "")
    .replace(/^\[[\w-]+\]: .*$|^#+ .*$|^\|.*\|$/gm, "")
    .replace(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, "$1")
    .replace(/`[^`]*`/g, "Alpha")
    .replaceAll("**", "")
    .replace(/^\s*(?:[-*]|\d+\.) /gm, "\n")
    .replace(/([^\n])\n(?!\n)/g, "$1 ");
}

/** Why LanguageTool cannot run here; null once its jars are there. */
async function missing(): Promise<string | null> {
  if (Bun.which("javac") === null || Bun.which("mvn") === null) return "Java and Maven (Debian: apt install maven)";
  mkdirSync(JARS, { recursive: true });
  if (readdirSync(JARS).some((name) => name.startsWith("language-en-"))) return null;
  const maven = ["mvn", "-q", "-B", "-f", join(SOURCES, "pom.xml"), "dependency:copy-dependencies"];
  const { code } = await runProcess([...maven, `-DoutputDirectory=${JARS}`], { timeout: 300_000 });
  return code === 0 ? null : "LanguageTool from Maven's central repository, which does not answer";
}

const why = IS_LONG ? await missing() : null;
if (why !== null) console.log(`skipped: the grammar of pages needs ${why}`);

(why === null ? longTest : test.skip)(
  "at most one find in a thousand words",
  async () => {
    const pages = ["README.md", ...new Bun.Glob("docs/*.md").scanSync(TOP)].sort();
    const texts = pages.map((page) => sentencesOf(readFileSync(join(TOP, page), "utf8")));
    const files = texts.map((text, i) => {
      const file = join(folder, pages[i]!.replaceAll("/", "-"));
      writeFileSync(file, text);
      return file;
    });
    const command = ["java", "-cp", join(JARS, "*"), join(SOURCES, "grammar.java"), ...files];
    const { code, stdout } = await runProcess(command, { timeout: 900_000 });
    expect(code).toBe(0);
    const found = stdout.split("\n").filter(Boolean);
    const words = texts.reduce((sum, text) => sum + text.split(/\s+/).length, 0);
    expect(found.length, stdout).toBeLessThanOrEqual(words / 1000);
  },
  1_200_000,
);
