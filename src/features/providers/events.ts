import { flagField, numberField, optional, textField, texts } from "../../core/event-row.ts";

const SOURCE = textField("the kind of source: directory, api, etcd, docker, consul, nomad, kubernetes");
const NAME = textField("the file, the key, the name, the container or the service");

/** What sources of routes write to the log. Each line is written once, until something of it changes. docs/providers.md */
export const PROVIDER_EVENTS = {
  route_invalid: {
    level: "warn",
    meaning:
      "A source has routes with faults. All others serve; with `kept: true`, the last good ones of this file do, too.",
    advice: "Fix what `faults` names: the file is read again as soon as it changes.",
    fields: {
      source: SOURCE,
      name: NAME,
      faults: texts("each with its line and column"),
      kept: flagField("whether the last good routes serve"),
    },
  },
  provider_unavailable: {
    level: "warn",
    meaning:
      "A source of routes cannot be reached, or does not give its routes. Its last good routes serve, and edge tries again.",
    advice:
      "Check `error`. Of a cluster: is the API server up, and may edge's account list and watch this resource? Of containers: does the engine run, and may edge read its socket? Of Consul, Nomad and etcd: is the endpoint right, and may the token or user read?",
    fields: {
      source: SOURCE,
      name: textField("its endpoint, or the resource"),
      error: textField("why"),
      kept: numberField("how many containers, instances, keys or objects still serve"),
    },
  },
  route_shadowed: {
    level: "warn",
    meaning:
      "Two sources have a route of the same host, path and match: the one of the earlier source serves, this one does not.",
    advice: "Remove one of the two, or tell them apart by host, path or match. `edge routes list` shows both.",
    fields: {
      source: SOURCE,
      name: NAME,
      route: textField("its path"),
      hosts: texts("its hosts"),
      by_source: textField("the source of the route that serves"),
      by_name: textField("its file or name"),
    },
  },
  label_ignored: {
    level: "warn",
    meaning:
      "A label of a container, or a tag of a service, is not carried over. With `route`, its whole route is left out.",
    advice:
      "Do what `cure` says, or remove the label. docs/providers.md#labels-of-traefik lists what edge carries over.",
    fields: {
      source: SOURCE,
      container: textField("the name of the container or service"),
      label: textField("the label or tag"),
      reason: textField("why it does not count"),
      cure: textField("what to do"),
      route: optional(textField("the route that is left out")),
    },
  },
  provider_available: {
    meaning: "A source of routes that was away is back, and edge has its changes of the meantime.",
    advice: "You do not need to do anything.",
    fields: {
      source: SOURCE,
      name: textField("its endpoint"),
      containers: numberField("containers, instances or keys with routes"),
    },
  },
} as const;
