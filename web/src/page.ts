/** The page: asks the agent once a second while somebody looks, and shows what it tells. */

import { type Connections, NoAnswer, type Status, ask, keyOf } from "./api";
import { List } from "./connections";
import { part, say } from "./dom";
import { History } from "./history";
import { showStatus } from "./status";
import { Log } from "./switches";
import { Timeline } from "./timeline";
import { clock } from "./words";

const PERIOD_MS = 1_000;

const history = new History();
const log = new Log();
const timeline = new Timeline(history, log);
const list = new List(askAgain, choose);

let chosen: string | null = null;
/** Whether the reader chose it; else it is the first of the list, until that is gone. */
let isReadersChoice = false;
/** What the kernel's clock is behind the time of day, seconds. */
let epoch_s = 0;
let up_s = 0;
let isPaused = false;
let isAsking = false;
/** Asked while an answer was awaited. */
let isAskedAgain = false;
let next = 0;
let latest: Connections | null = null;

/** One turn: everything is asked for and shown. */
async function turn(): Promise<void> {
    const status = await ask<Status>("/status");
    if (status.up_s < up_s) log.forget();
    up_s = status.up_s;
    await log.read();
    const also = chosen === null ? {} : { also: chosen };
    const connections = await ask<Connections>("/connections", { ...list.query(), ...also });

    // An answer that was long on its way makes the difference larger; a clock that was set, any.
    const behind_s = Date.now() / 1e3 - connections.now_ns / 1e9;
    epoch_s = Math.abs(behind_s - epoch_s) > 0.5 ? behind_s : Math.min(behind_s, epoch_s);
    const { also: besides } = connections;
    const all = besides ? [...connections.connections, besides] : connections.connections;
    history.record(connections.now_ns / 1e9, all, chosen);
    latest = connections;
    const first = connections.connections[0];
    if (first && !isReadersChoice && !besides) {
        timeline.forget();
        chosen = keyOf(first);
    }
    showStatus(status);
    log.show(epoch_s);
    showConnections(connections);
}

function showConnections(connections: Connections): void {
    list.show(connections, chosen);
    part("none").hidden = connections.matching > 0;
    const now = [connections.also, ...connections.connections].find((it) => it && keyOf(it) === chosen);
    timeline.show(now, connections.now_ns, epoch_s);
}

function choose(key: string): void {
    if (key !== chosen) timeline.forget();
    chosen = key;
    isReadersChoice = true;
    if (latest) showConnections(latest);
    part("chosen").scrollIntoView({ block: "nearest" });
}

function askAgain(): void {
    if (isAsking) isAskedAgain = true;
    else void run();
}

async function run(): Promise<void> {
    clearTimeout(next);
    isAsking = true;
    do {
        isAskedAgain = false;
        await turn().then(heard, notHeard);
    } while (isAskedAgain);
    isAsking = false;
    if (!isPaused && !document.hidden) next = setTimeout(() => void run(), PERIOD_MS);
}

let silent_since: number | null = null;

function heard(): void {
    silent_since = null;
    part("trouble").hidden = true;
    say(part("state"), isPaused ? "paused" : "live");
}

function notHeard(error: unknown): void {
    silent_since ??= Date.now() / 1e3;
    const why = error instanceof NoAnswer ? error.message : `The page fails: ${String(error)}`;
    say(part("trouble"), `${why} What is shown is from ${clock(silent_since)}; asked again each second.`);
    part("trouble").hidden = false;
    say(part("state"), "no answer");
}

const pause = part<HTMLButtonElement>("pause");
pause.addEventListener("click", () => {
    isPaused = !isPaused;
    say(pause, isPaused ? "Go on" : "Pause");
    if (isPaused) {
        clearTimeout(next);
        say(part("state"), "paused");
    } else {
        askAgain();
    }
});
document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(next);
    else if (!isPaused) askAgain();
});

askAgain();
