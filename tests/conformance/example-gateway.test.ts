import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { ask, type Outcome } from "./example-comparison.ts";
import { KNOWN_DIFFERENCES } from "./example-differences.ts";
import { buildExampleGateway, ExampleGateway } from "./example-gateway.ts";
import { ECHOED_REQUESTS, EXAMPLE_REQUESTS, type ExampleRequest } from "./example-requests.ts";

// The transcoder beside grpc-gateway, before one and the same server: the requests of its own examples to both.
const built = await buildExampleGateway();

describe.skipIf(built === null)("the examples of grpc-gateway", () => {
  let rival: ExampleGateway;
  let examples: Gateway;
  let echoes: Gateway;

  beforeAll(async () => {
    rival = await ExampleGateway.start(built!);
    const start = (upstream_url: string, services: readonly string[], more: object = {}): Promise<Gateway> =>
      startGateway({
        config: {
          transcoder: {
            enabled: true,
            descriptor_set: rival.descriptorSet,
            upstream_url,
            auto: { services: services.map((name) => PACKAGE + name) },
            json: { emit_defaults: true, ignore_unknown: true },
            ...more,
          },
        },
      });
    [examples, echoes] = await Promise.all([
      start(rival.urls.examples, EXAMPLES, { http_rules: [rival.serviceConfig] }),
      start(rival.urls.echoes, ECHOES),
    ]);
  });
  afterAll(async () => {
    rival.stop();
    await Promise.all([examples.stop(), echoes.stop()]);
  });

  const both = async (row: ExampleRequest, gateway: Gateway): Promise<[theirs: Outcome, ours: Outcome | string]> => {
    const reference = Number(new URL(rival.urls.gateway).port);
    // A response that is cut short tells no more than that.
    return [await ask(reference, reference, row), await ask(gateway.port, reference, row).catch(() => "cut")];
  };
  const rows = EXAMPLE_REQUESTS.map((row) => ({ name: nameOf(row), row, gateway: () => examples })).concat(
    ECHOED_REQUESTS.map((row) => ({ name: nameOf(row), row, gateway: () => echoes })),
  );
  const isKnown = ({ name }: { readonly name: string }) =>
    KNOWN_DIFFERENCES.some((one) => one.rows.some((part) => part.test(name)));

  test.each(rows.filter((row) => !isKnown(row)))("$name", async ({ row, gateway }) => {
    const [theirs, ours] = await both(row, gateway());
    expect(ours).toEqual(theirs);
  });

  test.each(KNOWN_DIFFERENCES.map((one) => [one.what, one] as const))(
    "otherwise: %s",
    async (_, { rows: parts, statuses }) => {
      for (const part of parts) {
        const found = rows.filter(({ name }) => part.test(name));
        expect([part, found.length > 0]).toEqual([part, true]);
        for (const { name, row, gateway } of found) {
          const [theirs, ours] = await both(row, gateway());
          expect([name, Bun.deepEquals(theirs, ours)]).toEqual([name, false]);
          const status = typeof ours === "string" ? theirs.status : ours.status;
          expect([name, statuses]).toEqual([name, expect.arrayContaining([[theirs.status, status]])]);
        }
      }
    },
  );

  test("each difference is in the table of the page, and each row of the table is one", () => {
    const page = readFileSync(join(import.meta.dir, "../../docs/transcoder.md"), "utf8");
    const section = page.split("## Beside grpc-gateway")[1]!.split("\n## ")[0]!;
    const named = section.split("\n").flatMap((line) => /^\| (.+?) \| \d/.exec(line)?.[1] ?? []);
    expect(named).toEqual(KNOWN_DIFFERENCES.map(({ what }) => what));
  });
});

function nameOf([line, body = "", ...lines]: ExampleRequest): string {
  return (
    [line, body, ...lines].join(" ").replaceAll("\n", " ").trimEnd() + (body === "" && lines.length === 0 ? " " : "")
  );
}

const PACKAGE = "grpc.gateway.examples.internal.proto.examplepb.";
const EXAMPLES = [
  "EchoService",
  "UnannotatedEchoService",
  "ABitOfEverythingService",
  "StreamService",
  "FlowCombination",
  "ExcessBodyService",
  "NonStandardService",
  "ResponseBodyService",
];
const ECHOES = [
  "WrappersService",
  "OpaqueEcommerceService",
  "EnumWithSingleValueService",
  "SnakeEnumService",
  "camelCaseServiceName",
];
