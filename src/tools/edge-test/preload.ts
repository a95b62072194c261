// What the runtime's test runner loads before the tests of `edge test`: the module "edge:test".
import { afterAll } from "bun:test";
import { plugin } from "bun";
import { type GatewayOptions, RUN_VARIABLE, TestGateway, type TestRun } from "./gateway.ts";

const run = JSON.parse(process.env[RUN_VARIABLE] ?? "null") as TestRun;
delete process.env[RUN_VARIABLE];

const started: Promise<TestGateway>[] = [];

function startEdge(options?: GatewayOptions): Promise<TestGateway> {
  const gateway = TestGateway.start(run, options);
  started.push(gateway);
  return gateway;
}

let common: Promise<TestGateway> | null = null;
let isListening: TestGateway | null = null;

/** The gateway that all tests share. */
function shared(): Promise<TestGateway> {
  common ??= startEdge().then((gateway) => {
    isListening = gateway;
    return gateway;
  });
  return common;
}

const edge = {
  async fetch(target: string | URL, init?: RequestInit) {
    return (await shared()).fetch(target, init);
  },
  async logged(fits: (line: Readonly<Record<string, unknown>>) => boolean) {
    return (await shared()).logged(fits);
  },
  get log() {
    return isListening?.log ?? [];
  },
};

plugin({
  name: "edge:test",
  setup(build) {
    build.module("edge:test", () => ({ exports: { edge, startEdge }, loader: "object" }));
  },
});

afterAll(async () => {
  const gateways = await Promise.allSettled(started);
  await Promise.all(gateways.map((one) => (one.status === "fulfilled" ? one.value.stop() : null)));
});
