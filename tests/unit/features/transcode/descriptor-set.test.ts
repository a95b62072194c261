import { expect, test } from "bun:test";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { LIBRARY_FILE } from "../../../harness/grpc-library.ts";
import { SHOP_FILE } from "../../../harness/grpc-shop.ts";
import { inFolder, lines, load } from "../../loading/config-case.ts";

// What a descriptor set tells is checked where the configuration is, with file and line.
const whole = fromBinary(FileDescriptorSetSchema, readFileSync(SHOP_FILE));

function loadWith(transcoder: string, files: Record<string, Uint8Array | string> = {}) {
  return inFolder((dir) => {
    copyFileSync(SHOP_FILE, join(dir, "shop.binpb"));
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(dir, name), bytes);
    writeFileSync(join(dir, "config.yaml"), `transcoder:\n  enabled: true\n${transcoder}`);
    writeFileSync(join(dir, "routes.yaml"), "[]\n");
    return load(dir, {});
  });
}

function faultsOf(transcoder: string, files: Record<string, Uint8Array | string> = {}): string[] {
  const result = loadWith(transcoder, files);
  return result.ok ? [] : lines([...result.faults]);
}

function route(method: string, path: string, more = ""): string {
  return `  routes:
    - http_method: GET
      http_path: ${path}
      grpc_method: ${method}
      upstream_url: http://127.0.0.1:50051
${more}`;
}

const SET = "  descriptor_set: shop.binpb\n";

test("a good route has no fault, and the configuration carries the set", () => {
  const result = loadWith(`${SET}${route("/shop.Shop/GetItem", "/items/:item", "      field_mappings: {item: id}\n")}`);
  expect(
    result.ok ? result.config.transcoder.descriptorSets.map((one) => one.base64.length > 1000) : result.faults,
  ).toEqual([true]);
});

test("an unknown method", () => {
  expect(faultsOf(SET + route("/shop.Shop/GetItm", "/items/:id"))).toEqual([
    'config.yaml:7:20: transcoder.routes[0].grpc_method: expected a method of the descriptor set, found "/shop.Shop/GetItm" (did you mean "/shop.Shop/GetItem"?)',
  ]);
});

test("a method that takes a stream", () => {
  expect(faultsOf(SET + route("/shop.Shop/Upload", "/upload"))).toEqual([]);
});

test("a mapping to nothing, to a part that takes no text, and a parameter that is no field", () => {
  const mapped = (field: string) =>
    faultsOf(SET + route("/shop.Shop/GetItem", "/items/:item", `      field_mappings: {item: ${field}}\n`));
  expect(mapped("nope")).toEqual([
    "config.yaml:9:30: transcoder.routes[0].field_mappings.item: shop.ItemRequest has no field nope",
  ]);
  expect(mapped("filter.nope")).toEqual([
    "config.yaml:9:30: transcoder.routes[0].field_mappings.item: shop.ItemRequest has no field filter.nope",
  ]);
  expect(mapped("filter")).toEqual([
    "config.yaml:9:30: transcoder.routes[0].field_mappings.item: filter of shop.ItemRequest cannot be given by a path",
  ]);
  expect(faultsOf(SET + route("/shop.Shop/GetItem", "/items/:sku"))).toEqual([
    "config.yaml:6:18: transcoder.routes[0].http_path: shop.ItemRequest has no field sku: map the parameter with field_mappings",
  ]);
});

const EXPECTED = "(expected what protoc --descriptor_set_out --include_imports writes)";

test.each([
  ["text", "syntax = proto3;\n", "is not a FileDescriptorSet"],
  ["nothing", "", "is not a FileDescriptorSet"],
  ["cut in two", readFileSync(SHOP_FILE).subarray(0, 7000), "is not a FileDescriptorSet"],
  [
    "without its imports",
    toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: whole.file.slice(-1) })),
    "lacks google/api/annotations.proto, which shop.proto imports: write it with --include_imports",
  ],
])("a file that is %s", (_, bytes, fault) => {
  expect(
    faultsOf(`  descriptor_set: odd.binpb\n${route("/shop.Shop/GetItem", "/items/:id")}`, { "odd.binpb": bytes }),
  ).toEqual([`config.yaml:3:19: transcoder.descriptor_set: "odd.binpb" ${fault} ${EXPECTED}`]);
});

test("the well-known files may be left out of a set", () => {
  const own = whole.file.filter((file) => !file.name.startsWith("google/protobuf/"));
  const bytes = toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: own }));
  expect(faultsOf(`  descriptor_set: own.binpb\n${route("/shop.Shop/Echo", "/echo")}`, { "own.binpb": bytes })).toEqual(
    [],
  );
});

test("auto takes the routes that the methods ask for, behind those by hand", () => {
  const auto = "  auto: true\n  upstream_url: h2c://shop.test:50051\n";
  const result = loadWith(SET + auto + route("/shop.Shop/UpdateItem", "/v1/items/:id"));
  if (!result.ok) throw new Error(lines([...result.faults]).join("\n"));
  const shown = result.config.transcoder.routes.map((one) => [one.httpMethod, one.httpPath, one.grpcMethod, one.body]);
  expect(shown).toEqual([
    ["GET", "/v1/items/:id", "/shop.Shop/UpdateItem", "*"],
    ["GET", "/v1/{name=shelves/*/items/*}", "/shop.Shop/GetItem", ""],
    ["GET", "/v1/items/{id}/{filter.author}:check", "/shop.Shop/GetItem", ""],
    ["GET", "/files/{name=**}", "/shop.Shop/GetItem", ""],
    ["POST", "/v1/items", "/shop.Shop/CreateItem", "item"],
    ["PATCH", "/v1/items/{id}", "/shop.Shop/UpdateItem", "*"],
    ["GET", "/v1/watch/{count}", "/shop.Shop/Watch", ""],
  ]);
  expect(result.config.transcoder.routes[1]!.upstream.originKey).toBe("h2c://shop.test:50051");
});

test("auto without what it needs", () => {
  expect(faultsOf("  auto: true\n")).toEqual([
    "config.yaml:3:9: transcoder.auto: needs upstream_url, the address of the gRPC server, such as http://127.0.0.1:50051",
  ]);
  expect(faultsOf(`${SET}  auto: true\n`)).toEqual([
    "config.yaml:4:9: transcoder.auto: needs upstream_url, the address of the gRPC server, such as http://127.0.0.1:50051",
  ]);
});

test("auto of some services, and without some; names that lead nowhere are faults", () => {
  const library = readFileSync(LIBRARY_FILE);
  const auto = (more: string) =>
    `  descriptor_set: library.binpb\n  upstream_url: h2c://shop.test:50051\n  auto: ${more}\n`;
  const served = (more: string): readonly string[] => {
    const result = loadWith(auto(more), { "library.binpb": library });
    if (!result.ok) throw new Error(lines([...result.faults]).join("\n"));
    return [...new Set(result.config.transcoder.routes.map((one) => one.grpcMethod.replace("/library.", "")))];
  };
  const names = ["UpdateBook", "GetBooks", "GetCover", "PutCover", "AddScan", "Download", "Gather"];
  const all = names.map((one) => `Library/${one}`);
  expect(served("true")).toEqual([...all, "Archive/Restore"]);
  expect(served("{services: [library.Archive]}")).toEqual(["Archive/Restore"]);
  expect(served("{exclude: [library.Library]}")).toEqual(["Archive/Restore"]);
  expect(served("{services: [library.*], exclude: [/library.Library/GetCover, library.Archive/Restore]}")).toEqual(
    all.filter((one) => one !== "Library/GetCover"),
  );
  expect(
    faultsOf(auto("{services: [library.Libary], exclude: [library.Library/GetCovr, shop.*]}"), {
      "library.binpb": library,
    }),
  ).toEqual([
    'config.yaml:5:21: transcoder.auto.services[0]: expected a service of the schema, found "library.Libary" (did you mean "library.Library"?)',
    'config.yaml:5:48: transcoder.auto.exclude[0]: expected a service or method of the schema, found "library.Library/GetCovr" (did you mean "library.Library/GetCover"?)',
    'config.yaml:5:73: transcoder.auto.exclude[1]: expected a service or method of the schema, found "shop.*"',
  ]);
});

const RULES = `type: google.api.Service
config_version: 3
apis: [{name: shop.Shop}]
http:
  rules:
    - selector: shop.Shop.*
      post: /all/{id}
    - selector: shop.Shop.GetItem
      get: /by/{id}
      additional_bindings:
        - custom: {kind: options, path: "/by/{name=a/*}:look"}
          body: filter
          response_body: title
    - {selector: "shop.Shop.Watch, shop.Shop.Watch", get: "/w/{count}"}
`;
const withRules = (text: string, more = "") => ({
  transcoder: `${SET}  upstream_url: h2c://shop.test:50051\n  auto: true\n  http_rules: [rules.yaml]\n${more}`,
  files: { "rules.yaml": text },
});

test("rules of a file take the place of options, the last for a method", () => {
  const { transcoder, files } = withRules(RULES, "");
  const result = loadWith(transcoder, files);
  if (!result.ok) throw new Error(lines([...result.faults]).join("\n"));
  const shown = result.config.transcoder.routes.map((one) => [one.httpMethod, one.httpPath, one.grpcMethod, one.body]);
  expect(shown).toContainEqual(["GET", "/by/{id}", "/shop.Shop/GetItem", ""]);
  expect(shown).toContainEqual(["OPTIONS", "/by/{name=a/*}:look", "/shop.Shop/GetItem", "filter"]);
  expect(shown).toContainEqual(["GET", "/w/{count}", "/shop.Shop/Watch", ""]);
  expect(shown.filter(([, path]) => path!.startsWith("/v1") || path!.startsWith("/files"))).toEqual([]);
  // One method has the path of the selector for all; its neighbours are left out with warnings that say where.
  expect(shown.filter(([, path]) => path === "/all/{id}").length).toBe(1);
  const warnings = lines([...result.warnings]).filter((line) => line.startsWith("rules.yaml:6:7: transcoder.auto: "));
  expect(warnings.length).toBeGreaterThan(0);
});

test.each([
  ["shop", "rules.yaml:1:1: expected a service configuration: type: google.api.Service, and http with its rules"],
  [
    "type: google.api.Other\nhttp: {rules: [{selector: '*', get: /x}]}\n",
    'rules.yaml:1:7: type: expected google.api.Service, found "google.api.Other"',
  ],
  ["http: {}\n", "rules.yaml:1:7: http: expected rules: none is in this file"],
  [
    "http:\n  rules:\n    - get: /x\n",
    "rules.yaml:3:7: http.rules[0].selector: missing: expected the name of a method, such as shop.Shop.GetItem",
  ],
  [
    "http:\n  rules:\n    - selector: shop.Shop.GetItm\n      get: /x\n",
    'rules.yaml:3:17: selector: no method of the schema is "shop.Shop.GetItm" (did you mean "shop.Shop.GetItem"?)',
  ],
  [
    "http:\n  rules:\n    - selector: shop.Get*\n      get: /x\n",
    'rules.yaml:3:17: http.rules[0].selector: expected a whole name, "*", or a name that ends with ".*", found "shop.Get*"',
  ],
  [
    "http:\n  rules:\n    - selector: shop.Shop.GetItem\n      body: '*'\n",
    "rules.yaml:3:7: http.rules[0]: expected one of get, put, post, delete, patch, custom",
  ],
  [
    "http:\n  rules:\n    - selector: shop.Shop.GetItem\n      get: /x\n      put: /y\n",
    "rules.yaml:3:7: http.rules[0]: expected one of get, put, post, delete, patch, custom, found get and put",
  ],
  [
    "http:\n  rules:\n    - selector: shop.Shop.GetItem\n      get: /x/{\n",
    'rules.yaml:4:12: http.rules[0].get: the path template "/x/{" cannot be read',
  ],
  [
    "http:\n  rules:\n    - selector: shop.Shop.GetItem\n      gett: /x\n",
    'rules.yaml:4:7: http.rules[0].gett: unknown key (did you mean "get"?)',
  ],
  [
    "http:\n  rules:\n    - selector: shop.Shop.GetItem\n      get: /x/{nope}\n",
    "rules.yaml:3:7: /shop.Shop/GetItem: shop.ItemRequest has no field nope",
  ],
  [
    "http:\n  rules:\n    - selector: shop.Shop.GetItem\n      custom: {kind: TRACE, path: /x}\n",
    'rules.yaml:4:22: http.rules[0].custom.kind: expected GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, found "TRACE"',
  ],
])("a file of rules that will not do: %j", (text, fault) => {
  const { transcoder, files } = withRules(text);
  expect(faultsOf(transcoder, files)).toContain(fault);
});

test("rules without auto, or from a file that is not there", () => {
  expect(faultsOf(`${SET}  http_rules: [rules.yaml]\n`)).toEqual([
    "config.yaml:4:15: transcoder.http_rules: needs auto: true, which makes routes of the rules",
    'config.yaml:4:16: transcoder.http_rules[0]: expected a readable file, found "rules.yaml": no such file',
  ]);
});
