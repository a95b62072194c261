import { existsSync, globSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, resolve } from "node:path";
import { isBelow } from "../../core/folder-path.ts";
import { convertCaddyfile } from "./caddy/caddy.ts";
import { parseCaddyfile } from "./caddy/caddy-parser.ts";
import { EFFORT } from "./effort.ts";
import { convertHaproxy } from "./haproxy/haproxy.ts";
import { parseHaproxy } from "./haproxy/haproxy-parser.ts";
import { convertNginx } from "./nginx/nginx.ts";
import { parseNginx } from "./nginx/nginx-parser.ts";
import type { Plan } from "./plan.ts";
import { MAX_SOURCE_BYTES, readSource } from "./source-text.ts";
import { ConvertFault, outsideName } from "./statement.ts";
import { convertTraefik } from "./traefik/traefik.ts";
import { readTraefik } from "./traefik/traefik-file.ts";

/** The products whose configurations are read. */
export const PRODUCTS = ["nginx", "caddy", "haproxy", "traefik"] as const;
export type Product = (typeof PRODUCTS)[number];

/**
 * Makes a plan of a configuration file.
 * @param file as the user named it; includes are searched for beside it
 * @throws ConvertFault if the text is none of the product, and errors of the system where an included file cannot be read
 */
export function planOf(product: Product, file: string, text: string): Plan {
  const files = new IncludedFiles(file);
  EFFORT.begin(file, text.length);
  if (product === "nginx") return convertNginx(parseNginx(file, text, (pattern) => files.of(pattern)));
  if (product === "caddy")
    return convertCaddyfile(parseCaddyfile(file, text, (pattern, from) => files.of(pattern, from)));
  return product === "haproxy" ? convertHaproxy(parseHaproxy(file, text)) : convertTraefik(readTraefik(file, text));
}

/** Tells by the name of a file, then by its text, whose configuration it is; null if neither says so. */
export function recognise(file: string, text: string): Product | null {
  const name = basename(file).toLowerCase();
  if (/caddyfile/.test(name)) return "caddy";
  if (/^haproxy|\.haproxy$/.test(name)) return "haproxy";
  if (/^nginx|\.nginx$/.test(name)) return "nginx";
  if (/\.(ya?ml|toml)$/.test(name)) return "traefik";
  const lines = text.split("\n").map((line) => line.trim());
  const isSome = (test: RegExp): boolean => lines.some((line) => test.test(line));
  const isOpen = (line: string): boolean => line.endsWith("{") && !/^[#;{]/.test(line) && !line.includes(";");
  if (text.split("\n").some((line) => /^(frontend|backend|listen|global|defaults)\b[^{};]*$/.test(line)))
    return "haproxy";
  const hasEnds = lines.some((line) => /;[ \t]*[#}]/.test(line) || line.endsWith(";"));
  if (isSome(/^(?:(?:http|server|events)[ \t]*|upstream[ \t]+[^\s{]+[ \t]*|location[ \t][^{]+)\{/) && hasEnds)
    return "nginx";
  if (isSome(/^(https?|tls|tcp):$/) || isSome(/^\[+(http|tls|tcp)\.[^\]]+\]/)) return "traefik";
  if (lines.some(isOpen) || isSome(/^(reverse_proxy|file_server|respond|redir)\b[^;]*$/)) return "caddy";
  return hasEnds ? "nginx" : null;
}

/** Reads what a file includes. */
class IncludedFiles {
  private readonly folder: string;
  /** Folders of files by the names that they are shown with. */
  private readonly folders: Map<string, string> = new Map();
  private bytes = 0;

  constructor(file: string) {
    this.folder = file === "-" ? process.cwd() : dirname(resolve(file));
  }

  /**
   * The files that a name or a pattern means, in the order of their names; null if a plain name is of none.
   * @param from the file whose folder a relative name counts from, instead of that of the first file
   */
  of(pattern: string, from: string | null = null): { file: string; text: string }[] | null {
    const base = this.folders.get(from ?? "") ?? this.folder;
    const path = isAbsolute(pattern) ? pattern : resolve(base, pattern);
    const isPattern = /[*?[]/.test(pattern);
    const found = isPattern ? globSync(path).sort() : existsSync(path) ? [path] : null;
    return found === null
      ? null
      : found.filter((one) => statSync(one).isFile()).map((one) => ({ file: this.shown(one), text: this.read(one) }));
  }

  /** Relative to the first file's folder, where it is below; else marked, so that no text of it is printed. */
  private shown(path: string): string {
    const isInside = isBelow(this.folder, path) && isBelow(realpathSync(this.folder), realpathSync(path));
    const name = isInside ? path.slice(this.folder.length + 1) : outsideName(path);
    this.folders.set(name, dirname(path));
    return name;
  }

  private read(path: string): string {
    const text = readSource(path);
    this.bytes += text.length;
    EFFORT.add(text.length);
    if (this.bytes > MAX_SOURCE_BYTES)
      throw new ConvertFault({ file: path, line: 0 }, "the included files are too large together");
    return text;
  }
}
