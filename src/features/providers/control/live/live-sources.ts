import { consulKind } from "../catalog/consul.ts";
import { nomadKind } from "../catalog/nomad.ts";
import { dockerKind } from "../docker/docker-kind.ts";
import { etcdKind } from "../etcd/etcd-kind.ts";
import type { TraefikReader } from "../labels/label-routes.ts";
import { type AnyLiveSource, LiveSource, type SourceMemory } from "./live-source.ts";

/** All sources that change by themselves, in the order in which they win. docs/providers.md#which-route-wins */
export function liveSources(folder: string, readTraefik: TraefikReader, state: SourceMemory): readonly AnyLiveSource[] {
  return [
    new LiveSource(etcdKind(folder), state),
    new LiveSource(dockerKind(folder, readTraefik), state),
    new LiveSource(consulKind(folder, readTraefik), state),
    new LiveSource(nomadKind(folder, readTraefik), state),
  ];
}
