/** The log of switches, and how one of them is told. */

import { type KnownPath, type Switch, type Switches, ask, keyOf } from "./api";
import { type Content, fill, make, part } from "./dom";
import { bytes, clock, percent, plain, rate, span, while_ } from "./words";

/** As many as the agent remembers. */
const REMEMBERED = 10_000;
const LATEST = 10;

/** The switches that are known, the oldest first. */
export class Log {
    private known: Switch[] = [];

    /** Asks for those that are new. */
    async read(): Promise<void> {
        const after = this.known.at(-1)?.number ?? 0;
        const { switches } = await ask<Switches>("/switches", { after: String(after) });
        this.known = [...this.known, ...switches].slice(-REMEMBERED);
    }

    /** After another agent was started, which counts from 1 again. */
    forget(): void {
        this.known = [];
    }

    /** Those of a connection. */
    of(connection: string): Switch[] {
        return this.known.filter((it) => keyOf(it) === connection);
    }

    /** Shows the latest ones. `epoch_s`: what the kernel's clock is behind the time of day. */
    show(epoch_s: number): void {
        const latest = this.known.slice(-LATEST).reverse();
        fill(part("log"), [latest, Math.round(epoch_s)], () =>
            latest.map((it) =>
                make("li", {}, make("small", {}, `${it.local} to ${it.remote}`), ...told(it, epoch_s)),
            ),
        );
        part("no-log").hidden = latest.length > 0;
    }
}

/** When, from what to what and why, and what was measured. */
export function told(it: Switch, epoch_s: number): Content[] {
    const measured = it.known ? known(it.known) : conditions(it);
    return [
        make("time", {}, clock(it.at_ns / 1e9 + epoch_s)),
        ` ${it.from} → `,
        make("b", {}, it.to),
        `, ${plain(it.reason)}${it.observed ? " (observed only)" : ""}`,
        make("small", {}, measured.filter(Boolean).join(", ")),
    ];
}

function conditions(it: Switch): string[] {
    return [
        `RTT ${span(it.rtt_s)}`,
        it.rate_bit_s === null ? "" : rate(it.rate_bit_s),
        it.burst_bytes === null ? "" : `bursts of ${bytes(it.burst_bytes)}`,
        `isolated loss ${percent(it.isolated_loss)}`,
        `burst loss ${percent(it.burst_loss)}`,
    ];
}

/** What a new connection begins with. */
function known(path: KnownPath): string[] {
    return [
        `${path.is_first_flight ? "first flight" : "careful jump"} of ${bytes(path.jump_bytes)}`,
        `known for ${while_(path.age_s)}`,
        `RTT ${span(path.rtt_s)}`,
        path.rate_bit_s === null ? "" : rate(path.rate_bit_s),
        `${bytes(path.window_bytes)} a round trip`,
    ];
}

/** What each candidate was expected to take. */
export function predicted(it: Switch): Content {
    const each = it.predicted_s.map(([name, latency]) => `${name} ${span(latency)}`);
    return make("small", {}, `predicted: ${each.join(", ")}`);
}
