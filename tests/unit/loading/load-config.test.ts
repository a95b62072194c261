import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../../src/loading/load-config.ts";
import { inFolder, lines, load, loadCase, readCases, SYSTEM_CONFIG } from "./config-case.ts";

const FAULT_FILES = ["yaml-faults.yaml", "server-faults.yaml", "mesh-faults.yaml", "route-faults.yaml"];

for (const file of FAULT_FILES) {
  describe(file, () => {
    for (const one of readCases(file)) {
      test(one.name, () => {
        const result = loadCase(one);
        expect(result.ok ? [] : lines([...result.faults])).toEqual([...(one.faults ?? [])]);
      });
    }
  });
}

describe("good.yaml", () => {
  for (const one of readCases("good.yaml")) {
    test(one.name, () => {
      const result = loadCase(one);
      expect(result.ok ? [] : lines([...result.faults])).toEqual([]);
      if (!result.ok) return;
      if (one.resolved !== undefined) expect(result.config).toMatchObject(one.resolved);
      if (one.warnings !== undefined) expect(lines([...result.warnings])).toEqual([...one.warnings]);
    });
  }
});

describe("files", () => {
  const request = {
    configPath: null,
    routesPath: null,
    systemConfig: SYSTEM_CONFIG,
    env: {},
  };

  test("none there: the embedded defaults listen on loopback with the firewall on", () => {
    inFolder((dir) => {
      const result = loadConfig({ ...request, cwd: dir });
      expect(result).toMatchObject({
        ok: true,
        usingDefaults: true,
        sources: { config: "", routes: "" },
        warnings: [],
      });
      if (!result.ok) return;
      expect(result.config.server).toMatchObject({
        host: "127.0.0.1",
        port: 8080,
        waf: { enabled: true, mode: "enforce" },
      });
      expect(result.config.routes).toEqual([]);
    });
  });

  test("what cannot be looked at is a fault, and is not passed over", () => {
    inFolder((dir) => {
      symlinkSync("config.yaml", join(dir, "config.yaml"));
      const result = loadConfig({ ...request, cwd: dir });
      expect(result.ok ? [] : lines([...result.faults])).toEqual(["config.yaml: this file cannot be read"]);
    });
  });

  test("routes alone go with the embedded defaults", () => {
    inFolder((dir) => {
      writeFileSync(join(dir, "routes.yaml"), "- {type: upstream, prefix: /a, target: 'http://a:1'}\n");
      const result = load(dir, {});
      expect(result).toMatchObject({ ok: true, usingDefaults: true, sources: { routes: join(dir, "routes.yaml") } });
      expect(result.ok ? result.config.routes.length : 0).toBe(1);
    });
  });

  test("the system's configuration, and the routes beside it, are taken where the folder has none", () => {
    inFolder((dir) => {
      mkdirSync(join(dir, "etc/edge"), { recursive: true });
      writeFileSync(join(dir, SYSTEM_CONFIG), "server: {port: 81}\n");
      writeFileSync(join(dir, "etc/edge/routes.yaml"), "- {type: respond, prefix: /, body: hello}\n");
      writeFileSync(join(dir, "routes.yaml"), "[]\n");
      const taken = load(dir, {});
      expect(taken.ok ? [taken.config.server.port, taken.config.routes.length] : []).toEqual([81, 1]);
      writeFileSync(join(dir, "config.yaml"), "server: {port: 82}\n");
      const own = load(dir, {});
      expect(own.ok ? [own.config.server.port, own.config.routes.length] : []).toEqual([82, 0]);
    });
  });

  test("a named file that is not there, or is a folder, is a fault", () => {
    inFolder((dir) => {
      const result = loadConfig({ ...request, cwd: dir, configPath: "conf/edge.yaml", routesPath: dir });
      expect(result.ok ? [] : lines([...result.faults])).toEqual([
        "conf/edge.yaml: no such file (edge init writes one to start from)",
        "DIR: this is a folder: name the file in it",
      ]);
    });
  });

  test("routes lie beside the configuration, and paths count from the file that names them", () => {
    inFolder((dir) => {
      mkdirSync(join(dir, "conf/site"), { recursive: true });
      writeFileSync(join(dir, "conf/edge.yaml"), "server: {acme: {cache_dir: store}}\n");
      writeFileSync(join(dir, "conf/routes.yaml"), "- {type: static, prefix: /s, dir: site}\n");
      const result = loadConfig({ ...request, cwd: dir, configPath: "conf/edge.yaml" });
      if (!result.ok) throw new Error(lines([...result.faults]).join("\n"));
      expect(result.config.server.acme.cacheDir).toBe(join(dir, "conf/store"));
      expect(result.config.routes[0]).toMatchObject({
        dir: join(dir, "conf/site"),
        position: { file: "conf/routes.yaml" },
      });
      expect(result.sources).toMatchObject({
        config: join(dir, "conf/edge.yaml"),
        routes: join(dir, "conf/routes.yaml"),
      });
    });
  });

  test("bytes that are no text are a fault", () => {
    inFolder((dir) => {
      writeFileSync(join(dir, "config.yaml"), new Uint8Array([0x73, 0xff, 0xfe]));
      const result = load(dir, {});
      expect(result.ok ? [] : lines([...result.faults])).toEqual(["config.yaml: not a text file in UTF-8"]);
    });
  });

  test("a thousand faults are cut short", () => {
    inFolder((dir) => {
      writeFileSync(join(dir, "routes.yaml"), "- {type: static, prefix: a}\n".repeat(500));
      const result = load(dir, {});
      const faults = result.ok ? [] : lines([...result.faults]);
      expect(faults).toHaveLength(101);
      expect(faults.at(-1)).toBe("routes.yaml: 900 more faults follow; fix these first");
    });
  });
});

describe("the resolved configuration", () => {
  test("is frozen throughout", () => {
    const result = loadCase({ name: "frozen", routes: "- {type: static, prefix: /a, dir: public}\n" });
    if (!result.ok) throw new Error("faulty");
    const thaw: string[] = [];
    const look = (part: unknown, path: string): void => {
      if (typeof part !== "object" || part === null) return;
      if (!Object.isFrozen(part)) thaw.push(path);
      for (const [key, inner] of Object.entries(part)) look(inner, `${path}.${key}`);
    };
    look(result.config, "config");
    expect(thaw).toEqual([]);
  });

  test("survives structured clone and holds no undefined", () => {
    const result = loadCase({ name: "clone", routes: "- {type: upstream, prefix: /a, target: 'http://a:1'}\n" });
    if (!result.ok) throw new Error("faulty");
    expect(structuredClone(result.config)).toEqual(result.config);
    expect(JSON.parse(JSON.stringify(result.config))).toEqual(result.config as never);
  });
});
