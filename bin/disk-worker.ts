import { runDiskThread } from "../src/app/disk/disk-thread.ts";

runDiskThread();
