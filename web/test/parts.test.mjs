// The parts of the page that need no browser; page.rs of the agent tests the whole.
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";

import { bands } from "../../target/page-parts/bands.js";
import { History, KEPT, REMEMBERED } from "../../target/page-parts/history.js";
import { bytes, percent, span, while_ } from "../../target/page-parts/words.js";

const connection = (port, more = {}) => ({
    namespace: 1, local: "192.0.2.1:443", remote: `192.0.2.2:${port}`, algorithm: "kk_cubic",
    rtt_s: 0.2, srtt_s: 0.25, isolated_loss: 0, burst_loss: 0, cwnd: 10, ...more,
});
const key = (port) => `1/192.0.2.1:443/192.0.2.2:${port}`;

test("quantities", () => {
    deepEqual([0, 0.0000123, 0.2034, 2.5].map(span), ["0 µs", "12 µs", "203 ms", "2.5 s"]);
    deepEqual([0, 0.00001, 0.0123, 1].map(percent), ["0 %", "< 0.01 %", "1.23 %", "100 %"]);
    deepEqual([0, 999, 65536, 2.5e9].map(bytes), ["0 B", "999 B", "65.5 kB", "2.5 GB"]);
    deepEqual([-1, 59, 61, 3700, 90000].map(while_), ["0 s", "59 s", "1 min", "1 h 1 min", "1 d 1 h"]);
});

test("a history is that of the last turns, whether a connection was told of or not", () => {
    const history = new History();
    for (let turn = 0; turn < KEPT + 50; turn++) {
        const told = turn % 2 === 0 ? [connection(1, { cwnd: turn })] : [];
        history.record(turn, told, null);
    }
    const { times, values } = history.series(key(1), "cwnd");
    equal(times.length, KEPT);
    deepEqual([times[0], values[0], times[1], values[1]], [50, 50, 51, null]);
    deepEqual([times.at(-2), values.at(-2), values.at(-1)], [KEPT + 48, KEPT + 48, null]);
    deepEqual(history.series(key(2), "cwnd"), { times: [], values: [] });
});

test("where nothing was heard for long a curve is broken", () => {
    const history = new History();
    for (const now_s of [10, 11, 41]) history.record(now_s, [connection(1)], null);
    deepEqual(history.series(key(1), "cwnd"), { times: [10, 11, 26, 41], values: [10, 10, null, 10] });
});

test("not more connections are remembered than there is room for, but the chosen one is", () => {
    const history = new History();
    const some = (from) => Array.from({ length: REMEMBERED }, (_, index) => connection(from + index));
    history.record(1, some(0), key(0));
    history.record(2, some(REMEMBERED), key(0));
    equal(history.series(key(0), "cwnd").times.length, 2);
    equal(history.series(key(1), "cwnd").times.length, 0);
    equal(history.series(key(REMEMBERED), "cwnd").times.length, 1);
});

const number = (name) => ["kk_cubic", "kk_hybla"].indexOf(name);

test("a switch tells exactly when a band ends", () => {
    const seen = { times: [1, 2, 3], values: [0, 0, 1] };
    deepEqual(bands(seen, [{ at_ns: 2.4e9, to: "kk_hybla", observed: false }], number), [
        { algorithm: 0, from_s: 1, to_s: 2.4 },
        { algorithm: 1, from_s: 2.4, to_s: 3 },
    ]);
});

test("without its switch a band ends when another algorithm is seen; observed ones change nothing", () => {
    const seen = { times: [1, 2, 3, 4], values: [0, null, 1, null] };
    deepEqual(bands(seen, [{ at_ns: 1.5e9, to: "kk_hybla", observed: true }], number), [
        { algorithm: 0, from_s: 1, to_s: 3 },
        { algorithm: 1, from_s: 3, to_s: 3 },
    ]);
    deepEqual(bands({ times: [], values: [] }, [], number), []);
});
