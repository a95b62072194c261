// Configurations in Redis and S3.
import { describe, expect, test } from "bun:test";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { S3Server, s3Binary } from "../harness/s3-server.ts";

const REGION = "us-east-1";
const S3 = await s3Binary();
const routesFor = (body: string) => `- { type: respond, path: /v, body: ${body} }\n...\n`;
const configFor = (port: number) => `server: { host: 127.0.0.1, port: ${port}, workers: 1 }\n...\n`;

async function reload(gateway: Gateway): Promise<string> {
  const reply = await gateway.once(request("POST /internal/api/reload", ["Content-Type: application/json"], "{}"));
  return reply.status === 200 ? "" : String(json(reply).faults);
}

const served = async (gateway: Gateway) => (await gateway.once(request("GET /v"))).text;

test.skipIf(REDIS === null)("a configuration in Redis is taken, and taken anew", async () => {
  const redis = await RedisServer.start();
  const port = freePort();
  await redis.command("-n", "2", "SET", "edge/config.yaml", configFor(port));
  await redis.command("-n", "2", "SET", "edge/routes.yaml", routesFor("grün"));
  const url = `${redis.url}/2/edge/config.yaml`;
  const gateway = await startGateway({ port, args: ["--config", url, "--routes=", "--poll", "1h"] });
  expect(await served(gateway)).toBe("grün");
  await redis.command("-n", "2", "SET", "edge/routes.yaml", routesFor("two"));
  expect([await reload(gateway), await served(gateway)]).toEqual(["", "two"]);
  await redis.command("-n", "2", "DEL", "edge/config.yaml");
  expect(await reload(gateway)).toBe(`${url}: there is no such document`);
  await redis.command("-n", "2", "RPUSH", "edge/config.yaml", "x");
  expect(await reload(gateway)).toMatch(/config\.yaml: .*WRONGTYPE/);
  await redis.stop();
  expect(await reload(gateway)).toMatch(/^redis:\/\/127\.0\.0\.1:\d+\/2\/edge\/config\.yaml: /);
  expect(await served(gateway)).toBe("two");
  await gateway.stop();
});

describe.skipIf(S3 === null)("a configuration in S3", () => {
  test("is taken, and taken anew by its ETag", async () => {
    const server = await S3Server.start(S3!);
    const { endpoint, accessKeyId, secretAccessKey, bucket } = server;
    const client = new Bun.S3Client({ endpoint, accessKeyId, secretAccessKey, bucket, region: REGION });
    const port = freePort();
    await client.write("edge/config.yaml", configFor(port));
    await client.write("edge/routes.yaml", routesFor("one"));
    const url = `s3://${bucket}/edge/config.yaml`;
    const gateway = await startGateway({
      port,
      args: ["--config", url, "--routes=", "--poll", "1h"],
      env: {
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: secretAccessKey,
        AWS_ENDPOINT: endpoint,
        AWS_REGION: REGION,
      },
    });
    expect(await served(gateway)).toBe("one");
    await client.write("edge/routes.yaml", routesFor("two"));
    expect([await reload(gateway), await served(gateway)]).toEqual(["", "two"]);
    await client.delete("edge/config.yaml");
    expect(await reload(gateway)).toBe(`${url}: there is no such document`);
    await server.stop();
    expect(await reload(gateway)).toMatch(/^s3:\/\/edge-test\/edge\/config\.yaml: ConnectionRefused/);
    expect(await served(gateway)).toBe("two");
    await gateway.stop();
  });
});
