// Which files a request passes: the gateway runs from a copy of src in which every function says that it is called.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { RawClient } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { PROJECT_FILES, projectText, ROOT } from "./project-files.ts";
import { SOURCE_MODULES, type SourceModule } from "./source-module.ts";

/** Requests of which each must pass a file, so that a tick of a timer does not count. */
const ROUNDS = 5;
const REQUEST = "GET /api/items?page=2 HTTP/1.1\r\nHost: shop.test\r\nAccept: */*\r\nUser-Agent: reader/1\r\n\r\n";

type Modules = typeof import("../../src/control/in-process-gateway.ts");

/** A copy of src that notes which of its files run. */
export class TracedGateway {
  private readonly folder: string = mkdtempSync(join(tmpdir(), "edge-journey-"));
  private readonly ran: Set<string> = new Set();

  constructor() {
    Object.assign(globalThis, { journeyRan: (path: string) => void this.ran.add(path) });
    symlinkSync(join(ROOT, "node_modules"), join(this.folder, "node_modules"));
    const modules = new Map(SOURCE_MODULES.map((module) => [module.path, module]));
    for (const path of PROJECT_FILES.filter((each) => each.startsWith("src/") || each === "package.json")) {
      const module = modules.get(path);
      mkdirSync(dirname(join(this.folder, path)), { recursive: true });
      writeFileSync(join(this.folder, path), module === undefined ? (projectText(path) ?? "") : traced(module));
    }
  }

  /**
   * The files with a function that runs between the first byte of a proxied GET and the last of its response, where both
   * connections are open already.
   * @param settings further keys of `server`, as YAML
   */
  async filesOfGet(settings: string): Promise<string[]> {
    const { InProcessGateway } = (await import(join(this.folder, "src/control/in-process-gateway.ts"))) as Modules;
    const origin = ScriptedOrigin.start().otherwise((call) => call.reply("200 OK", [], "served"));
    const gateway = await InProcessGateway.start({
      config: `server: {host: 127.0.0.1, port: 0, ${settings}}`,
      routes: `[{type: upstream, prefix: /api, target: "${origin.url}"}]`,
    });
    const client = await RawClient.connect(gateway.port);
    try {
      return await this.trace(client);
    } finally {
      client.close();
      gateway.stop();
      origin.stop();
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  private async trace(client: RawClient): Promise<string[]> {
    await client.exchange(REQUEST);
    let always: Set<string> | null = null;
    for (let i = 0; i < ROUNDS; i++) {
      this.ran.clear();
      const { status } = await client.exchange(REQUEST);
      if (status !== 200) throw new Error(`the gateway answered ${status}`);
      always = always === null ? new Set(this.ran) : always.intersection(this.ran);
    }
    return [...always!].sort();
  }
}

/** The module's text with a call at the beginning of each function. */
function traced({ path, text, functions }: SourceModule): string {
  const call = `journeyRan(${JSON.stringify(path)})`;
  const inserts: { readonly at: number; readonly code: string }[] = [];
  for (const { body } of functions) {
    if (body === null) continue;
    if (body.isBlock) inserts.push({ at: body.from + 1, code: `${call};` });
    else inserts.push({ at: body.from, code: `(${call}, ` }, { at: body.to, code: ")" });
  }
  let out = "";
  let from = 0;
  for (const { at, code } of inserts.sort((a, b) => a.at - b.at)) {
    out += text.slice(from, at) + code;
    from = at;
  }
  return out + text.slice(from);
}
