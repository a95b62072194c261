import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Gateway } from "../../harness/gateway.ts";
import { longTest } from "../../harness/long-lane.ts";
import { startRecipe } from "../../harness/recipe.ts";
import { Application } from "./application.ts";
import { randomPieces } from "./random-pieces.ts";

const REGISTRY = Bun.which("docker-registry");
if (REGISTRY === null)
  console.log("skipped: a container registry needs docker-registry (scripts/install-peers, from Debian)");

const MIB = 1_048_576;
const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";

describe.skipIf(REGISTRY === null)("a container registry", () => {
  let registry: Application;
  let gateway: Gateway;

  beforeAll(async () => {
    registry = await Application.start({
      path: "/v2/",
      prepare: (folder) => writeFileSync(join(folder, "config.yml"), settings(folder)),
      command: (port, folder) => [
        "/usr/bin/env",
        `REGISTRY_HTTP_ADDR=127.0.0.1:${port}`,
        ...[REGISTRY!, "serve", join(folder, "config.yml")],
      ],
    });
    gateway = await startRecipe("recipes.md", "Container registry", { "http://127.0.0.1:5000": registry.url });
  }, 90_000);
  afterAll(async () => {
    await gateway?.stop();
    await registry?.stop();
  }, 30_000);

  const at = (path: string) => `http://127.0.0.1:${gateway.port}${path}`;

  /** Pushes a layer as clients do: an upload, its bytes in chunks of unknown number, its digest. */
  async function push(mebibytes: number): Promise<string> {
    const { stream, digest } = randomPieces(mebibytes);
    const begun = await fetch(at("/v2/shop/app/blobs/uploads/"), { method: "POST" });
    expect(begun.status).toBe(202);
    // The registry names the gateway, by the address that the client used.
    const upload = begun.headers.get("location")!;
    expect(upload).toStartWith(at("/v2/shop/app/blobs/uploads/"));
    const type = { "Content-Type": "application/octet-stream" };
    const sent = await fetch(upload, { method: "PATCH", headers: type, body: stream });
    expect([sent.status, sent.headers.get("range")]).toEqual([202, `0-${mebibytes * MIB - 1}`]);
    const name = `sha256:${digest()}`;
    const last = `${sent.headers.get("location")!}&digest=${encodeURIComponent(name)}`;
    const done = await fetch(last, { method: "PUT" });
    expect([done.status, done.headers.get("docker-content-digest")]).toEqual([201, name]);
    return name;
  }

  async function pulled(name: string): Promise<string> {
    const hash = createHash("sha256");
    const response = await fetch(at(`/v2/shop/app/blobs/${name}`));
    for await (const piece of response.body!) hash.update(piece);
    return `sha256:${hash.digest("hex")}`;
  }

  test("takes an image and gives it back", async () => {
    const layer = await push(24);
    expect(await pulled(layer)).toBe(layer);
    const part = await fetch(at(`/v2/shop/app/blobs/${layer}`), { headers: { Range: "bytes=100-199" } });
    expect([part.status, (await part.bytes()).length]).toEqual([206, 100]);
    const config = await push(1);
    const manifest = JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: { mediaType: "application/vnd.oci.image.config.v1+json", digest: config, size: MIB },
      layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar", digest: layer, size: 24 * MIB }],
    });
    const headers = { "Content-Type": MANIFEST_TYPE };
    const put = await fetch(at("/v2/shop/app/manifests/1.0"), { method: "PUT", headers, body: manifest });
    expect(put.status).toBe(201);
    const got = await fetch(at("/v2/shop/app/manifests/1.0"), { headers: { Accept: MANIFEST_TYPE } });
    expect(await got.text()).toBe(manifest);
    expect(await (await fetch(at("/v2/shop/app/tags/list"))).json()).toEqual({ name: "shop/app", tags: ["1.0"] });
  }, 60_000);

  longTest(
    "takes a layer of 300 MB in chunks, with little memory",
    async () => {
      const before = gateway.memory()?.resident ?? 0;
      const layer = await push(300);
      expect(await pulled(layer)).toBe(layer);
      expect((gateway.memory()?.peak ?? 0) - before).toBeLessThan(128 * MIB);
    },
    300_000,
  );
});

function settings(folder: string): string {
  return `version: 0.1\nstorage: {filesystem: {rootdirectory: ${folder}/data}}\nhttp: {addr: "127.0.0.1:0"}\n`;
}
