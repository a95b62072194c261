// The examples of tests/vectors/convert, as their own products take them on this machine.
import type { Example } from "../harness/conversions.ts";

/**
 * An example at the port, the folder of files and the origin of a run: what needs certificates, other machines or files of packages is taken
 * out or put in their place, in the text that both read.
 */
export function adapted({ product, text }: Example): string {
  if (product === "nginx") return nginx(text);
  return product === "caddy" ? caddy(text) : haproxy(text);
}

/** Paths and hosts that an example speaks of. */
export function wordsOf(text: string): { readonly paths: string[]; readonly hosts: string[] } {
  const paths = text.match(/(?<![\w.:/~])\/[\w./-]*/g) ?? [];
  const below = paths.flatMap((path) => [path, `${path.replace(/\/$/, "")}/x`, path.replace(/\/$/, "")]);
  const hosts = text.match(/\b(?:[\w-]+\.)+(?:com|test|org|example|net|io)\b/g) ?? [];
  return {
    paths: [...new Set(["/", "/x.php", "/.htaccess", ...below])].filter((path) => path.startsWith("/")).slice(0, MOST),
    hosts: [...new Set(["none.test", ...hosts])].slice(0, MOST_HOSTS),
  };
}

const MOST = 40;
const MOST_HOSTS = 5;

function nginx(text: string): string {
  const plain = text
    .replace(
      /^[ \t]*(?:user|worker_\w+|pid|daemon|load_module|error_log|include|resolver|ssl_\w+|listen \[[^;]*)[ \t][^;]*;/gm,
      "",
    )
    .replaceAll("$geoip_country_code", "$http_x_country")
    .replace(/auth_basic_user_file[^;]*;| slow_start=\w+/g, "")
    .replace(/^[ \t]*events[ \t]*\{[^}]*\}/gm, "")
    .replace(/listen\s+[^;]*?\bssl\b[^;]*;/g, "listen 127.0.0.1:PORT;")
    .replace(/listen\s+(?!127\.0\.0\.1:PORT)[^;]*?((?: default_server)?);/g, "listen 127.0.0.1:PORT$1;")
    .replace(/(proxy_pass\s+)(https?):\/\/(?:[\w.-]+:\d+|unix:[^:;]+:?)/g, "$1http://127.0.0.1:ORIGIN")
    .replace(/(\bserver\s+)(?:[\w.-]+:\d+|unix:[^\s;]+)/g, "$1127.0.0.1:ORIGIN")
    .replace(/(\b(?:root|alias)\s+)[^;]+;/g, "$1SITE;")
    .replace(/(auth_basic\s+"[^"]*";)/g, "$1 auth_basic_user_file SITE/users;");
  // A server listens at the port once: the one in clear text and the one with TLS are one here.
  const once = plain.replace(
    /(listen 127\.0\.0\.1:PORT(?: default_server)?;)(?:\s*listen 127\.0\.0\.1:PORT(?: default_server)?;)+/g,
    "$1",
  );
  const body = /^\s*http\s*\{/m.test(once) ? once : `http {\n${once}\n}`;
  return `daemon off;\nevents { }\n${body}`;
}

function caddy(text: string): string {
  const plain = text
    .replace(/^\{\n[\s\S]*?^\}\n/m, "")
    .replace(/\bbasic_auth\b/g, "basicauth")
    .replace(/^([ \t]+)tls\b[^\n{]*(?:\{\n[\s\S]*?^\1\}|$)/gm, "")
    .replace(/^:\d+$/m, ":PORT")
    .replace(/^(?:https?:\/\/)?([\w.*-]*):\d+(?=[ ,{])/gm, "http://$1:PORT")
    .replace(/^((?:[\w*-]+\.)+\w+)(?=[ ,])/gm, "http://$1:PORT")
    .replace(/, (?:https?:\/\/)?((?:[\w*-]+\.)+\w+)(?::\d+)?/g, ", http://$1:PORT")
    .replace(/^(\s+(?:root|dir)\s+(?:\*\s+)?)\S+/gm, "$1SITE")
    .replace(/(?:h2c:\/\/)?\b(?:localhost|127\.0\.0\.1|[a-z]\w*|10\.[\d.]+):(?!PORT)\d+\b/g, "127.0.0.1:ORIGIN");
  return `{\n\tadmin off\n\tauto_https off\n}\n${plain}`;
}

function haproxy(text: string): string {
  let binds = 0;
  return text
    .replace(
      /^[ \t]*(?:chroot|user|group|daemon|pidfile|stats (?:socket|timeout)|ca-base|crt-base|nbthread|errorfile|log)\b[^\n]*\n/gm,
      "",
    )
    .replace(/^[^\n]*\bmap\(\/[^\n]*\n/gm, "")
    .replaceAll("web.internal", "127.0.0.1")
    .replace(/^([ \t]*)bind [^\n]*/gm, (line, space: string) =>
      / ssl\b/.test(line) ? "" : `${space}bind ${binds++ === 0 ? "127.0.0.1:PORT" : `127.0.0.1:PORT${binds}`}`,
    )
    .replace(/127\.0\.0\.1:PORT\d/g, "unix@SITE.sock")
    .replace(/^([ \t]*server \S+) \S+[^\n]*/gm, "$1 127.0.0.1:ORIGIN");
}
