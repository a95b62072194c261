import { expect, test } from "bun:test";
import { parseHosts, parseResolvConf } from "../../../src/net/name-servers.ts";

test("hosts(5): names in any case, comments, several lines for one name, what is no address", () => {
  const hosts = parseHosts("127.0.0.1 Box box.test # me\n::1 box\nnonsense app\n10.0.0.1\tapp\n# 10.0.0.2 app\n\n");
  expect(hosts.get("box")).toEqual(["127.0.0.1", "::1"]);
  expect(hosts.get("box.test")).toEqual(["127.0.0.1"]);
  expect(hosts.get("app")).toEqual(["10.0.0.1"]);
  expect(hosts.get("localhost")).toEqual(["127.0.0.1", "::1"]);
});

test("resolv.conf(5): servers, search list, ndots", () => {
  const text =
    "; c\nnameserver 10.0.0.2\nnameserver fd00::2\nnameserver x\nsearch a.test b.test.\noptions rotate ndots:5\n";
  expect(parseResolvConf(text)).toEqual({ servers: ["10.0.0.2", "fd00::2"], search: ["a.test", "b.test"], ndots: 5 });
  expect(parseResolvConf("")).toEqual({ servers: [], search: [], ndots: 1 });
});
