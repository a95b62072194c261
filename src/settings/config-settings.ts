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
  server: { type: server, doc: "your listeners, and the settings of every route" },
  proxy: { type: proxy, doc: "how edge connects to your upstreams" },
  sidecar: { type: sidecar, guard: true, doc: "for an application in a service mesh" },
  transcoder: { type: transcoder, doc: "REST in front of your gRPC services" },
  functions: { type: functions, doc: "your own modules: routes with type: function, and hooks" },
  cluster: { type: cluster, doc: "state that your gateways share over Redis" },
  telemetry: { type: telemetry, doc: "traces, metrics and logs for your OpenTelemetry collector" },
  providers: { type: providers, doc: "further sources of routes, beside routes.yaml" },
  internal_api: { type: internalApi, doc: "/internal/* and /metrics; without this section for this machine only" },
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
