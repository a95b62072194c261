// Questions of operators, in their words: the search of `edge help` and of the site has the page that answers first.
import { expect, test } from "bun:test";
import { DocPages } from "../../../src/cli/help/doc-pages.ts";
import { HelpTopics } from "../../../src/cli/help/help-topics.ts";
import { HelpSearch } from "../../../src/cli/help/search/help-search.ts";
import { listing } from "../../../src/cli/main.ts";

const QUESTIONS: readonly (readonly [question: string, place: string])[] = [
  ["How do I get a certificate from Let's Encrypt?", "acme"],
  ["How do I get a wildcard certificate?", "acme#dns-01"],
  ["How do I redirect HTTP to HTTPS?", "tls#redirect"],
  ["How do I put edge in front of a Node.js app?", "apps#nodejs"],
  ["How do I run WordPress behind edge?", "php"],
  ["How do I run Nextcloud?", "apps#nextcloud"],
  ["How do I run Django?", "apps#django"],
  ["How do I migrate from nginx?", "migrate#nginx"],
  ["How do I migrate from Caddy?", "migrate#caddy"],
  ["How do I migrate from HAProxy?", "migrate#haproxy"],
  ["How do I migrate from Traefik?", "migrate#traefik"],
  ["How do I move from ingress-nginx?", "kubernetes-ingress#from-ingress-nginx-to-edge"],
  ["Why do I get a 502?", "troubleshooting#debug-a-502"],
  ["Why do I get a 504 gateway timeout?", "upstreams#time-limits"],
  ["Why is my request blocked with 403?", "waf#false-positives"],
  ["Why does my upload fail with 413?", "bodies#limits"],
  ["How do I upload large files?", "bodies#limits"],
  ["How do I block AI crawlers?", "ai-crawlers"],
  ["How do I block an IP address?", "guards#address-rules"],
  ["How do I block a country?", "guards#countries-and-networks"],
  ["How do I limit requests per client?", "guards#rate-limits"],
  ["How do I protect a page with a password?", "authentication#passwords"],
  ["How do I set up single sign-on with Keycloak?", "authentication#openid-connect"],
  ["How do I verify a JWT?", "authentication#tokens"],
  ["How do I use API keys?", "authentication#api-keys"],
  ["How do I require client certificates?", "authentication#client-certificates"],
  ["How do I proxy a WebSocket?", "upstreams#upgrades"],
  ["How do I load balance between servers?", "upstreams#balancing"],
  ["How do I set up sticky sessions?", "upstreams#sticky-clients"],
  ["How do I configure health checks?", "upstreams#health-checks"],
  ["How do I drain a server before maintenance?", "operations#draining-a-target"],
  ["How do I show a maintenance page?", "pages#maintenance"],
  ["How do I reload the configuration with zero downtime?", "operations#reload"],
  ["How do I upgrade without downtime?", "upgrade"],
  ["How do I roll back a bad configuration?", "operations#rollback"],
  ["How do I test a configuration before deploying?", "configuration#mistakes"],
  ["How do I see which route a request takes?", "explain"],
  ["How do I serve static files?", "files"],
  ["How do I host a single page application?", "files#fallbacks"],
  ["How do I list a directory?", "files#listings"],
  ["How do I enable gzip and brotli?", "compression"],
  ["How do I cache responses?", "cache"],
  ["How do I purge the cache?", "cache#purge"],
  ["Why is my page not cached?", "cache#why-not"],
  ["How do I rewrite a path?", "routing#rewrite"],
  ["How do I redirect www to the apex domain?", "answers#redirects"],
  ["How do I set a response header?", "upstreams#header-edits"],
  ["How do I allow CORS?", "guards#cors"],
  ["How do I get the real client IP behind Cloudflare?", "security#client-addresses"],
  ["How do I run edge in Docker Compose?", "docker"],
  ["How do I run edge in Kubernetes?", "kubernetes"],
  ["How do I run edge as a systemd service?", "install#on-debian-and-ubuntu"],
  ["How do I scrape metrics with Prometheus?", "observe#metrics"],
  ["How do I send traces to OpenTelemetry?", "tracing"],
  ["How do I rotate logs?", "operations#log-files"],
  ["How do I anonymize IP addresses in the log?", "log-privacy"],
  ["How do I do a canary release?", "jobs#a-canary"],
  ["How do I mirror traffic to a test server?", "upstreams#mirroring"],
  ["How do I proxy gRPC?", "jobs#grpc"],
  ["How do I call gRPC from a browser?", "transcoder#grpc-web"],
  ["How do I proxy a TCP port such as PostgreSQL?", "streams"],
  ["How do I share rate limits between gateways?", "fleet#rate-limits"],
  ["How do I keep secrets out of the configuration?", "configuration#secrets"],
  ["How do I write a function in TypeScript?", "functions"],
  ["How do I change the log level?", "operations#log-level"],
  ["Is edge faster than nginx?", "compare"],
  ["How do I prevent request smuggling?", "security"],
  ["How do I enable HTTP/3?", "wire#http3"],
];

const commands = (await listing()).map(({ name, summary }) => [name, summary] as const);
const search = new HelpSearch(new DocPages(), new HelpTopics(), commands);

test.each(QUESTIONS)("%s %s", (question, place) => {
  expect(search.find(question).entries[0]?.name).toBe(place);
});
