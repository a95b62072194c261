import { afterAll, describe, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeptPair } from "../../../../../src/features/fleet/remote/kept-pair.ts";
import { configurationOf } from "../../../../../src/features/fleet/remote/remote-pair.ts";

const root = mkdtempSync(join(tmpdir(), "edge-kept-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const SOURCE = ["https://host/config.yaml", "https://host/routes.yaml"];
const SIGNED = { config: 5, routes: 6 };
const text = (of: string) => ({ bytes: Buffer.from(of), tag: '"x"' });
const pair = (config: string, routes: string | null) =>
  configurationOf({
    config: text(config),
    routes: routes === null ? null : text(routes),
    configSignature: text("signature"),
    routesSignature: null,
  });

describe("what is kept of a configuration", () => {
  test("is given back as it was, and replaced", () => {
    const folder = join(root, "a", "b");
    const kept = new KeptPair(folder, SOURCE);
    expect(kept.load()).toBeNull();
    for (const one of [pair("one", "routes"), pair("two", null)]) {
      kept.save(one, SIGNED, 1000);
      const found = new KeptPair(folder, SOURCE).load()!;
      expect([found.version, found.signed, found.takenAtMs]).toEqual([one.version, SIGNED, 1000]);
      expect(Buffer.from(found.texts.config.bytes)).toEqual(Buffer.from(one.texts.config.bytes));
      expect(found.texts.routes === null).toBe(one.texts.routes === null);
      expect(Buffer.from(found.texts.configSignature!.bytes).toString()).toBe("signature");
    }
    expect(new KeptPair(folder, ["https://other/config.yaml"]).load()).toBeNull();
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  });

  test("does not grow: old texts go", () => {
    const folder = join(root, "old");
    const kept = new KeptPair(folder, SOURCE);
    kept.save(pair("one", "routes"), SIGNED, Date.now());
    const old = new Date(Date.now() - 3_600_000);
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), old, old);
    writeFileSync(join(folder, "another.txt"), "");
    kept.save(pair("two", "routes"), SIGNED, Date.now());
    expect(readdirSync(folder).length).toBe(5);
    expect(kept.load()?.version).toBe(pair("two", "routes").version);
  });

  test("is not taken where its files were changed", () => {
    const folder = join(root, "changed");
    const kept = new KeptPair(folder, SOURCE);
    kept.save(pair("one", "routes"), SIGNED, 1000);
    const file = readdirSync(folder).find((name) => name.startsWith("routes-"))!;
    appendFileSync(join(folder, file), "- more");
    expect(() => kept.load()).toThrow("have changed since edge kept them");
  });

  test("is whole whenever the process is killed while it writes", async () => {
    const folder = join(root, "killed");
    const script = join(root, "save.ts");
    const source = join(import.meta.dir, "../../../../../src/features/fleet/remote");
    writeFileSync(
      script,
      `import { KeptPair } from ${JSON.stringify(join(source, "kept-pair.ts"))};
      import { configurationOf } from ${JSON.stringify(join(source, "remote-pair.ts"))};
      const kept = new KeptPair(process.argv[2], ${JSON.stringify(SOURCE)});
      for (let i = 0; ; i++) {
        const text = (size) => ({ bytes: Buffer.alloc(size, String(i % 10)), tag: "" });
        const texts = { config: text(100_000), routes: text(200_000), configSignature: null, routesSignature: null };
        kept.save(configurationOf(texts), { config: 0, routes: 0 }, 1);
        if (i === 0) console.log("ready");
      }`,
    );
    for (let round = 0; round < 8; round++) {
      const child = Bun.spawn([process.execPath, script, folder], { stdout: "pipe", stderr: "inherit" });
      await child.stdout.getReader().read();
      await Bun.sleep(round * 3);
      child.kill("SIGKILL");
      await child.exited;
      const { texts } = new KeptPair(folder, SOURCE).load()!;
      const [config, routes] = [Buffer.from(texts.config.bytes), Buffer.from(texts.routes!.bytes)];
      expect([config.length, routes.length, config[0]]).toEqual([100_000, 200_000, routes[0]!]);
    }
  });
});
