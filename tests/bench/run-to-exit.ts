/**
 * Runs a comparison, and ends the process: with 1 if it fails. It is not thrown on: the runtime would end without the exit handlers that
 * end servers and origins.
 */
export async function runToExit(main: () => Promise<void>): Promise<never> {
  try {
    await main();
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
  process.exit(0);
}
