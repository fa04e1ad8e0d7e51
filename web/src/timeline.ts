/** The connection that was chosen: its timeline, what it is like now, and its switches. */

import { type Connection, keyOf, type Stream } from "./api";
import { bands } from "./bands";
import { Charts } from "./charts";
import { scopeOf } from "./connections";
import { fill, make, part, say } from "./dom";
import { swatch } from "./hatching";
import type { History } from "./history";
import { type Log, predicted, told } from "./switches";
import { bytes, percent, rate, span } from "./words";

export class Timeline {
    private readonly charts: Charts;
    /** The chosen one, as it was last seen. */
    private seen: Connection | null = null;

    constructor(private readonly history: History, private readonly log: Log) {
        this.charts = new Charts(part("charts"));
    }

    /** `now`: what the chosen one is like; undefined where it is gone. `epoch_s`: what the kernel's
     *  clock is behind the time of day. */
    show(now: Connection | undefined, now_ns: number, epoch_s: number): void {
        this.seen = now ?? this.seen;
        const connection = this.seen;
        part("chosen").hidden = connection === null;
        if (!connection) return;
        const { local, remote } = connection;
        const key = keyOf(connection);
        say(part("chosen-name"), `${local} to ${remote}`);
        say(part("chosen-gone"), now ? "" : "This connection is gone.");
        fill(part("facts"), connection, () =>
            facts(connection).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
        );

        const { names } = this.history;
        const shift = (at_s: number) => at_s + epoch_s;
        const algorithms = this.history.series(key, "algorithm");
        const first_s = algorithms.times[0] ?? now_ns / 1e9;
        const switches = this.log.of(key);
        const used = bands(algorithms, switches, (name) => names.number(name)).map((band) => ({
            ...band,
            from_s: shift(band.from_s),
            to_s: shift(band.to_s),
        }));
        this.charts.draw({
            series: (column) => {
                const { times, values } = this.history.series(key, column);
                return { times: times.map(shift), values };
            },
            bands: used,
            names: names.all,
            marks: switches
                .map((it, index) => ({ number: index + 1, at_s: it.at_ns / 1e9, observed: it.observed }))
                .filter((it) => it.at_s >= first_s)
                .map((it) => ({ ...it, at_s: shift(it.at_s) })),
            now_s: shift(now_ns / 1e9),
        });

        const numbers = [...new Set(used.map((band) => band.algorithm))];
        fill(part("bands"), [numbers, devicePixelRatio], () =>
            numbers.map((number) => make("li", {}, swatch(number), names.all[number] ?? "")),
        );
        fill(part("switches"), [switches, Math.round(epoch_s)], () =>
            switches
                .map((it, index) => make("li", { value: String(index + 1) }, ...told(it, epoch_s), predicted(it)))
                .reverse(),
        );
        part("no-switches").hidden = switches.length > 0;
    }

    /** Another one has been chosen. */
    forget(): void {
        this.seen = null;
    }
}

function streamFacts(it: Stream): [string, string][] {
    return [
        ["Stream of", rate(it.demand_bit_s)],
        ["A write takes", it.latency_s === null ? "–" : span(it.latency_s)],
        ["Waiting", bytes(it.backlog_bytes)],
    ];
}

function facts(it: Connection): [string, string][] {
    const told = (value: number | null, say: (value: number) => string) => (value === null ? "–" : say(value));
    const again = it.bytes_sent > 0 ? ` (${percent(it.bytes_retransmitted / it.bytes_sent)} again)` : "";
    return [
        ["Algorithm", it.algorithm],
        ["Had at first", it.original],
        ["Choice", it.chosen || "–"],
        ["Scope", scopeOf(it)],
        ["Bottleneck", told(it.rate_bit_s, rate)],
        ["Bursts of", told(it.burst_bytes, bytes)],
        ["Latest burst took", told(it.burst_latency_s, span)],
        ...(it.stream === null ? [] : streamFacts(it.stream)),
        ["Predicted", told(it.predicted_s, span)],
        ["Predicted with what it had", told(it.predicted_original_s, span)],
        ["Sent", bytes(it.bytes_sent) + again],
    ];
}
