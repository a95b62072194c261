import { MAX_ROUTE_LABELS, MAX_UPSTREAM_LABELS } from "../../memory/counter-rows.ts";
import type { CounterLabels } from "../../memory/counter-table.ts";
import { LabelRegistry } from "../../memory/label-registry.ts";
import { MAX_LISTENER_LABELS } from "../../memory/listener-counters.ts";
import { MAX_STREAM_LABELS } from "../../memory/stream-counters.ts";

/** The path label of requests that no route took. docs/endpoints.md#metrics */
export const UNMATCHED_LABEL = "unmatched";

/** The control thread's numbers for routes, upstreams and streams, for the life of the process. */
export class TelemetryLabels {
  readonly routes: LabelRegistry = new LabelRegistry([UNMATCHED_LABEL], MAX_ROUTE_LABELS);
  readonly upstreams: LabelRegistry = new LabelRegistry([], MAX_UPSTREAM_LABELS);
  readonly streams: LabelRegistry = new LabelRegistry([], MAX_STREAM_LABELS);
  readonly listeners: LabelRegistry = new LabelRegistry([], MAX_LISTENER_LABELS);

  /**
   * Numbers the labels of a configuration and gives what its workers need.
   * @param routes label of every route, built-in ones included
   * @param upstreams origin key of every target
   * @param streams label of every stream
   * @param listeners name of every listener of `server`
   */
  forConfiguration(
    routes: Iterable<string>,
    upstreams: Iterable<string>,
    streams: Iterable<string> = [],
    listeners: Iterable<string> = [],
  ): CounterLabels {
    for (const label of routes) this.routes.idOf(label);
    for (const label of upstreams) this.upstreams.idOf(label);
    for (const label of streams) this.streams.idOf(label);
    for (const label of listeners) this.listeners.idOf(label);
    const { routes: paths, upstreams: origins, streams: forwarded, listeners: names } = this;
    return { routes: paths.ids(), upstreams: origins.ids(), streams: forwarded.ids(), listeners: names.ids() };
  }
}
