import { foreignAdvice } from "../config/foreign-names.ts";
import { block, type ConfigOf, type Row } from "../config/row.ts";
import { cluster } from "../features/fleet/settings.ts";
import { functions } from "../features/functions/settings.ts";
import { sidecar } from "../features/sidecar/settings.ts";
import { telemetry } from "../features/telemetry/settings.ts";
import { transcoder } from "../features/transcode/settings.ts";
import { FOREIGN_SECTIONS } from "./foreign-server-keys.ts";
import { providers } from "./provider-settings.ts";
import { internalApi, proxy } from "./proxy-settings.ts";
import { type SECTIONS, SERVER_KEYS, server } from "./server-settings.ts";

const sections = {
  server: { type: server, doc: "the listeners and what holds for all routes" },
  proxy: { type: proxy, doc: "how the gateway connects to upstreams" },
  sidecar: { type: sidecar, guard: true, doc: "for an application in a service mesh" },
  transcoder: { type: transcoder, doc: "REST in front of gRPC" },
  functions: { type: functions, doc: "how modules of your own run, of type: function and hooks" },
  cluster: { type: cluster, doc: "what several gateways share, by way of Redis" },
  telemetry: { type: telemetry, doc: "traces, metrics and logs for a collector of OpenTelemetry" },
  providers: { type: providers, doc: "where routes come from beside routes.yaml" },
  internal_api: { type: internalApi, doc: "/internal/* and /metrics are served to this machine only" },
} as const satisfies Readonly<Record<(typeof SECTIONS)[number], Row>>;

/** config.yaml as a whole: its sections, with their keys. docs/configuration.md */
export const configFile = block(sections, {
  misplaced: new Map([
    ...SERVER_KEYS.map((key) => [key, `belongs one level down: write server.${key}`] as const),
    ["routes", "belong in a separate file, routes.yaml"],
    ...foreignAdvice(FOREIGN_SECTIONS),
  ]),
  finish: ({ server, proxy }) => ({ proxy: { ...proxy, transport: finishTransport(proxy.transport, server) } }),
});

/** A mode that is not said is the server's. */
function finishTransport(
  transport: ConfigOf<typeof proxy>["transport"],
  { inboundChunkedMode }: Pick<ConfigOf<typeof server>, "inboundChunkedMode">,
) {
  return { ...transport, inboundChunkedMode: transport.inboundChunkedMode || inboundChunkedMode };
}
