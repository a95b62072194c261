import { runWorker } from "../src/app/worker-main.ts";

runWorker();
