import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Gateway } from "../../harness/gateway.ts";
import { startRecipe } from "../../harness/recipe.ts";
import { runProcess } from "../../harness/run-process.ts";
import { Application, PYTHON } from "./application.ts";

if (PYTHON === null) console.log("skipped: a package index needs pypiserver (scripts/install-peers, from PyPI)");

describe.skipIf(PYTHON === null)("a package index", () => {
  let server: Application;
  let gateway: Gateway;

  beforeAll(async () => {
    server = await Application.start({
      path: "/simple/",
      prepare: (folder) => mkdirSync(join(folder, "packages")),
      command: (port) => [
        ...[PYTHON!, "-m", "pypiserver", "run", "-i", "127.0.0.1", "-p", String(port)],
        ...["-a", ".", "-P", ".", "./packages"],
      ],
    });
    gateway = await startRecipe("recipes.md", "Package index", { "http://127.0.0.1:8082": server.url });
  }, 90_000);
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
  }, 30_000);

  test("takes a package, and pip installs it", async () => {
    const url = `http://127.0.0.1:${gateway.port}`;
    const [wheel, name] = [await makeWheel(server.folder), "edge_sample-1.0-py3-none-any.whl"];
    const form = new FormData();
    const fields = {
      ":action": "file_upload",
      protocol_version: "1",
      name: "edge-sample",
      version: "1.0",
      filetype: "bdist_wheel",
    };
    const described = { ...fields, description: DESCRIPTION, description_content_type: "text/markdown" };
    for (const [key, value] of Object.entries(described)) form.append(key, value);
    form.append("content", new File([wheel], name));
    const sent = await fetch(url, { method: "POST", body: form });
    expect([sent.status, await sent.text()]).toEqual([200, expect.any(String)]);
    expect(await (await fetch(`${url}/packages/${name}`)).bytes()).toEqual(new Uint8Array(wheel));
    const target = join(server.folder, "installed");
    const pip = [
      "-m",
      "pip",
      "install",
      "-q",
      "--no-deps",
      "--disable-pip-version-check",
      "--index-url",
      `${url}/simple/`,
    ];
    const run = await runProcess([PYTHON!, ...pip, "--target", target, "edge-sample"], {
      env: { PATH: process.env.PATH, HOME: server.folder },
      timeout: 60_000,
    });
    expect([run.code, run.stderr]).toEqual([0, expect.any(String)]);
    expect(readFileSync(join(target, "edge_sample.py"), "utf8")).toBe(MODULE);
  }, 90_000);
});

const MODULE = "GREETING = 'hello'\n";
const DESCRIPTION =
  "# Sample\n\n```sh\npip install edge-sample && rm -rf build\n```\n\n`SELECT * FROM users` and <b>HTML</b>.\n";

/** A wheel is a zip of a module and its description; Python's own module makes it. */
async function makeWheel(folder: string): Promise<Buffer> {
  const path = join(folder, "sample.whl");
  const lines = [
    "import sys, zipfile",
    "info = 'edge_sample-1.0.dist-info/'",
    "with zipfile.ZipFile(sys.argv[1], 'w') as z:",
    "    z.writestr('edge_sample.py', sys.argv[2])",
    "    z.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: edge-sample\\nVersion: 1.0\\n')",
    "    z.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')",
    "    z.writestr(info + 'RECORD', 'edge_sample.py,,\\n' + info + 'METADATA,,\\n' + info + 'WHEEL,,\\n' + info + 'RECORD,,\\n')",
  ];
  writeFileSync(join(folder, "make.py"), lines.join("\n"));
  const run = await runProcess([PYTHON!, join(folder, "make.py"), path, MODULE], { timeout: 30_000 });
  if (run.code !== 0) throw new Error(run.stderr);
  return readFileSync(path);
}
