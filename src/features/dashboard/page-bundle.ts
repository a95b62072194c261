// Runs when the gateway is bundled, not in it: what uses it imports it as a macro of the bundler.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

/** The page of the dashboard as one file, and the digests of its style and its script for the policy. */
interface PageBundle {
  /** Compressed with gzip, in base64. */
  readonly page: string;
  readonly style: string;
  readonly script: string;
}

/** Puts style and script into the page. @throws what the bundler says of the script */
export function pageBundle(): PageBundle {
  const folder = `${import.meta.dir}/page`;
  const build = Bun.spawnSync([process.execPath, "build", "--target=browser", "--minify", `${folder}/page.ts`]);
  if (!build.success) throw new Error(build.stderr.toString());
  const script = build.stdout.toString().trim();
  const style = readFileSync(`${folder}/page.css`, "utf8")
    .split("/*")
    .map((part, i) => (i === 0 ? part : part.slice(part.indexOf("*/") + "*/".length)))
    .join("")
    .split("\n")
    .map((line) => line.trim())
    .join("");
  if (script.includes("</script")) throw new Error("the script ends before its end");
  const shell = readFileSync(`${folder}/page.html`, "utf8").replace(/>\s+</g, "><");
  // As functions: what is put in may hold `$`.
  const page = shell
    .replace("<style></style>", () => `<style>${style}</style>`)
    .replace('<script type="module"></script>', () => `<script type="module">${script}</script>`);
  return { page: gzipSync(page, { level: 9 }).toString("base64"), style: digestOf(style), script: digestOf(script) };
}

function digestOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}
