import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts, ServerProcess } from "../bench/server-process.ts";
import { eventually } from "../harness/eventually.ts";
import { fastcgiParams } from "../harness/nginx-scripts.ts";

const PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;

/** The newest php-fpm that is installed; null where there is none, which is said in one line. */
export function findPhpFpm(): string | null {
  const names = ["php-fpm", ...["8.4", "8.3", "8.2", "8.1"].map((version) => `php-fpm${version}`)];
  const found = names.map((name) => Bun.which(name, { PATH })).find((path) => path !== null) ?? null;
  if (found === null) console.log("skipped: PHP needs php-fpm (Debian: apt install php-fpm)");
  return found;
}

/** php-fpm with a site as WordPress and Laravel are built, and nginx before it as Debian's snippets say. */
export class PhpSite {
  private constructor(
    readonly folder: string,
    readonly root: string,
    readonly socket: string,
    private readonly servers: readonly ServerProcess[],
    /** Of nginx; 0 where it is not installed. */
    readonly nginxPort: number,
  ) {}

  static async start(fpm: string): Promise<PhpSite> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "edge-php-")));
    // Workers of nginx run as another user.
    chmodSync(folder, 0o755);
    const root = join(folder, "site");
    makeSite(root);
    const { socket, server } = await startPhpFpm(fpm, folder);
    const servers = [server];
    const nginx = Bun.which("nginx", { PATH });
    const [port = 0] = freePorts(1);
    if (nginx === null) return new PhpSite(folder, root, socket, servers, 0);
    const conf = join(folder, "nginx.conf");
    writeFileSync(conf, nginxConfig(folder, root, socket, port));
    servers.push(new ServerProcess([nginx, "-p", folder, "-c", conf], folder, join(folder, "nginx.log")));
    if (!(await servers[1]!.isReady(port, "/style.css")))
      throw new Error(`nginx did not start: ${servers[1]!.lastWords()}`);
    return new PhpSite(folder, root, socket, servers, port);
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** php-fpm at a socket in a folder, which has its configuration and logs as well. */
export async function startPhpFpm(fpm: string, folder: string): Promise<{ socket: string; server: ServerProcess }> {
  const socket = join(folder, "php.sock");
  const file = join(folder, "fpm.conf");
  writeFileSync(file, fpmConfig(folder, socket));
  const isRoot = process.getuid?.() === 0;
  const command = [fpm, "-n", "--nodaemonize", "--fpm-config", file, ...(isRoot ? ["-R"] : [])];
  const server = new ServerProcess(command, folder, join(folder, "fpm.out"));
  await eventually(() => {
    if (!existsSync(socket)) throw new Error(`php-fpm did not start: ${server.lastWords()}`);
  });
  return { socket, server };
}

function makeSite(root: string): void {
  mkdirSync(root);
  cpSync(join(import.meta.dir, "php-site"), root, { recursive: true });
  // Names that no repository should have.
  const source = '<?php $secret = "source"; ?>';
  for (const name of ["old.PHP", "wp-config.php.bak", "wp-config.php~", "page.phtml", ".env.php"])
    writeFileSync(join(root, name), source);
  writeFileSync(join(root, "wp-content", "uploads", "picture.gif"), 'GIF89a<?php echo "RUN:" . "picture"; ?>');
  symlinkSync("wp-content/uploads/picture.gif", join(root, "picture.php"));
  symlinkSync("form.php", join(root, "source.txt"));
}

function fpmConfig(folder: string, socket: string): string {
  const users = process.getuid?.() === 0 ? "user = root\ngroup = root\n" : "";
  return `[global]
error_log = ${folder}/fpm.log
[www]
${users}listen = ${socket}
listen.mode = 0666
pm = static
pm.max_children = 4
ping.path = /ping
catch_workers_output = no
php_admin_flag[log_errors] = on
php_admin_flag[display_errors] = off
php_admin_flag[output_buffering] = off
; What makes a script of a picture where a gateway does not look.
php_admin_flag[cgi.fix_pathinfo] = on
security.limit_extensions =
`;
}

/** Debian's snippets/fastcgi-php.conf and fastcgi.conf, with the location that the manuals of WordPress give. */
function nginxConfig(folder: string, root: string, socket: string, port: number): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  const params = fastcgiParams({
    SCRIPT_FILENAME: "$document_root$fastcgi_script_name",
    PATH_INFO: "$path_info",
    APP_ENV: "test",
  });
  return `daemon off; pid ${folder}/nginx.pid; error_log stderr crit; worker_processes 1; events { worker_connections 256; }
http {
  access_log off; ${temporary.join(" ")} client_max_body_size 64m; types { text/css css; text/html html; image/gif gif; }
  server {
    listen 127.0.0.1:${port}; server_name gw.test; root ${root}; index index.php index.html;
    location / { try_files $uri $uri/ /index.php$is_args$args; }
    location ~ [^/]\\.php(/|$) {
      fastcgi_split_path_info ^(.+?\\.php)(/.*)$;
      set $path_info $fastcgi_path_info;
      try_files $fastcgi_script_name =404;
      ${params}
      fastcgi_pass unix:${socket};
    }
  }
}
`;
}
