/** Which algorithm a connection had, from when until when. */

import type { Switch } from "./api";
import type { Series } from "./history";

export interface Band {
    /** Number of the algorithm. */
    algorithm: number;
    from_s: number;
    to_s: number;
}

/** Bands from samples of the algorithm's number, and the switches, which tell exactly when. All times
 *  are seconds of the same clock. */
export function bands(algorithms: Series, switches: Switch[], number: (name: string) => number): Band[] {
    const first = algorithms.times[0];
    const last = algorithms.times.at(-1);
    if (first === undefined || last === undefined) return [];
    const seen = algorithms.times.flatMap((at_s, index) => {
        const algorithm = algorithms.values[index];
        return algorithm == null ? [] : [{ at_s, algorithm }];
    });
    const made = switches
        .filter((it) => !it.observed)
        .map((it) => ({ at_s: it.at_ns / 1e9, algorithm: number(it.to) }))
        .filter((it) => it.at_s > first && it.at_s < last);
    const all: Band[] = [];
    for (const { at_s, algorithm } of [...seen, ...made].sort((a, b) => a.at_s - b.at_s)) {
        const current = all.at(-1);
        if (current) current.to_s = at_s;
        if (current?.algorithm !== algorithm) all.push({ algorithm, from_s: at_s, to_s: at_s });
    }
    return all;
}
