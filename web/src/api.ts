/** What the agent tells, as in crates/daemon/src/status.rs, where the fields are described; of these
 *  only those that the page shows. */

export interface Status {
    version: string;
    up_s: number;
    policy: { file: string | null; generation: number; scopes: Scope[] };
    connections: number;
    by_algorithm: Record<string, number>;
    by_treatment: Record<string, number>;
    switches: Record<string, number>;
    observed: number;
    events_lost: number;
    paths: PathMemory;
    bursts: Bursts[];
    cost: { runs: number; time: { secs: number; nanos: number } };
}

export interface PathMemory {
    known: number;
    hits: number;
    jumps: number;
    first_flights: number;
    retreats: number;
}

export interface Scope {
    name: string;
    matches: string;
    algorithms: string[];
    settings: string[];
    guard?: { says: string; suspended: boolean; cgroups: GroupGuarding[] };
}

export interface GroupGuarding {
    cgroup: string;
    says: string;
    suspended_since?: number;
}

export interface Bursts {
    scope: string;
    switched: boolean;
    below_bytes: number | null;
    count: number;
    mean_s: number;
    p50_s: number;
    p95_s: number;
}

export interface Connections {
    now_ns: number;
    matching: number;
    connections: Connection[];
    also?: Connection;
}

export interface Connection {
    local: string;
    remote: string;
    namespace: number;
    scope: string | null;
    treatment: string;
    algorithm: string;
    original: string;
    chosen: string;
    switches: number;
    latest_switch: { at_ns: number; reason: string } | null;
    rtt_s: number;
    srtt_s: number;
    cwnd: number;
    mss: number;
    isolated_loss: number;
    burst_loss: number;
    rate_bit_s: number | null;
    burst_bytes: number | null;
    burst_latency_s: number | null;
    stream: Stream | null;
    predicted_s: number | null;
    predicted_original_s: number | null;
    bytes_sent: number;
    bytes_retransmitted: number;
}

export interface Stream {
    demand_bit_s: number;
    latency_s: number | null;
    backlog_bytes: number;
}

export interface Switches {
    switches: Switch[];
}

export interface Switch {
    number: number;
    at_ns: number;
    local: string;
    remote: string;
    namespace: number;
    from: string;
    to: string;
    reason: string;
    observed: boolean;
    rtt_s: number;
    rate_bit_s: number | null;
    burst_bytes: number | null;
    isolated_loss: number;
    burst_loss: number;
    predicted_s: [string, number][];
    known?: KnownPath;
}

export interface KnownPath {
    age_s: number;
    rtt_s: number;
    rate_bit_s: number | null;
    window_bytes: number;
    jump_bytes: number;
    is_first_flight: boolean;
}

/** What a connection is known by; also what the agent is asked for it by. */
export function keyOf(connection: Pick<Connection, "namespace" | "local" | "remote">): string {
    return `${connection.namespace}/${connection.local}/${connection.remote}`;
}

/** Why there is no answer, in words for the reader. */
export class NoAnswer extends Error {}

const PATIENCE_MS = 10_000;

/** What the agent answers. Throws NoAnswer where it does not. */
export async function ask<T>(path: string, query: Record<string, string> = {}): Promise<T> {
    let response: Response;
    try {
        response = await fetch(`${path}?${new URLSearchParams(query)}`, {
            signal: AbortSignal.timeout(PATIENCE_MS),
            cache: "no-store",
        });
    } catch {
        throw new NoAnswer("The agent does not answer. If it was stopped, `kirikae run` starts it again.");
    }
    if (!response.ok) {
        const said = (await response.text().catch(() => "")).slice(0, 500);
        throw new NoAnswer(
            response.status === 403
                ? `The agent refuses to tell: ${said}`
                : `The agent has no answer (${response.status}): ${said}`,
        );
    }
    try {
        return (await response.json()) as T;
    } catch {
        throw new NoAnswer("The answer cannot be read. If the agent is of another version now, load this page again.");
    }
}
