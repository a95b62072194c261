// Large configurations, and those of which nothing is in order here. docs/migrate.md
import { describe, expect, test } from "bun:test";
import { parse } from "yaml";
import { planOf } from "../../../../src/tools/convert/convert.ts";
import { convert } from "../../../harness/conversions.ts";

const COUNT = 1200;
const all = Array.from({ length: COUNT }, (_, i) => i);
const routesOf = (text: string): unknown[] => (parse(text) as { routes: unknown[] }).routes;

describe("many", () => {
  test("servers of nginx with folders that are not here: each is a comment, and 503", () => {
    const servers = all.map(
      (i) =>
        `upstream app${i} { server 10.0.0.1:${1000 + i}; }\nserver { listen 80; server_name s${i}.test www.s${i}.test;\nlocation /static/ { root /nowhere/${i}; }\nlocation / { proxy_pass http://app${i}; } }`,
    );
    const { code, err, routes, loaded } = convert("nginx", "nginx.conf", `http {\n${servers.join("\n")}\n}`);
    expect({ code, loaded: loaded?.ok, err: code === 0 ? "" : err }).toEqual({ code: 0, loaded: true, err: "" });
    expect(routesOf(routes)).toHaveLength(2 * COUNT);
    expect(routes.match(/the route is a comment: /g)).toHaveLength(2 * COUNT);
  });

  test("streams that cannot be", () => {
    const servers = all.slice(0, 150).map((i) => `server { listen ${9000 + i}; proxy_pass not_there_${i}; }`);
    const { code, routes } = convert("nginx", "nginx.conf", `stream {\n${servers.join("\n")}\n}`);
    expect({ code, routes: routesOf(routes) }).toEqual({ code: 0, routes: [] });
    expect(routes.match(/the stream is left out/g)).toHaveLength(150);
  });

  test("routers of Traefik in TOML, each with its line", () => {
    const routers = all.map((i) => `[http.routers.r${i}]\nrule = "Host(\`h${i}.test\`)"\nservice = "s"`);
    const text = `${routers.join("\n")}\n[http.services.s.loadBalancer]\n[[http.services.s.loadBalancer.servers]]\nurl = "http://a:1"\n`;
    const plan = planOf("traefik", "dynamic.toml", text);
    expect(new Set(plan.rules.map(({ origin }) => origin.line))).toEqual(new Set(all.map((i) => 3 * i + 1)));
  });

  test("locations of one server", () => {
    const locations = all.map((i) => `location /p${i}/ { proxy_pass http://127.0.0.1:${8000 + i}; }`);
    const { code, routes } = convert("nginx", "nginx.conf", `server { listen 80;\n${locations.join("\n")}\n}`);
    expect([code, routesOf(routes).length]).toEqual([0, 2 * COUNT]);
  });
});
