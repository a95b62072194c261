import { runDiskThread } from "../src/app/disk/disk-thread.ts";
import { verifyTls } from "../src/app/verified-tls.ts";

verifyTls();
runDiskThread();
