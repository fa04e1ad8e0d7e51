// A picture of a page after a while, by headless Chromium:
// node screenshot.mjs URL FILE.png [WIDTH [HEIGHT [light|dark [SECONDS]]]]
// HEIGHT 0: all of the page.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";

const [url, file, width = "1280", height = "0", scheme = "light", seconds = "10"] = process.argv.slice(2);
const profile = await mkdtemp(`${tmpdir()}/kirikae-page-`);
const chromium = spawn(
    "chromium",
    ["--headless", "--no-sandbox", "--remote-debugging-pipe", `--user-data-dir=${profile}`],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
);

// Messages of the DevTools protocol are JSON, each ended by a zero byte.
const [, , , to, from] = chromium.stdio;
const waiting = new Map();
let unread = "";
from.setEncoding("utf8").on("data", (text) => {
    const messages = (unread + text).split("\0");
    unread = messages.pop();
    for (const { id, result, error } of messages.map((it) => JSON.parse(it))) {
        if (error) throw new Error(error.message);
        waiting.get(id)?.(result);
    }
});
let sent = 0;
function tell(method, params = {}, sessionId) {
    const id = ++sent;
    to.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve) => waiting.set(id, resolve));
}

const { targetId } = await tell("Target.createTarget", { url: "about:blank" });
const { sessionId } = await tell("Target.attachToTarget", { targetId, flatten: true });
const page = (method, params) => tell(method, params, sessionId);
const sized = (height) =>
    page("Emulation.setDeviceMetricsOverride", { width: +width, height, deviceScaleFactor: 1, mobile: +width < 600 });
await sized(+height || 900);
await page("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
await page("Page.navigate", { url });
await new Promise((resolve) => setTimeout(resolve, 1e3 * seconds));
if (+height === 0) {
    const { cssContentSize } = await page("Page.getLayoutMetrics");
    await sized(Math.ceil(cssContentSize.height));
    await new Promise((resolve) => setTimeout(resolve, 1500));
}
const { data } = await page("Page.captureScreenshot");
await writeFile(file, Buffer.from(data, "base64"));
await tell("Browser.close");
chromium.on("exit", () => rm(profile, { recursive: true, force: true }));
