import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { runConvert } from "../../src/cli/convert.ts";
import { judgeRoutes } from "../../src/explain/judge-routes.ts";
import { type ConfigResult, loadConfig } from "../../src/loading/load-config.ts";
import type { Product } from "../../src/tools/convert/convert.ts";

/** The folder with configurations of other gateways. */
export const EXAMPLES: string = join(import.meta.dir, "..", "vectors", "convert");

/** A configuration of another gateway. */
export interface Example {
  readonly product: Product;
  readonly path: string;
  readonly text: string;
}

/** All of them. */
export function examples(product?: Product): Example[] {
  const products: readonly Product[] = product === undefined ? ["nginx", "caddy", "haproxy", "traefik"] : [product];
  return products.flatMap((one) =>
    readdirSync(join(EXAMPLES, one))
      .filter((name) => name.includes("."))
      .sort()
      .map((name) => {
        const path = join(EXAMPLES, one, name);
        return { product: one, path, text: readFileSync(path, "utf8") };
      }),
  );
}

/** What `edge convert` has made of a text, and what a start says of that. */
export interface Conversion {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly config: string;
  readonly routes: string;
  readonly loaded: ConfigResult | null;
}

/** Runs `edge convert` in this process. @param name of the file, in the folder of the examples of its product */
export function convert(product: Product, name: string, text?: string): Conversion {
  const folder = mkdtempSync(join(tmpdir(), "edge-converted-"));
  try {
    let path = join(EXAMPLES, product, name);
    if (text !== undefined) {
      path = join(folder, basename(name));
      writeFileSync(path, text);
    }
    let out = "";
    let err = "";
    const to = join(folder, "out");
    const io = {
      out: (one: string) => {
        out += one;
      },
      err: (one: string) => {
        err += one;
      },
    };
    const code = runConvert([path, "--from", product, "--out", to], io);
    if (code !== 0) return { code, out, err, config: "", routes: "", loaded: null };
    const [configPath, routesPath] = [join(to, "config.yaml"), join(to, "routes.yaml")];
    const loaded = loadConfig({
      configPath,
      routesPath,
      cwd: folder,
      env: {},
      judge: judgeRoutes,
    });
    return {
      code,
      out,
      err,
      config: readFileSync(configPath, "utf8"),
      routes: readFileSync(routesPath, "utf8"),
      loaded,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
