import type { DockerConfig } from "../../settings.ts";
import { isExposed } from "../labels/container-labels.ts";
import { type Instance, isInstance } from "../labels/instance.ts";
import { LabelLists, type TraefikReader } from "../labels/label-routes.ts";
import type { SourceKind } from "../live/source-kind.ts";
import { Engine } from "./engine.ts";
import { EngineWatch } from "./engine-watch.ts";

/** Containers of Docker and Podman as a source of routes. docs/providers.md#docker-and-podman */
export function dockerKind(folder: string, readTraefik: TraefikReader): SourceKind<DockerConfig, Instance> {
  return {
    source: "docker",
    part: "docker-containers",
    lists: new LabelLists({ source: "docker", folder, readTraefik, provider: "docker" }),
    configOf: ({ providers }) => providers.docker,
    placeOf: ({ endpoint }) => endpoint,
    watch(config, ports, before) {
      const isWanted = (labels: Instance["labels"]): boolean => isExposed(labels, config);
      const kept = before.filter(({ labels }) => isWanted(labels));
      return new EngineWatch(new Engine(config.endpoint), { ...ports, isWanted }, kept);
    },
    isItem: isInstance,
  };
}
