// Runs when the gateway is bundled, not in it: what uses it imports it as a macro of the bundler.

/** What `edge test` loads before the tests, as one module. @throws what the bundler says of it */
export function preloadBundle(): string {
  const entry = `${import.meta.dir}/preload.ts`;
  const build = Bun.spawnSync([process.execPath, "build", "--target=bun", "--minify", entry]);
  if (!build.success) throw new Error(build.stderr.toString());
  return build.stdout.toString();
}
