import { writeSuitePage } from "../suite-page.ts";
import type { Outcome } from "./ingresses.ts";

/** Why cases do not pass, by the beginnings of their names; the first row that fits counts. */
const REASONS: readonly (readonly [test: string, reason: string])[] = [
  ["Custom Headers", "habit: a ConfigMap of another namespace, or one with a broken value, changes nothing in edge"],
  ["Basic Auth", "habit: SHA-1 of a password is too weak for edge, which closes the path"],
  ["Forward Auth", "the service that decides is not part of the suite: edge serves nobody without its word"],
  ["Service Upstream", "the address of the Service itself is not part of the suite"],
  [
    "X-forwarded-prefix",
    "feature: `X-Forwarded-Prefix` and the target of a rewrite are paths, without groups at their beginning",
  ],
  ["WhitelistSourceRange", "habit: edge takes an empty list of networks for a mistake, and closes the path"],
  ["AllowlistSourceRange", "habit: edge takes an empty list of networks for a mistake, and closes the path"],
  ["Permanent Redirect Code", "habit: 300 redirects nobody; edge names it and sends 301"],
  ["Server snippet", "feature: raw text of nginx; the path is closed, since the text may hold access rules"],
  ["Configuration snippet", "feature: raw text of nginx; the path is closed, since the text may hold access rules"],
  ["Both snippets", "feature: raw text of nginx; the path is closed, since the text may hold access rules"],
  ["SSL Passthrough", "habit: clear text of a host with TLS is redirected to it, as ingress-nginx does"],
  ["Auth TLS secret missing", "habit: clear text of a host with TLS is redirected to it; there the path is closed"],
  [
    "two containers with two identical router rules",
    "habit: containers that name one router are its servers, even if their services have other names",
  ],
  [
    "two containers with",
    "habit: of containers that disagree, the one that was started first counts, and edge names the other",
  ],
  [
    "three containers with",
    "habit: of containers that disagree, the one that was started first counts, and edge names the other",
  ],
  ["one container with label url", "habit: servers other than the container take `trusted`"],
  [
    "one router, one specified",
    "habit: edge has no route for a service that is nowhere; Traefik has one that refuses all",
  ],
  ["label test: plugin", "feature: plugins"],
  ["label test: digestauth", "feature: digest authentication"],
  ["label test: passtlsclientcert", "feature: fields with parts of a client's certificate"],
  ["label test: stripprefixregex", "feature: prefixes by expressions"],
  ["label test: ipallowlist", "feature: addresses from `X-Forwarded-For` by depth"],
  ["label test: headers", "feature: `allowedhosts`"],
  ["label test", "the suite's values are placeholders such as `foobar`, which edge refuses"],
];

/** Writes the page of the suite. */
export function writeTraefikPage(ingresses: readonly Outcome[], labels: readonly Outcome[], version: string): void {
  const isMiddleware = ({ test }: Outcome): boolean => test.startsWith("label test");
  const all = [...ingresses, ...labels.filter((one) => !isMiddleware(one))];
  const middlewares = labels.filter(isMiddleware);
  const count = (outcomes: readonly Outcome[], outcome: Outcome["outcome"]): number =>
    outcomes.filter((one) => one.outcome === outcome).length;
  writeSuitePage({
    name: "traefik",
    title: "Traefik's fixtures of Ingresses and cases of labels",
    intro: [
      "Tests of github.com/traefik/traefik: `scripts/conformance-traefik CHECKOUT`. edge serves the fixtures of Traefik's provider for Ingresses of ingress-nginx, beside an API server",
      "with these objects, and gets a request for each router that the test expects: status, place of a redirect, endpoint, path, Host and fields are those that the router's",
      "middlewares make. Containers of the provider for Docker run beside an engine that speaks as Docker does; their routes are compared with the expected routers, servers included.",
      "*Closed* are requests for which edge serves nothing and names why. The middlewares are those of the test of all labels.",
    ].join("\n"),
    version,
    counts: [
      ["passed", count(all, "passed")],
      ["failed", count(all, "failed")],
      ["closed by convert", count(all, "closed")],
      ["not reached", count(all, "not reached")],
      ["of these requests to Ingresses, passed", count(ingresses, "passed")],
      ["requests to Ingresses", ingresses.length],
      ["middlewares in labels", middlewares.length],
      [
        "of these carried over whole",
        middlewares.filter(({ outcome, said }) => outcome === "passed" && said === "").length,
      ],
      [
        "carried over, with labels that are named",
        middlewares.filter(({ outcome, said }) => outcome === "passed" && said !== "").length,
      ],
      ["closed, with the label that is named", count(middlewares, "closed")],
    ],
    columns: ["case", "asked", "outcome", "reason"],
    rows: [...all, ...middlewares]
      .filter(({ outcome, said }) => outcome !== "passed" || said !== "")
      .map(({ test, asked, outcome, said }) => [
        test.replaceAll("\t", " "),
        asked,
        `${outcome}: ${said}`,
        outcome === "passed" || outcome === "not reached" ? "" : reasonOf(test),
      ]),
  });
}

function reasonOf(test: string): string {
  return REASONS.find(([start]) => test.startsWith(start))?.[1] ?? "not explained yet";
}
