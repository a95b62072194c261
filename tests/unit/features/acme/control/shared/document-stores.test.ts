import { afterAll, describe, expect, test } from "bun:test";
import {
  DocumentConflict,
  type DocumentStore,
  MAX_DOCUMENT_BYTES,
  SAME,
  StoreAway,
  type StoredDocument,
} from "../../../../../../src/features/acme/control/shared/document-store.ts";
import { RedisDocuments } from "../../../../../../src/features/acme/control/shared/redis-documents.ts";
import { S3Documents } from "../../../../../../src/features/acme/control/shared/s3-documents.ts";
import { openRedis } from "../../../../../../src/features/fleet/control/redis-store.ts";
import { eventually } from "../../../../../harness/eventually.ts";
import { MemoryDocuments } from "../../../../../harness/memory-documents.ts";
import { REDIS, RedisServer } from "../../../../../harness/redis-server.ts";
import { S3Server, s3Binary } from "../../../../../harness/s3-server.ts";

const CLUSTER = {
  enabled: true,
  master: "",
  prefix: "edge",
  node: "",
  password: "",
  timeoutMs: 200,
  caFile: "",
} as const;
const versitygw = await s3Binary();
const ends: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
});

function onRedis(store: readonly string[]): DocumentStore {
  const config = { ...CLUSTER, store: [...store] } as Parameters<typeof openRedis>[0];
  return new RedisDocuments("edge", (onLost) => openRedis(config, onLost));
}

function onS3(endpoint: string, secretAccessKey = "test-secret-key", prefix = "p/"): S3Documents {
  const access = { accessKeyId: "test-key-id", secretAccessKey, sessionToken: "", region: "us-east-1" };
  return new S3Documents({ bucket: "edge-test", prefix, endpoint, ...access });
}

async function startCluster(): Promise<DocumentStore> {
  const servers = await Promise.all([0, 1, 2].map(() => RedisServer.start(["--cluster-enabled", "yes"])));
  ends.push(async () => void (await Promise.all(servers.map((server) => server.stop()))));
  await servers[0]!.command("--cluster", "create", ...servers.map(({ port }) => `127.0.0.1:${port}`), "--cluster-yes");
  await eventually(async () => {
    for (const server of servers) expect(await server.command("CLUSTER", "INFO")).toContain("cluster_state:ok");
  });
  // Of two of them at least the keys are elsewhere.
  return onRedis([servers[1]!.url]);
}

const stores: { readonly kind: string; readonly isThere: boolean; readonly open: () => Promise<DocumentStore> }[] = [
  { kind: "memory, which tests use", isThere: true, open: async () => new MemoryDocuments() },
  {
    kind: "Redis",
    isThere: REDIS !== null,
    async open() {
      const redis = await RedisServer.start();
      ends.push(() => redis.stop());
      return onRedis([redis.url]);
    },
  },
  { kind: "a Redis cluster", isThere: REDIS !== null, open: startCluster },
  {
    kind: "S3",
    isThere: versitygw !== null,
    async open() {
      const s3 = await S3Server.start(versitygw!);
      ends.push(() => s3.stop());
      return onS3(s3.endpoint);
    },
  },
];

for (const { kind, isThere, open } of stores) {
  describe.skipIf(!isThere)(`documents in ${kind}`, () => {
    test("are replaced by who has seen what is replaced, and by no other", async () => {
      const store = await open();
      const name = "cert/_.example.test-0123456789ab";
      expect(await store.read(name, "")).toBeNull();
      expect(await store.list("cert/")).toEqual([]);
      await expect(store.write(name, "x", "an-old-version")).rejects.toThrow(DocumentConflict);
      const first = await store.write(name, "one", "");
      await expect(store.write(name, "two", "")).rejects.toThrow(DocumentConflict);
      expect(await store.read(name, "")).toMatchObject({ text: "one", version: first });
      expect(await store.read(name, first)).toBe(SAME);
      const second = await store.write(name, "two", first);
      expect(second).not.toBe(first);
      await expect(store.write(name, "three", first)).rejects.toThrow(DocumentConflict);
      const found = (await store.read(name, first)) as StoredDocument;
      expect([found.text, found.version]).toEqual(["two", second]);
      expect(found.ageMs).toBeLessThan(60_000);
      await store.write("news", "n", "");
      expect(await store.list("cert/")).toEqual([name]);
      const long = "x".repeat(100_000);
      await store.write("cert/long", long, "");
      expect(((await store.read("cert/long", "")) as StoredDocument).text).toBe(long);
      // Of many at the same moment one is taken.
      const results = await Promise.allSettled(Array.from({ length: 8 }, (_, i) => store.write(name, `${i}`, second)));
      expect(results.filter(({ status }) => status === "fulfilled").length).toBe(1);
      store.close();
    }, 30_000);
  });
}

describe.skipIf(REDIS === null)("documents in Redis", () => {
  test("one that went away is reached again; a command that it refuses is told without its words", async () => {
    const redis = await RedisServer.start();
    const store = onRedis([redis.url]);
    await store.write("a", "one", "");
    await redis.stop();
    await expect(store.read("a", "")).rejects.toThrow(StoreAway);
    const again = await RedisServer.start([], redis.port);
    expect(await eventually(() => store.read("a", ""))).toBeNull();
    await again.command("CONFIG", "SET", "maxmemory", "1");
    const failure = await store.write("a", "a text", "").catch(String);
    expect(failure).toContain("OOM");
    expect(failure).not.toContain("a text");
    store.close();
    await again.stop();
  });
});

describe("documents in S3", () => {
  function fake(answer: (request: Request) => Response): Bun.Server<undefined> {
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
    ends.push(() => server.stop(true));
    return server;
  }

  test("a server that takes no notice of conditions is refused before the first write", async () => {
    const written: string[] = [];
    const server = fake((request) => {
      if (request.method === "PUT") written.push(new URL(request.url).pathname);
      return new Response("", { headers: { ETag: '"1"' } });
    });
    const store = onS3(server.url.href);
    await expect(store.write("cert/a", "x", "")).rejects.toThrow("takes no notice of If-None-Match");
    expect(new Set(written)).toEqual(new Set(["/edge-test/p/conditions"]));
  });

  test("what it has against a request is told by its code; no signature, key or text gets into a message", async () => {
    const echo = fake(
      (request) =>
        new Response(`<Error><Code>SignatureDoesNotMatch</Code><Message>${request.url}</Message></Error>`, {
          status: 403,
        }),
    );
    const broken = fake(() => new Response("x".repeat(MAX_DOCUMENT_BYTES + 1), { headers: { ETag: '"1"' } }));
    const moved = fake(() => Response.redirect("http://127.0.0.1:1/elsewhere"));
    const told: string[] = [];
    for (const endpoint of [echo.url.href, broken.url.href, moved.url.href, "http://127.0.0.1:1"]) {
      const store = onS3(endpoint);
      for (const call of [() => store.read("a", ""), () => store.write("a", "a text", ""), () => store.list("")]) {
        const error = await call().catch((failure: unknown) => failure);
        if (endpoint !== broken.url.href) expect(error).toBeInstanceOf(StoreAway);
        told.push(String(error));
      }
    }
    expect(told[0]).toContain("s3: GET was answered with 403 SignatureDoesNotMatch");
    expect(told.join("\n")).not.toMatch(/X-Amz|test-secret-key|a text/);
  });
});
