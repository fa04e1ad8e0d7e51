/** Counts, what bursts took, and the policy in force. */

import type { Bursts, GroupGuarding, PathMemory, Scope, Status } from "./api";
import { type Content, fill, make, part, say, table } from "./dom";
import { binary, count, plain, span, while_ } from "./words";

export function showStatus(status: Status): void {
    say(part("agent"), `version ${status.version}, running for ${while_(status.up_s)}`);
    const switches: Record<string, number> = { ...status.switches };
    if (status.observed > 0) switches["only observed"] = status.observed;
    if (status.events_lost > 0) switches["made, and not reported"] = status.events_lost;
    const made = Object.values(status.switches).reduce((sum, it) => sum + it, 0);
    const { runs, time } = status.cost;
    fill(part("counts"), [status, Math.floor(status.up_s / 60)], () => [
        counted("Connections", status.connections, status.by_algorithm, "by algorithm"),
        counted("Treatment", null, status.by_treatment, "of connections"),
        counted("Switches", made, switches, "by reason"),
        counted("Known paths", status.paths.known, begun(status.paths), "as new connections used them"),
        ...(runs > 0
            ? [
                  make(
                      "div",
                      { class: "count" },
                      make("h3", {}, "Cost"),
                      make("p", { class: "figure" }, span((time.secs + time.nanos / 1e9) / runs)),
                      make("p", { class: "faint" }, `a run of the switcher, of ${count(runs)}`),
                  ),
              ]
            : []),
    ]);
    fill(part("bursts"), status.bursts, () => (status.bursts.length > 0 ? [bursts(status.bursts)] : []));
    part("no-bursts").hidden = status.bursts.length > 0;
    const { file, generation, scopes } = status.policy;
    const from = file === null ? "From the command line." : `From ${file}`;
    const again = generation > 1 ? `, read again ${count(generation - 1)} ×` : "";
    say(part("policy-file"), from + again);
    fill(part("policy"), scopes, () => scopes.map(scope));
}

/** New connections whose path was known. */
function begun({ hits, jumps, first_flights, retreats }: PathMemory): Record<string, number> {
    if (hits === 0) return {};
    return { "were known": hits, "began by a jump": jumps, "with a first flight": first_flights, retreated: retreats };
}

function counted(title: string, total: number | null, counts: Record<string, number>, by: string): HTMLElement {
    const entries = Object.entries(counts).sort(([, a], [, b]) => b - a);
    const most = Math.max(1, ...entries.map(([, it]) => it));
    return make(
        "div",
        { class: "count" },
        make("h3", {}, title),
        ...(total === null ? [] : [make("p", { class: "figure" }, count(total))]),
        make(
            "ul",
            { "aria-label": `${title} ${by}` },
            ...entries.map(([name, it]) => {
                const bar = make("i", { "aria-hidden": "true" });
                bar.style.width = `${(100 * it) / most}%`;
                return make("li", {}, make("span", {}, plain(name)), make("b", {}, count(it)), bar);
            }),
        ),
    );
}

function bursts(all: Bursts[]): Content {
    return table(
        "Bursts",
        3,
        ["Scope", "Connections", "Burst", "How many", "Mean", "Half of them below", "95 % below"],
        all.map((it) => [
            it.scope,
            it.switched ? "switched" : "stock",
            it.below_bytes === null ? "larger" : `below ${binary(it.below_bytes)}`,
            count(it.count),
            span(it.mean_s),
            span(it.p50_s),
            span(it.p95_s),
        ]),
    );
}

function suspended({ cgroup, says }: GroupGuarding): Content {
    return make("strong", {}, `${cgroup}: ${says}; only observed, \`kirikae resume\` switches again.`);
}

function scope({ name, matches, algorithms, settings, guard }: Scope): Content {
    return make(
        "li",
        {},
        make("strong", {}, name),
        make("span", {}, matches),
        make("span", {}, `may choose ${algorithms.join(", ")}`),
        ...settings.map((it) => make("span", { class: "setting" }, it)),
        ...(guard ? [make("span", {}, guard.says)] : []),
        ...(guard?.suspended
            ? [make("strong", {}, "Only observed because of that; `kirikae resume` switches again.")]
            : []),
        ...(guard?.cgroups ?? []).filter((it) => it.suspended_since !== undefined).map(suspended),
    );
}
