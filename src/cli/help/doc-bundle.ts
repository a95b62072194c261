// Runs when the gateway is bundled, not in it: what uses it imports it as a macro of the bundler.
import { readdirSync, readFileSync } from "node:fs";
import { zstdCompressSync } from "node:zlib";

/** The pages of docs by their names without `.md`, as JSON, compressed with zstd, in base64. */
export function docBundle(): string {
  const folder = `${import.meta.dir}/../../../docs`;
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".md"))
    .sort();
  const pages = names.map((name) => [name.slice(0, -3), readFileSync(`${folder}/${name}`, "utf8")]);
  return zstdCompressSync(JSON.stringify(Object.fromEntries(pages)), { params: { 100: LEVEL } }).toString("base64");
}

/** ZSTD_c_compressionLevel is parameter 100. */
const LEVEL = 19;
