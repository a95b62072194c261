import { describe, expect, test } from "bun:test";
import { inspectVector } from "./vector-request.ts";

/** What a vector scores as a target, and where. */
function look(target: string): { score: number; ids: readonly string[]; places: readonly string[] } {
  const { score, ids, findings } = inspectVector(`[target] ${target}`);
  return { score, ids, places: [...new Set(findings.map(({ location }) => location))] };
}

const ATTACKS: readonly string[] = [
  // SQL, with every kind of blank.
  "/users/1%20OR%201=1--",
  "/users/1+OR+1=1--",
  "/users/1%09or%0b1=1--",
  "/users/1/**/or/**/1=1",
  "/users/1%2f**%2for%2f**%2f1=1",
  "/users/1'%20or%20'1'='1",
  "/users/1%27%20or%20%271%27%3d%271",
  "/users/1%2527%2520or%25201%253d1--",
  "/users/1%u0027%u0020or%u00201=1--",
  "/users/%31%20%4fR%201=1--",
  "/users/x'--/edit",
  "/users/1%20UNION%20SELECT%20name,pass%20FROM%20users--/edit",
  "/users/1'/**/union/**/select/**/1,2--",
  "/users/1;drop%20table%20users",
  "/users/(select(sleep(5)))",
  "/users/1||1=1",
  "/users/1%20order%20by%2010",
  "/items;q=1%20or%201=1/x",
  "/items;a=b;q=1'%20or%20'1'='1",
  "/items/id=1%20or%201=1",
  "/a/b/c/d/e/f/g/1%20or%201=1",
  // Commands.
  "/files/;cat%20/etc/passwd",
  "/files/x;cat%20/etc/passwd/y",
  "/files/x%3bcat%20%2fetc%2fpasswd",
  "/files/5|id",
  "/ping/127.0.0.1;id",
  "/ping/127.0.0.1&whoami",
  "/ping/127.0.0.1%26%26whoami",
  "/ping/127.0.0.1%0aid",
  "/ping/$(id)",
  "/ping/`id`",
  "/ping/x;cat$IFS/etc/passwd",
  "/ping/{cat,/etc/passwd}",
  "/ping/127.0.0.1;+cat+/etc/passwd",
  "/search;s=;cat%20%2fetc%2fpasswd",
  // Markup, templates, lookups, programs.
  "/x/%3Cscript%3Ealert(1)%3C/script%3E",
  "/x/%253Cscript%253Ealert(1)%253C/script%253E",
  "/x/<script>alert(1)</script>",
  "/x/'-alert(1)-'",
  "/x/javascript:alert(1)",
  "/x/%22%20onmouseover=alert(1)%20x=%22",
  "/${jndi:ldap://x}",
  "/x/%24%7Bjndi:ldap:%2f%2fx%7D/y",
  "/{{7*7}}",
  "/x/%7b%7b7*7%7d%7d/y",
  "/x/!!python/object/apply:os.system",
  // Files.
  "/files/%2fetc%2fpasswd",
  "/files//etc/passwd",
  "/files/%252fetc%252fpasswd",
  "/files/c:%5cwindows%5cwin.ini",
  "/files/php:%2f%2ffilter%2fresource=x",
  "/files/file:///etc/passwd",
];

const ORDINARY: readonly string[] = [
  "/o'reilly/books",
  "/my%20file%20(1).pdf",
  "/report%20(final),%20v2.pdf",
  "/a;jsessionid=0A1B2C3D4E5F",
  "/map;zoom=5;layer=base/tiles",
  "/items;color=red;size=10,12/list",
  "/select/from/menu",
  "/union-select",
  "/union/select/committee",
  "/drop/table/tennis",
  "/proxy/https://example.com/a/b",
  "/proxy/https:%2f%2fexample.com%2fa%3fb=c",
  "/web/2020//https://example.com/",
  "/users/$count",
  "/$batch",
  "/odata/Products(1)/Name",
  "/odata/Products('A-1')/Supplier",
  "/odata/Orders(ID=10,Line='x')/Item",
  "/odata/People?$filter=age",
  "/wiki/AC/DC",
  "/wiki/Who's_Afraid_of_Virginia_Woolf%3F",
  "/wiki/Rock_'n'_Roll",
  "/wiki/'Allo_'Allo!",
  "/wiki/Ocean's_11_(2001_film)",
  "/wiki/C++",
  "/wiki/C%2B%2B/CLI",
  "/wiki/A*_search_algorithm",
  "/wiki/M*A*S*H",
  "/wiki/Simon_&_Garfunkel",
  "/wiki/AT%26T",
  "/wiki/1+1=2",
  "/wiki/What_is_1%2B1%3D2%3F",
  "/wiki/%22Heroes%22",
  "/wiki/%E6%9D%B1%E4%BA%AC",
  "/wiki/%C3%80_la_carte",
  "/wiki/L'or_et_l'argent",
  "/search/2%20or%203%20rooms",
  "/search/size%2010-12%20or%2014",
  "/search/black%20and%20white",
  "/search/cats;%20dogs%20&%20birds",
  "/search/rock%20%27n%27%20roll",
  "/search/alert(1)%20meaning",
  "/search/kill%20-9%20pid",
  "/search/drop%20in%20table%20tennis",
  "/search/node.js%20%7C%7C%20deno",
  "/search/who%20is%20who;%20a%20list",
  "/a/%40scope%2fname",
  "/npm/@scope/name@1.2.3/+esm",
  "/maps/@48.85,2.35,12z",
  "/calc/2*3",
  "/users/me!/inbox",
  "/files/**/x.txt",
  "/repo/compare/v1.2...v1.3",
  "/api/v1/items/(a,b,c)",
  "/x/a=b;c=d",
  "/x/it's;ok",
  "/blob/main/src/app/%5Bid%5D/page.tsx",
  "/docs/file:readme",
  "/t/50%25%20off",
  "/e=mc%5E2",
];

describe("a path's segments", () => {
  test.each(ATTACKS)("are values: %s", (target) => {
    const { score, places } = look(target);
    expect([target, score >= 5, places]).toEqual([target, true, ["url"]]);
  });

  test.each(ORDINARY)("of ordinary paths score nothing that blocks: %s", (target) => {
    const { score, ids } = look(target);
    expect([target, score < 5 ? [] : ids]).toEqual([target, []]);
  });

  test("give the snippet of what matched, and the exclusions of a path count", () => {
    const { findings } = inspectVector("[target] /items;a=b;q=1%20or%201=1/x?token=s3cr3t");
    expect(findings.map(({ snippet }) => snippet)).toEqual(["q=1%20or%201=1"]);
  });
});
