/** What connections were like of late, second by second. */

import { type Connection, keyOf } from "./api";

/** Samples that are kept: ten minutes of one a second. */
export const KEPT = 600;
/** Connections whose samples are kept. */
export const REMEMBERED = 2_000;
/** Seconds between two samples beyond which nothing is known of what was between. */
const GAP_S = 5;

/** What is kept of a sample; the algorithm as its number in Names. */
export const COLUMNS = ["rtt_s", "srtt_s", "isolated_loss", "burst_loss", "cwnd", "algorithm"] as const;
export type Column = (typeof COLUMNS)[number];

/** Names by number, in the order of their first appearance. */
export class Names {
    readonly all: string[] = [];

    number(name: string): number {
        const known = this.all.indexOf(name);
        return known >= 0 ? known : this.all.push(name) - 1;
    }
}

/** A column of a connection with its times; null: it was not told of then. */
export interface Series {
    times: number[];
    values: (number | null)[];
}

/** Samples of one connection, by the number of the turn in which they were taken. */
class Track {
    private data = new Float32Array(0);
    constructor(private readonly first: number, public latest: number) {}

    put(turn: number, values: number[] | null): void {
        const at = ((turn - this.first) % KEPT) * COLUMNS.length;
        if (at >= this.data.length) {
            // Most connections are short.
            const rows = Math.min(KEPT, Math.max(16, (2 * this.data.length) / COLUMNS.length));
            const larger = new Float32Array(rows * COLUMNS.length).fill(NaN);
            larger.set(this.data);
            this.data = larger;
        }
        if (values) this.data.set(values, at);
        else this.data.fill(NaN, at, at + COLUMNS.length);
    }

    get(turn: number, column: number): number | null {
        if (turn < this.first) return null;
        const value = this.data[((turn - this.first) % KEPT) * COLUMNS.length + column];
        return value === undefined || Number.isNaN(value) ? null : value;
    }
}

export class History {
    readonly names = new Names();
    /** Number of the next turn, and when the latest ones were, in seconds of the kernel's clock. */
    private turn = 0;
    private readonly times = new Float64Array(KEPT);
    private readonly tracks = new Map<string, Track>();

    /** Takes in what connections are like at `now_s`. `chosen` is never forgotten. */
    record(now_s: number, connections: Iterable<Connection>, chosen: string | null): void {
        const before = this.turn > 0 ? this.times[(this.turn - 1) % KEPT]! : now_s;
        // A turn in which nothing was heard breaks the curves.
        if (now_s - before > GAP_S) this.begin((now_s + before) / 2);
        const turn = this.begin(now_s);
        for (const connection of connections) {
            const key = keyOf(connection);
            let track = this.tracks.get(key);
            if (!track) this.tracks.set(key, (track = new Track(turn, turn)));
            track.latest = turn;
            track.put(
                turn,
                COLUMNS.map((column) =>
                    column === "algorithm" ? this.names.number(connection.algorithm) : connection[column],
                ),
            );
        }
        for (const [key, track] of this.tracks) {
            const isOld = turn - track.latest >= KEPT || this.tracks.size > REMEMBERED;
            if (track.latest < turn && isOld && key !== chosen) this.tracks.delete(key);
        }
    }

    /** Begins a turn, in which nothing is known yet. */
    private begin(at_s: number): number {
        const turn = this.turn++;
        this.times[turn % KEPT] = at_s;
        for (const track of this.tracks.values()) track.put(turn, null);
        return turn;
    }

    /** A column of a connection, from its first sample that is kept on. */
    series(key: string, column: Column): Series {
        const track = this.tracks.get(key);
        const series: Series = { times: [], values: [] };
        if (!track) return series;
        const index = COLUMNS.indexOf(column);
        for (let turn = Math.max(0, this.turn - KEPT); turn < this.turn; turn++) {
            const value = track.get(turn, index);
            if (value === null && series.times.length === 0) continue;
            series.times.push(this.times[turn % KEPT]!);
            series.values.push(value);
        }
        return series;
    }
}
