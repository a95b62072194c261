/**
 * A request to the example services of grpc-gateway: request line, body, further header lines. `{uuid}` is that of an item that is made
 * for it, whose state afterwards is compared too. A body without a `Content-Type` among the lines is JSON.
 */
export type ExampleRequest = readonly [line: string, body?: string, ...lines: string[]];

const ABE = "/v1/example/a_bit_of_everything";
const ECHO = "/v1/example/echo";
const FORM = "Content-Type: application/x-www-form-urlencoded";
const TE = "TE: trailers";
const LINES = "Content-Type: application/x-ndjson";

/** EchoService, and the same methods of UnannotatedEchoService, whose rules are in a file. */
function echoes(prefix: string): ExampleRequest[] {
  return [
    [`POST ${prefix}/echo/myid`, "{}"],
    [`POST ${prefix}/echo/myid`],
    [`POST ${prefix}/echo/my%20id`],
    [`POST ${prefix}/echo/a%2Fb`],
    [`POST ${prefix}/echo/%C3%A4%E2%82%AC`],
    [`POST ${prefix}/echo/myid?num=12&lang=go`],
    [`POST ${prefix}/echo/myid?id=other`],
    [`GET ${prefix}/echo/myid/10`],
    [`GET ${prefix}/echo/myid/-10`],
    [`GET ${prefix}/echo/myid/9223372036854775807`],
    [`GET ${prefix}/echo/myid/9223372036854775808`],
    [`GET ${prefix}/echo/myid/not_int64`],
    [`GET ${prefix}/echo/myid/1.0`],
    [`GET ${prefix}/echo/myid/10/golang`],
    [`GET ${prefix}/echo1/myid/10/golang`],
    [`GET ${prefix}/echo2/golang`],
    [`GET ${prefix}/echo/myid`],
    [`POST ${prefix}/echo_body`, '{"id":"example"}'],
    [`POST ${prefix}/echo_body`, '{"id":"example"}', TE],
    [`POST ${prefix}/echo_body`, '{"id":"example","num":"7","line_num":"3","status":{"note":"n"}}'],
    [`POST ${prefix}/echo_body`, '{"lang":"x","lineNum":1}'],
    [`POST ${prefix}/echo_body?num=3`, '{"id":"example"}'],
    [`POST ${prefix}/echo_body`],
    [`DELETE ${prefix}/echo_delete?id=a&num=4&status.note=b`],
    [`DELETE ${prefix}/echo_delete`],
    [`POST ${prefix}/echo/myid`, "{}", "Grpc-Metadata-Location: Gj\xf8vik"],
    [`POST ${prefix}/echo/myid`, "{}", "Grpc-Metadata-Foo+Bar: Hello"],
  ];
}

const ECHO_SERVICE: ExampleRequest[] = [
  ...echoes("/v1/example"),
  [`GET ${ECHO}/resource/my_resource_id?resourceId=bad_resource_id`],
  [`GET ${ECHO}/resource/my_resource_id?resource_id=bad_resource_id`],
  [`GET ${ECHO}/nested/my_nested_id?n_id.val=foo`],
  [`GET ${ECHO}/nested/my_nested_id?nId.nId=bad_id`],
  [`GET ${ECHO}/nested/my_nested_id?nId.val=foo&lang=x`],
  ["PUT /v1/example/echo_body/myid?num=2", '{"note":"n"}'],
  ["PUT /v1/example/echo_body/myid", '{"progress":"9"}'],
  ["PUT /v1/example/echo_body/myid", '{"id":"x"}'],
  ["GET /v1/example/echo_unauthorized"],
  ["PATCH /v1/example/echo_patch", '{"struct_field":{"a":{"b":"c"}},"value_field":{"d":"e"}}'],
  ["PATCH /v1/example/echo_patch", '{"value_field":"text"}'],
  ["PATCH /v1/example/echo_patch", '{"valueField":[1,null,true]}'],
  ["PATCH /v1/example/echo_patch?update_mask=value_field", '{"value_field":1}'],
  ["PATCH /v1/example/echo_patch", "{}"],
];

const UNANNOTATED: ExampleRequest[] = [
  ...echoes("/v2/example"),
  ["DELETE /v2/example/echo_delete?duration=1.5s"],
  ["DELETE /v2/example/echo_delete?duration=90"],
  ["POST /v2/example/echo_body", '{"duration":"0.000000001s"}'],
  ["PUT /v1/example/echo_nested", '{"nId":{"nId":"a","val":"b"}}'],
  ["PUT /v1/example/echo_nested", "{}"],
];

const pathOf = (...values: string[]): string =>
  `POST ${ABE}/${values.slice(0, 3).join("/")}/separator/${values.slice(3).join("/")}`;
/** The parts of the path of Create, in their order. */
const PARTS =
  "1.5 2.5 4294967296 9223372036854775807 -2147483648 9223372036854775807 4294967295 true strprefix/foo 4294967295 2147483647 -4611686018427387904 2147483647 4611686018427387903 camelCase ZERO DEF JKL ONE".split(
    " ",
  );
const withPart = (at: number, value: string): ExampleRequest => [pathOf(...PARTS.with(at, value)), "{}"];

const CREATE: ExampleRequest[] = [
  [pathOf(...PARTS), "{}"],
  [pathOf(...PARTS)],
  withPart(0, "NaN"),
  withPart(0, "-Infinity"),
  withPart(0, "1e39"),
  withPart(0, "x"),
  withPart(1, "1e308"),
  withPart(1, "0x10"),
  withPart(2, "9223372036854775808"),
  withPart(2, "0x10"),
  withPart(3, "18446744073709551615"),
  withPart(3, "-1"),
  withPart(4, "2147483648"),
  withPart(6, "1.0"),
  withPart(7, "false"),
  withPart(7, "1"),
  withPart(7, "T"),
  withPart(7, "yes"),
  withPart(8, "other/foo"),
  withPart(8, "strprefix/a%20b"),
  withPart(8, "strprefix/a%2Fb"),
  withPart(15, "1"),
  withPart(15, "ONE"),
  withPart(15, "TWO"),
  withPart(15, "7"),
  withPart(16, "ABC"),
  withPart(17, "0"),
];

const bodyOf = (...bodies: string[]): ExampleRequest[] => bodies.map((body): ExampleRequest => [`POST ${ABE}`, body]);

const CREATE_BODY: ExampleRequest[] = bodyOf(
  '{"floatValue":1.5,"doubleValue":2.5,"int64Value":"4294967296","uint64Value":"9223372036854775807","int32Value":-2147483648,"fixed64Value":"9223372036854775807","fixed32Value":4294967295,"boolValue":true,"stringValue":"strprefix/foo","uint32Value":4294967295,"sfixed32Value":2147483647,"sfixed64Value":"-4611686018427387904","sint32Value":2147483647,"sint64Value":"4611686018427387903","nonConventionalNameValue":"camelCase","enumValue":"ONE","pathEnumValue":"ABC","nestedPathEnumValue":"GHI","nested":[{"name":"bar","amount":10},{"name":"baz","amount":20}],"repeatedStringValue":["a","b","c"],"oneofString":"x","mapValue":{"a":"ONE","b":"ZERO"},"mappedStringValue":{"a":"x","b":"y"},"mappedNestedValue":{"a":{"name":"x","amount":1}},"repeatedEnumAnnotation":["ONE","ZERO"],"enumValueAnnotation":"ONE","repeatedStringAnnotation":["a","b"],"nestedAnnotation":{"name":"hoge","amount":10},"optionalStringValue":"o"}',
  "{}",
  '{"int64_value":1,"string_value":"proto names"}',
  '{"int64Value":9007199254740993}',
  '{"int64Value":"1e3"}',
  '{"int64Value":"1.0"}',
  '{"int64Value":"-0"}',
  '{"int64Value":1e3}',
  '{"int64Value":-0}',
  '{"int64Value":" 1"}',
  '{"int32Value":"12"}',
  '{"int32Value":"1e2"}',
  '{"int32Value":1.5}',
  '{"int32Value":2147483648}',
  '{"uint64Value":"18446744073709551616"}',
  '{"uint32Value":-1}',
  '{"floatValue":"NaN","doubleValue":"-Infinity"}',
  '{"floatValue":3.5e38}',
  '{"doubleValue":"1.5"}',
  '{"boolValue":"true"}',
  '{"stringValue":1}',
  '{"stringValue":null,"nested":null,"singleNested":null,"timestampValue":null}',
  '{"bytesValue":"-_8"}',
  '{"bytesValue":"%%"}',
  '{"enumValue":1,"repeatedEnumValue":["ZERO",1]}',
  '{"enumValue":42}',
  '{"enumValue":"TWO"}',
  '{"singleNested":{"name":"n","ok":"TRUE"}}',
  '{"singleNested":{"deep":{"er":1}}}',
  '{"oneofEmpty":{}}',
  '{"oneofEmpty":{},"oneofString":"x"}',
  '{"mapValue":{"a":7}}',
  '{"mapValue":{"a":"NONE"}}',
  '{"mappedStringValue":{"":"empty","ä":"ö"}}',
  '{"timestampValue":"2016-05-10T10:19:13.123Z"}',
  '{"timestampValue":"2016-05-10T12:19:13.123456789+02:00"}',
  '{"timestampValue":"10000-01-01T00:00:00Z"}',
  '{"timestampValue":"2016-05-10"}',
  '{"required_field_behavior_json_name_custom":"a","required_field_schema_json_name_custom":"b"}',
  '{"optionalStringValue":""}',
  '{"unknown":1}',
  '{"stringValue":"a","stringValue":"b"}',
  '{"stringValue":"a","string_value":"b"}',
  "[]",
  "null",
  "{",
  '{"stringValue":"a"} trailing',
);

const ITEMS: ExampleRequest[] = [
  [`GET ${ABE}/{uuid}`],
  [`GET ${ABE}/not_exist`],
  [`GET ${ABE}/not_exist`, undefined, TE],
  [`HEAD ${ABE}/{uuid}`],
  [`HEAD ${ABE}/not_exist`],
  [`OPTIONS ${ABE}/test`, '{"bool_value":true}'],
  [`TRACE ${ABE}/test`],
  [`DELETE ${ABE}/{uuid}`],
  [`DELETE ${ABE}/not_exist`],
  [`PUT ${ABE}/{uuid}`, '{"stringValue":"new","int32Value":2}'],
  [`PUT ${ABE}/{uuid}`, '{"uuid":"other","stringValue":"new"}'],
  [`PUT ${ABE}/not_exist`, "{}"],
  [`POST ${ABE}/{uuid}:custom`],
  [`POST ${ABE}/{uuid}:custom:custom`],
  [`POST ${ABE}/{uuid}:unknown`],
  [`POST ${ABE}/not_exist:custom`],
  ["PATCH /v2/example/a_bit_of_everything/{uuid}", '{"string_value":"strprefix/foo"}'],
  ["PATCH /v2/example/a_bit_of_everything/{uuid}", '{"singleNested":{"amount":456}}'],
  ["PATCH /v2/example/a_bit_of_everything/{uuid}", '{"stringValue":null}'],
  ["PATCH /v2/example/a_bit_of_everything/{uuid}", '{"repeatedStringValue":["x"]}'],
  ["PATCH /v2/example/a_bit_of_everything/{uuid}", '{"mappedStringValue":{"a":"b"}}'],
  ["PATCH /v2/example/a_bit_of_everything/{uuid}?update_mask=int32_value", '{"stringValue":"no","int32Value":5}'],
  ["PATCH /v2/example/a_bit_of_everything/{uuid}", '{"nope":1}'],
  ["PATCH /v2/example/a_bit_of_everything/not_exist", '{"stringValue":"x"}'],
  ["PUT /v2/example/a_bit_of_everything/{uuid}", '{"stringValue":"whole"}'],
  [
    "PATCH /v2a/example/a_bit_of_everything/{uuid}",
    '{"abe":{"singleNested":{"amount":456}},"updateMask":"singleNested"}',
  ],
  [
    "PATCH /v2a/example/a_bit_of_everything/{uuid}",
    '{"abe":{"stringValue":"x","singleNested":{"amount":4}},"updateMask":""}',
  ],
  ["PATCH /v2a/example/a_bit_of_everything/{uuid}", '{"abe":{"stringValue":"y"}}'],
  ["PATCH /v2a/example/a_bit_of_everything/{uuid}", '{"abe":{"stringValue":"y"},"update_mask":"string_value"}'],
  ["POST /v1/publishers/1/books?book_id=b", '{"name":"n"}'],
  ["POST /v1/publishers/1/books", '{"createTime":"2020-01-01T00:00:00Z"}'],
  ["PATCH /v1/publishers/1/books/2", '{"name":"other"}'],
  ["PATCH /v1/publishers/1/books/2?allow_missing=true", '{"id":"2"}'],
];

const queries = (...texts: string[]): ExampleRequest[] =>
  texts.map((text): ExampleRequest => [`GET ${ABE}/params/get/foo?${text}`]);

const QUERIES: ExampleRequest[] = [
  ...queries(
    "double_value=1234.56&bool_value=true&mapped_string_value[map_key]=map_value",
    "doubleValue=1234.56&boolValue=1",
    "bool_value=yes",
    "mapped_string_value[a]=1&mapped_string_value[b]=2",
    "map_value[a]=ONE&map_value[b]=0",
    "repeated_string_value=demo1&repeated_string_value=demo2",
    "repeated_enum_value=ONE&repeated_enum_value=0",
    "string_value=a&string_value=b",
    "string_value=a%26b%3Dc+d",
    "string_value=%C3%A4",
    "string_value=",
    "string_value",
    "int64_value=1e3",
    "int64_value=-0",
    "uint64_value=18446744073709551615",
    "int32_value=2147483648",
    "float_value=NaN&double_value=-Infinity",
    "bytes_value=AQID",
    "bytes_value=-_8",
    "enum_value=ONE",
    "enum_value=1",
    "enum_value=TWO",
    "timestamp_value=2016-05-10T10:19:13.123Z",
    "timestamp_value=yesterday",
    "single_nested.amount=7",
    "single_nested.name=bad",
    "single_nested.amount=-7",
    "singleNested.ok=TRUE",
    "oneof_string=x",
    "optional_string_value=",
    "uuid=u",
    "unknown_field=1",
    "single_nested.unknown=1",
    "nested.name=x",
    "nonConventionalNameValue=a",
    "required_field_schema_json_name_custom=a",
    "map_value=x",
    "",
    "a%ZZ=1",
  ),
  [`GET ${ABE}/params/get/nested_enum/TRUE`],
  [`GET ${ABE}/params/get/nested_enum/1`],
  [`GET ${ABE}/params/get/nested_enum/MAYBE`],
  [`POST ${ABE}/params/post/hello-world?double_value=1234.56&bool_value=true`, '{"name":"foo","amount":100}'],
  [`POST ${ABE}/params/post/hello-world?single_nested.amount=3`, '{"name":"foo"}'],
  [`POST ${ABE}/params/get/foo?double_value=1.5`, "string_value=hello&repeated_string_value=a", FORM],
  [`GET ${ABE}/query/{uuid}?string_value=q`],
  ["POST /v1/example/deep_path/deep", '{"singleNested":{"amount":3}}'],
  ["POST /v1/example/deep_path/deep", '{"singleNested":{"name":"body"}}'],
];

const LISTS =
  "1.5,-1.5 2.5,-2.5 4294967296,-4294967296 0,9223372036854775807 2147483647,-2147483648 0,9223372036854775807 0,4294967295 true,false foo,bar AA==,_w== 0,4294967295 ZERO,ONE 2147483647,-2147483648 4294967296,-4294967296 2147483647,-2147483648 4611686018427387903,-4611686018427387904".split(
    " ",
  );
const withList = (at: number, value: string): ExampleRequest => [
  `GET ${ABE}_repeated/${LISTS.with(at, value).join("/")}`,
];

const REPEATED: ExampleRequest[] = [
  withList(0, "1.5,-1.5"),
  withList(0, "1"),
  withList(0, "1,x"),
  withList(8, "a%2Cb,c"),
  withList(8, "a,,b"),
  withList(9, "%%"),
  withList(11, "1,0"),
  withList(11, "NONE"),
];

const STREAMS: ExampleRequest[] = [
  ["GET /v1/example/download"],
  ["GET /v1/example/download?error=true"],
  ["GET /responsebody/foo"],
  ["GET /responsebody/samename/foo"],
  ["GET /responsebody/stream/foo"],
  ["GET /responsebodies/foo"],
  ["GET /responsestrings/foo"],
  ["GET /responsestrings/empty"],
  ["POST /rpc/empty/rpc"],
  ["POST /rpc/empty/rpc", "{}"],
  ["POST /rpc/empty/stream"],
  ["POST /rpc/body/rpc", '{"a":"x","b":"y","c":"z"}'],
  ["POST /rpc/path/x/y/z/rpc"],
  ["POST /rpc/query/rpc?a=x&b=y&c=z"],
  ["POST /rpc/body/path/x/y/rpc", '"z"'],
  ["POST /rpc/body/query/rpc?a=x&b=y", '"z"'],
  ["POST /rpc/body/path/x/query/rpc?b=y", '"z"'],
  ["POST /rpc/path-nested/x/rpc"],
  ["POST /rpc/path-nested/x/y/rpc", '"z"'],
  ["POST /rpc/path-nested2/x/rpc?b=y", "7"],
  ["POST /rpc/body/stream", '{"a":"x"}'],
  ["POST /rpc/path/x/y/z/stream"],
  ["POST /rpc/body/path/x/y/stream", '"z"'],
  ["POST /stream/empty/rpc", "{}\n{}\n", LINES],
  ["POST /stream/empty/stream", "{}\n", LINES],
  [`POST ${ABE}/bulk`, '{"stringValue":"foo"}\n{"stringValue":"bar","int64Value":"7"}\n', LINES],
  [`POST ${ABE}/bulk`, '{"stringValue":"foo"}\n{"int64Value":"x"}\n', LINES],
  [`POST ${ABE}/echo`, '{"value":"one"}\n{"value":"two"}\n', LINES],
  [`POST ${ABE}/echo`, "", LINES],
  [`POST ${ABE}/echo_duration`, '"1.5s"\n"2s"\n', LINES],
];

const NAMES = '"id":"foo","Num":"1","langIdent":"English"';
const NON_STANDARD: ExampleRequest[] = [
  [
    "PATCH /v1/example/non_standard/update",
    `{${NAMES},"line_num":"42","STATUS":"good","en_GB":"1","no":"yes","thing":{"subThing":{"sub_value":"hi"}}}`,
  ],
  [
    "PATCH /v1/example/non_standard/update",
    `{${NAMES},"lineNum":"42","STATUS":"good","enGB":"1","no":"yes","thing":{"subThing":{"subValue":"hi"}}}`,
  ],
  [
    "PATCH /v1/example/non_standard/update_with_json_names",
    '{"ID":"foo","Num":"1","LineNum":"42","langIdent":"English","status":"good","En_GB":"1","yes":"yes","Thingy":{"SubThing":{"sub_Value":"hi"}}}',
  ],
  ["PATCH /v1/example/non_standard/update_with_json_names", `{${NAMES},"line_num":"42","STATUS":"good"}`],
];

const ADDITIONAL: ExampleRequest[] = [
  [`GET ${ABE}/echo/hello`],
  ["POST /v2/example/echo", '"hello"'],
  ["GET /v2/example/echo?value=hello"],
  ["GET /v2/example/echo"],
  ["GET /v2/example/timeout", undefined, "Grpc-Timeout: 10m"],
  ["GET /v2/example/timeout", undefined, "Grpc-Timeout: INVALID"],
  ["POST /rpc/excess-body/rpc", "{}", "Grpc-Timeout: 20m"],
  ["POST /rpc/excess-body/rpc/with-body", "{}.", "Grpc-Timeout: 20m"],
  ["GET /v2/example/errorwithdetails"],
  ["POST /v2/example/withbody/7", '{"name":"n"}'],
  ["POST /v2/example/withbody/7"],
  ["POST /v2/example/postwithemptybody/name"],
  ["POST /v2/example/overwriterequestcontenttype", '{"name":"n"}', "Content-Type: application/x-foo-mime"],
  ["POST /v2/example/overwriterequestcontenttype", '{"name":"n"}', "Content-Type: text/plain"],
  ["GET /v2/example/overwriteresponsecontenttype"],
  ["GET /v2/DEF:check"],
  ["GET /v2/1:check"],
  ["GET /v2/NONE:check"],
  ["GET /v3/JKL:check"],
  ["GET /v1/example/checkStatus"],
  ["POST /v1/example/oneofenum", '"EXAMPLE_ENUM_FIRST"'],
  ["POST /v1/example/oneofenum", "1"],
  ["POST /v1/example/oneofenum", '"NONE"'],
  ["POST /v1/example/requiredmessagetype", '{"id":"a","foo":{"bar":{"id":"b"}}}'],
  ["POST /", "{}"],
  ["GET /v1/example/unknown"],
  ["POST /v1/example/checkStatus", "{}"],
  [`GET ${ECHO}/myid/10/`],
  [`GET ${ECHO}//10`],
];

const wrapped = (type: string, ...bodies: string[]): ExampleRequest[] =>
  bodies.map((body): ExampleRequest => [`POST /v1/test${type}`, body]);

const WRAPPERS: ExampleRequest[] = [
  [
    "POST /v1/example/wrappers",
    '{"stringValue":"s","int32Value":1,"int64Value":"2","floatValue":1.5,"doubleValue":2.5,"boolValue":true,"uint32Value":3,"uint64Value":"4","bytesValue":"AQID"}',
  ],
  ["POST /v1/example/wrappers", '{"stringValue":"","int32Value":0,"int64Value":"0","boolValue":false,"bytesValue":""}'],
  ["POST /v1/example/wrappers", '{"int64Value":"1e3","doubleValue":"NaN"}'],
  ...wrapped("String", '"text"', '""', "1", "null"),
  ...wrapped("Int32", "1", '"1"', '"1e1"', "2147483648"),
  ...wrapped("Int64", '"9223372036854775807"', "9223372036854775807", '"-0"', '"1.0"', '"1.5"'),
  ...wrapped("Float", "1.5", '"Infinity"'),
  ...wrapped("Double", "1e400", '"-Infinity"'),
  ...wrapped("Bool", "true", '"true"'),
  ...wrapped("Uint32", "4294967295", "-1"),
  ...wrapped("Uint64", '"18446744073709551615"', "18446744073709551615"),
  ...wrapped("Bytes", '"AQID"', '"_-8="'),
  ...wrapped("Empty", "{}", '{"a":1}'),
];

const OPAQUE: ExampleRequest[] = [
  ["GET /v1/products/7?include_variants=true&languageCode=de"],
  ["GET /v1/products/7?product_id=8"],
  ["POST /v1/example/enum-with-single-value/echo", '{"value":"ENUM_WITH_SINGLE_VALUE_UNSPECIFIED"}'],
  ["POST /v1/example/enum-with-single-value/echo", '{"value":5}'],
  ["GET /v1/example/snake/value_f/value_d/value_y"],
  ["GET /v1/example/snake/0/1/0"],
  ["GET /v2/example/empty"],
];

/** All of them, those of the second server last. */
export const EXAMPLE_REQUESTS: readonly ExampleRequest[] = [
  ...ECHO_SERVICE,
  ...UNANNOTATED,
  ...CREATE,
  ...CREATE_BODY,
  ...ITEMS,
  ...QUERIES,
  ...REPEATED,
  ...STREAMS,
  ...NON_STANDARD,
  ...ADDITIONAL,
];
export const ECHOED_REQUESTS: readonly ExampleRequest[] = [...WRAPPERS, ...OPAQUE];
