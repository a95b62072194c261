import { runCodecThread } from "../src/app/codec-thread.ts";

runCodecThread();
