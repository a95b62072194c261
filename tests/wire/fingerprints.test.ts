// Real clients knock twice: at a listener of the test, which keeps their ClientHello and reads it by itself, and at the gateway.
import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { connect as connectH2 } from "node:http2";
import { createServer } from "node:net";
import { join } from "node:path";
import { BROWSER_FLAGS } from "../conformance/browser-flags.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { FIREFOX, Firefox } from "../harness/firefox.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { LiveStream } from "../harness/live-stream.ts";
import { longTest } from "../harness/long-lane.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const { cert, key } = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const rules = `SecRule TLS_JA4 "@beginsWith t12" "id:9001,phase:1,deny,status:418,chain"
  SecRule REQUEST_URI "@streq /r" ""
`;
const body = "{tls.ja4} {tls.group} {http2.fingerprint}";
const gateway = await startGateway({
  config: {
    server: {
      workers: 2,
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      waf: { enabled: true, rules: ["./own.conf"] },
      access_log: { fields: ["event", "path", "status", "tls.ja4", "tls.group", "http2.fingerprint"] },
    },
  },
  routes: [
    { type: "respond", prefix: "/known", body: "by handshake", match: { "tls.ja4": ["/^t13i/"] } },
    {
      type: "respond",
      prefix: "/",
      body,
      content_type: "text/plain",
      rate_limit: { requests: 1000, key: "tls.ja4" },
    },
  ],
  files: { "a.pem": cert, "a.key": key, "own.conf": rules },
});
afterAll(() => stopAll(gateway));

/** Takes one connection, and gives the handshake bytes of its first records. */
async function captured(knock: (at: number) => Promise<unknown>): Promise<Buffer> {
  const done = Promise.withResolvers<Buffer>();
  const server = createServer((socket) => {
    let wire = Buffer.alloc(0);
    let message = Buffer.alloc(0);
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      wire = Buffer.concat([wire, Buffer.from(chunk as Uint8Array)]);
      while (wire.length >= 5 && wire.length >= 5 + wire.readUInt16BE(3)) {
        const length = wire.readUInt16BE(3);
        message = Buffer.concat([message, wire.subarray(5, 5 + length)]);
        wire = wire.subarray(5 + length);
      }
      if (message.length < 4 || message.length < 4 + message.readUIntBE(1, 3)) return;
      done.resolve(message.subarray(0, 4 + message.readUIntBE(1, 3)));
      socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await knock((server.address() as { port: number }).port).catch(() => {});
    return await done.promise;
  } finally {
    server.close();
  }
}

/** JA4 by its published description, without a line of the gateway's. */
function reference(hello: Buffer): string {
  const isGrease = (hex: string) => /^(.a)\1$/.test(hex);
  const pairs = (bytes: Buffer) => (bytes.toString("hex").match(/..../g) ?? []).filter((hex) => !isGrease(hex));
  const sha = (text: string) =>
    text === "" ? "0".repeat(12) : createHash("sha256").update(text).digest("hex").slice(0, 12);
  let at = 38 + 1 + hello[38]!;
  const ciphers = pairs(hello.subarray(at + 2, at + 2 + hello.readUInt16BE(at)));
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello[at]! + 2;
  const extensions = new Map<string, Buffer>();
  while (at < hello.length) {
    const size = hello.readUInt16BE(at + 2);
    const name = hello.subarray(at, at + 2).toString("hex");
    if (!isGrease(name)) extensions.set(name, hello.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  const versions = extensions.get("002b");
  const newest =
    versions === undefined ? hello.subarray(4, 6).toString("hex") : pairs(versions.subarray(1)).sort().at(-1)!;
  const alpn = extensions.get("0010");
  const first = alpn === undefined ? "00" : alpn.subarray(3, 3 + alpn[2]!).toString("latin1");
  const two = (list: { length: number } | number) =>
    String(typeof list === "number" ? list : list.length).padStart(2, "0");
  const version = { "0304": "13", "0303": "12", "0302": "11", "0301": "10" }[newest];
  const a = `t${version}${extensions.has("0000") ? "d" : "i"}${two(ciphers)}${two(extensions.size)}${first[0]}${first.at(-1)}`;
  const signatures = extensions.get("000d");
  const names = [...extensions.keys()].filter((name) => name !== "0000" && name !== "0010").sort();
  const c = names.join() + (signatures === undefined ? "" : `_${pairs(signatures.subarray(2)).join()}`);
  return `${a}_${sha(ciphers.sort().join())}_${sha(c)}`;
}

/** Knocks as a program does. @returns what it got */
type Knock = (at: number) => Promise<string>;

const run = async (...command: string[]): Promise<string> =>
  (await runProcess(command, { timeout: 60_000, env: process.env as Record<string, string> })).stdout;

const CLIENTS: Readonly<Record<string, Knock | null>> = {
  "curl over HTTP/2": (at) => run("curl", "-sk", `https://localhost:${at}/`),
  "curl over HTTP/1.1 with TLS 1.2 at an address": (at) =>
    run("curl", "-sk", "--http1.1", "--tls-max", "1.2", `https://127.0.0.1:${at}/`),
  "openssl s_client": async (at) =>
    run(
      "sh",
      "-c",
      `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | openssl s_client -quiet -ign_eof -connect 127.0.0.1:${at} -servername localhost 2>/dev/null`,
    ),
  GnuTLS:
    Bun.which("gnutls-cli") === null
      ? null
      : (at) =>
          run(
            "sh",
            "-c",
            `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | gnutls-cli --insecure --logfile=/dev/null -p ${at} localhost 2>/dev/null`,
          ),
  Python: (at) =>
    run(
      "python3",
      "-c",
      `import ssl,urllib.request as u;c=ssl._create_unverified_context();print(u.urlopen('https://localhost:${at}/',context=c).read().decode())`,
    ),
  Node: (at) =>
    run(
      "/usr/bin/node",
      "-e",
      `require('https').get('https://localhost:${at}/',{rejectUnauthorized:false},r=>r.pipe(process.stdout)).on('error',()=>{})`,
    ),
  Bun: async (at) =>
    (await fetch(`https://localhost:${at}/`, { tls: { rejectUnauthorized: false } } as RequestInit)).text(),
  Go: Bun.which("go") === null && Bun.which("/usr/local/go/bin/go") === null ? null : goKnock,
};

/** Those that take seconds to begin. */
const SLOW_CLIENTS: Readonly<Record<string, Knock | null>> = {
  Java: Bun.which("javac") === null ? null : javaKnock,
  Chromium: Bun.which("chromium") === null ? null : chromiumKnock,
  Firefox: FIREFOX === null ? null : (at) => browse(`https://localhost:${at}/`),
};

async function javaKnock(at: number): Promise<string> {
  const file = join(gateway.folder, "Knock.java");
  writeFileSync(
    file,
    `import java.net.URI; import java.net.http.*; import java.security.cert.X509Certificate; import javax.net.ssl.*;
public class Knock { public static void main(String[] args) throws Exception {
  System.setProperty("jdk.internal.httpclient.disableHostnameVerification", "true");
  SSLContext tls = SSLContext.getInstance("TLS");
  tls.init(null, new TrustManager[] { new X509ExtendedTrustManager() {
    public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
    public void checkClientTrusted(X509Certificate[] c, String a) {} public void checkServerTrusted(X509Certificate[] c, String a) {}
    public void checkClientTrusted(X509Certificate[] c, String a, java.net.Socket s) {} public void checkServerTrusted(X509Certificate[] c, String a, java.net.Socket s) {}
    public void checkClientTrusted(X509Certificate[] c, String a, SSLEngine e) {} public void checkServerTrusted(X509Certificate[] c, String a, SSLEngine e) {}
  } }, null);
  System.out.print(HttpClient.newBuilder().sslContext(tls).build().send(
    HttpRequest.newBuilder(URI.create("https://localhost:" + args[0] + "/")).build(), HttpResponse.BodyHandlers.ofString()).body());
} }
`,
  );
  return run("java", file, String(at));
}

/** Chromium shuffles its extensions and sends GREASE and ECH; each time it begins anew, without a session to resume. */
async function chromiumKnock(at: number): Promise<string> {
  const folder = mkdtempSync(join(gateway.folder, "chromium-"));
  const own = BROWSER_FLAGS.filter((flag) => !flag.startsWith("--remote-debugging"));
  const flags = [...own, "--disable-quic", "--ignore-certificate-errors", `--user-data-dir=${folder}`];
  const page = await run("chromium", ...flags, "--dump-dom", `https://localhost:${at}/`);
  return /t1[^<]*/.exec(page)?.[0] ?? page;
}

async function browse(url: string): Promise<string> {
  const firefox = await Firefox.start();
  try {
    return await firefox.browse(url);
  } finally {
    firefox.stop();
  }
}

let goProgram: Promise<string> | null = null;
async function goKnock(at: number): Promise<string> {
  goProgram ??= (async () => {
    const file = join(gateway.folder, "knock.go");
    writeFileSync(
      file,
      `package main
import ("crypto/tls";"fmt";"io";"net/http";"os")
func main() {
  t := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
  r, e := (&http.Client{Transport: t}).Get("https://localhost:" + os.Args[1] + "/")
  if e == nil { b, _ := io.ReadAll(r.Body); fmt.Print(string(b)) }
}
`,
    );
    const go = Bun.which("go") ?? "/usr/local/go/bin/go";
    await runProcess([go, "build", "-o", join(gateway.folder, "knock"), file], {
      timeout: 120_000,
      env: { ...process.env, GO111MODULE: "off" } as Record<string, string>,
    });
    return join(gateway.folder, "knock");
  })();
  return run(await goProgram, String(at));
}

async function expectPublished(name: string, knock: Knock | null): Promise<void> {
  if (knock === null) return console.log(`${name} is not installed`);
  const hello = await captured(knock);
  const [ja4 = "", group = ""] = (await knock(port)).split("\r\n").at(-1)!.trim().split(" ");
  expect(ja4).toBe(reference(hello));
  expect(group).not.toBe("");
}

describe("the fingerprint of a handshake", () => {
  test.each(Object.entries(CLIENTS))("of %s is the published one of its bytes", expectPublished, 180_000);
  longTest.each(Object.entries(SLOW_CLIENTS))("of %s is the published one of its bytes", expectPublished, 180_000);

  test("is a field of the log, a match and a variable of rules", async () => {
    const refused = await run(
      "curl",
      "-sk",
      "-o",
      "/dev/null",
      "-w",
      "%{http_code}",
      "--tls-max",
      "1.2",
      `https://localhost:${port}/r`,
    );
    expect(refused).toBe("418");
    const live = await LiveStream.open(`http://127.0.0.1:${gateway.port}`);
    // Rows are made from the moment on when the workers know of the watcher.
    await eventually(async () => {
      expect(await run("curl", "-sk", `https://127.0.0.1:${port}/known`)).toBe("by handshake");
      const events = live.events as unknown as { rows: { path: string; ja4: string }[] }[];
      const row = events.flatMap(({ rows }) => rows).find(({ path }) => path === "/known");
      expect(row?.ja4).toStartWith("t13i");
    });
    live.close();
    expect(await run("curl", "-sk", `https://localhost:${port}/known`)).toStartWith("t13d");
    const line = await gateway.log("access", (each) => each.event === "access" && each.path === "/r");
    expect(String(line["tls.ja4"])).toStartWith("t12d");
    const plain = await gateway.once("GET /plain HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    expect(plain.text).toBe("  ");
  });
});

describe("the fingerprint of an HTTP/2 connection", () => {
  test("is its settings, window, priorities and the order of its pseudo-headers", async () => {
    const session = connectH2(`https://localhost:${port}`, {
      rejectUnauthorized: false,
      settings: {
        headerTableSize: 65_536,
        enablePush: false,
        initialWindowSize: 6_291_456,
        maxHeaderListSize: 262_144,
      },
    });
    try {
      const ask = () =>
        new Promise<string>((resolve, reject) => {
          const stream = session.request({ ":method": "GET", ":path": "/" });
          let text = "";
          stream.on("data", (chunk) => {
            text += String(chunk);
          });
          stream.on("end", () => resolve(text.split(" ")[2]!));
          stream.on("error", reject);
        });
      const first = await ask();
      expect(first).toMatch(/^1:65536;2:0;4:6291456;6:262144\|\d+\|0\|[masp](,[masp]){3}$/);
      expect(await ask()).toBe(first);
    } finally {
      session.close();
    }
  });
});
