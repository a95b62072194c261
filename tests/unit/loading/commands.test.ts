import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCheck } from "../../../src/cli/check.ts";
import { runInit } from "../../../src/cli/init.ts";
import { STARTER_CONFIG } from "../../../src/cli/starter-files.ts";
import { countries } from "../../harness/mmdb.ts";
import { inFolder, lines, SYSTEM_CONFIG } from "./config-case.ts";

const TOP = join(import.meta.dir, "../../..");

function collect() {
  const said = { out: "", err: "" };
  const io = {
    out: (text: string) => {
      said.out += text;
    },
    err: (text: string) => {
      said.err += text;
    },
  };
  return { said, io };
}

function check(cwd: string, ...args: string[]) {
  const { said, io } = collect();
  const code = runCheck(args, io, { cwd, systemConfig: SYSTEM_CONFIG, env: {}, knownWafRules: [] });
  return { code, ...said };
}

describe("edge init", () => {
  test("writes files that edge check finds in order", () => {
    inFolder((dir) => {
      const { said, io } = collect();
      expect(runInit(["--dir", "new"], io, dir)).toBe(0);
      expect(said.out).toContain("edge serve");
      expect(existsSync(join(dir, "new/public/index.html"))).toBe(true);
      const checked = check(join(dir, "new"));
      expect(checked).toMatchObject({ code: 0, err: "" });
      expect(checked.out).toContain("Listens on http://127.0.0.1:8080, firewall on (enforce).");
      expect(readdirSync(join(dir, "new/public")).sort()).toEqual(["404.html", "index.html"]);
      expect(said.out).toContain("cd new");
    });
  });

  test("leaves a site that is there as it is, and gives one without a first page such a page", () => {
    inFolder((dir) => {
      mkdirSync(join(dir, "a/public"), { recursive: true });
      writeFileSync(join(dir, "a/public/index.html"), "mine");
      mkdirSync(join(dir, "b/public"), { recursive: true });
      for (const name of ["a", "b"]) expect(runInit(["--dir", name], collect().io, dir)).toBe(0);
      expect(readdirSync(join(dir, "a/public"))).toEqual(["index.html"]);
      expect(readFileSync(join(dir, "a/public/index.html"), "utf8")).toBe("mine");
      expect(readdirSync(join(dir, "b/public"))).toEqual(["index.html"]);
    });
  });

  test("names five next steps, and none of its lines is too long to read", () => {
    const text = STARTER_CONFIG.map((file) => file.text).join("");
    for (const step of [1, 2, 3, 4, 5]) expect(text).toMatch(new RegExp(`# Step ${step}\\. `));
    expect(text.split("\n").filter((line) => line.length > 120)).toEqual([]);
  });

  test("never writes over a file, and then writes none", () => {
    inFolder((dir) => {
      writeFileSync(join(dir, "routes.yaml"), "mine");
      const { said, io } = collect();
      expect(runInit([], io, dir)).toBe(1);
      expect(said.err).toBe("edge init: routes.yaml already present, nothing written.\n");
      expect(readFileSync(join(dir, "routes.yaml"), "utf8")).toBe("mine");
      expect(existsSync(join(dir, "config.yaml"))).toBe(false);
    });
  });

  test("says where it cannot write", () => {
    inFolder((dir) => {
      writeFileSync(join(dir, "file"), "");
      const { said, io } = collect();
      expect(runInit(["--dir=file/sub"], io, dir)).toBe(1);
      expect(said.err).toStartWith("edge init: cannot write to file/sub");
    });
  });

  test("leaves with 2 on wrong usage", () => {
    expect(runInit(["--force"], collect().io, "/nowhere")).toBe(2);
  });
});

describe("edge check", () => {
  test("prints every fault with its place, and their number", () => {
    inFolder((dir) => {
      writeFileSync(join(dir, "config.yaml"), "server:\n  prot: 80\n  port: x\n");
      writeFileSync(join(dir, "routes.yaml"), "- {type: static, prefix: /a, dir: nope}\n");
      const { code, out, err } = check(dir);
      expect(code).toBe(1);
      expect(out).toBe("");
      expect(err.replaceAll(dir, "DIR").split("\n")).toEqual([
        'config.yaml:2:3: server.prot: unknown key (did you mean "port"?)',
        'config.yaml:3:9: server.port: expected a port from 0 to 65535, or off, found "x"',
        'routes.yaml:1:35: routes[0].dir: expected an existing folder, found "nope": no such folder (looked for DIR/nope)',
        "3 faults",
        "More: edge help server, edge help server.port, edge help routes.dir",
        "",
      ]);
    });
  });

  test("says the same as JSON, each fault with its key and where it is explained", () => {
    inFolder((dir) => {
      writeFileSync(join(dir, "config.yaml"), "server:\n  prot: 80\n  waf: {rules: [./x]}\n");
      writeFileSync(join(dir, "routes.yaml"), "- {type: static, prefix: /a, dir: nope}\n");
      const { code, out, err } = check(dir, "--json");
      expect({ code, err }).toEqual({ code: 1, err: "" });
      const { ok, found } = JSON.parse(out);
      expect(ok).toBe(false);
      expect(found).toHaveLength(3);
      expect(found[0]).toEqual({
        severity: "fault",
        file: "config.yaml",
        line: 2,
        col: 3,
        key: "server.prot",
        message: 'unknown key (did you mean "port"?)',
        help: "server",
        page: "docs/keys.md#server",
      });
      expect(found[2]).toMatchObject({ key: "routes[0].dir", help: "routes.dir", page: "docs/keys.md#routesdir" });
      writeFileSync(join(dir, "config.yaml"), "server: [");
      expect(JSON.parse(check(dir, "--json").out).found[0]).toMatchObject({ help: "configuration-file" });
      expect(check("/nowhere", "--json", "--print").code).toBe(2);
    });
  });

  test("says as JSON that nothing is wrong", () => {
    inFolder((dir) => expect(JSON.parse(check(dir, "--json").out)).toEqual({ ok: true, found: [] }));
  });

  test("takes named files, and prints the effective configuration", () => {
    inFolder((dir) => {
      writeFileSync(join(dir, "a.yaml"), "server: {port: 9}\ninternal_api: {token: hush-hush}\n");
      writeFileSync(join(dir, "b.yaml"), "- {type: upstream, prefix: /a, target: 'http://a:1'}\n");
      const { code, out, err } = check(dir, "-config=a.yaml", "--routes", "b.yaml", "--print");
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toContain("\n  port: 9\n");
      expect(out).toContain('\n  token: "***"\n');
      expect(out).toContain("\n      - url: http://a:1\n");
    });
  });

  test("says that the embedded defaults are in force, and passes warnings on", () => {
    inFolder((dir) => {
      expect(check(dir)).toMatchObject({ code: 0, err: "" });
      expect(check(dir).out).toContain("embedded defaults");
      writeFileSync(join(dir, "config.yaml"), "{}");
      expect(check(dir).err).toBe(
        "config.yaml:1:1: no routes.yaml beside this file: only the built-in endpoints are served (warning)\nMore: edge help configuration-file\n",
      );
    });
  });

  test("leaves with 2 on wrong usage", () => {
    expect(check("/nowhere", "--confg", "x")).toEqual({
      code: 2,
      out: "",
      err: 'edge check: unknown flag --confg (did you mean --config?)\nTry "edge check --help".\n',
    });
  });
});

describe("the shipped configuration", () => {
  test("is in order, without a warning", () => {
    const checked = check(TOP);
    expect(lines([])).toEqual([]);
    expect(checked).toMatchObject({ code: 0, err: "" });
    expect(checked.out).toContain("5 routes");
  });

  test("holds examples that work when the signs before them are removed", () => {
    const [config, routes] = ["config.yaml", "routes.yaml"].map((name) => readFileSync(join(TOP, name), "utf8"));
    const out = listed(config!, routes!.replaceAll("./src/demo/site", join(TOP, "src/demo/site")));
    expect(out).toContain("policy: least_conn");
    expect(out).toContain("- example.com");
  });
});

test("the steps of edge init work when the signs before them are removed", () => {
  const [config, routes] = STARTER_CONFIG.map((file) => file.text);
  const out = listed(config!, routes!.replace("./public", join(TOP, "src/demo/site")));
  expect(out).toContain("- example.com");
  expect(out).toContain("to: /news{rest}");
  expect(out).toContain("requests: 100");
});

/** What is in force when everything in comments is taken in. */
function listed(config: string, routes: string): string {
  let listing = "";
  inFolder((dir) => {
    const files = config
      .replaceAll("./cert.pem", join(FILES, "cert.pem"))
      .replaceAll("./key.pem", join(FILES, "key.pem"));
    writeFileSync(join(dir, "GeoLite2-Country.mmdb"), countries({ "192.0.2.0/24": "DE" }));
    for (const page of ["404.html", "sorry.html", "back-soon.html"]) writeFileSync(join(dir, page), "<p>{status}</p>");
    mkdirSync(join(dir, "routes.d"));
    writeFileSync(join(dir, "custom.conf"), 'SecRule ARGS:q "@streq x" "id:100001,deny"\n');
    writeFileSync(join(dir, "config.yaml"), uncomment(files.slice(files.indexOf("\nserver:"))));
    writeFileSync(join(dir, "routes.yaml"), uncomment(routes.slice(routes.indexOf("\nroutes:"))));
    const { said, io } = collect();
    const code = runCheck(["--print"], io, {
      cwd: dir,
      env: { EDGE_TOKEN: "long-enough", DNS_TOKEN: "long-enough" },
      knownWafRules: [],
    });
    // One gateway that is both is told which settings are for its edge alone.
    const err = said.err.replace(/^config\.yaml:\d+:3: sidecar: its listeners do not take .*\nMore: .*\n/, "");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    listing = said.out;
  });
  return listing;
}

const FILES = join(TOP, "tests/vectors/config/files");

/** Removes the sign before every commented-out key or list entry; sentences stay comments. */
function uncomment(text: string): string {
  return text.replaceAll(/^( *)# ( *(?:- )?[a-z_0-9]+:(?: .*)?)$/gm, "$1$2");
}

describe("edge check, told of much,", () => {
  test("says every port on which the gateway would listen", () => {
    inFolder((dir) => {
      const config =
        "server: {host: '::1', port: 81}\nsidecar: {enabled: true, ingress_port: 82, egress_port: 83, app_port: 84}\n" +
        "internal_api: {listen: 127.0.0.1:85}\n";
      writeFileSync(join(dir, "config.yaml"), config);
      const { out } = check(dir);
      const places =
        "http://[::1]:81, 0.0.0.0:82 (sidecar, in), 127.0.0.1:83 (sidecar, out) and 127.0.0.1:85 (internal)";
      expect(out).toContain(`Listens on ${places}, firewall off.`);
    });
  });

  test("shows a hundred of ten thousand unknown keys", () => {
    inFolder((dir) => {
      const keys = Array.from({ length: 10_000 }, (_, i) => `  k${i}: 1\n`).join("");
      writeFileSync(join(dir, "config.yaml"), `server:\n${keys}`);
      const { code, err } = check(dir);
      expect(code).toBe(1);
      expect(err.split("\n").length).toBeLessThan(110);
      expect(err).toContain("more faults follow; fix these first");
    });
  });
});
