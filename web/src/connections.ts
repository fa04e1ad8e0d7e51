/** The list of connections: filtered and sorted by the agent, chosen from here. */

import { type Connection, type Connections, keyOf } from "./api";
import { make, part, say } from "./dom";
import { bytes, count, percent, plain, span, while_ } from "./words";

interface Column {
    title: string;
    /** What the agent calls sorting by it. */
    sort: string;
    text: (connection: Connection, now_ns: number) => string;
}

/** After the first, which is the connection itself. */
const COLUMNS: Column[] = [
    { title: "Scope", sort: "scope", text: scopeOf },
    {
        title: "Algorithm",
        sort: "algorithm",
        text: ({ algorithm, chosen }) =>
            chosen && chosen !== algorithm ? `${algorithm} (choice: ${chosen})` : algorithm,
    },
    { title: "RTT", sort: "rtt", text: ({ srtt_s }) => (srtt_s > 0 ? span(srtt_s) : "–") },
    {
        title: "Isolated + burst loss",
        sort: "loss",
        text: ({ isolated_loss, burst_loss }) => `${percent(isolated_loss)} + ${percent(burst_loss)}`,
    },
    { title: "Window", sort: "cwnd", text: ({ cwnd }) => count(cwnd) },
    {
        title: "Latency",
        sort: "latency",
        text: ({ burst_latency_s, stream }) => {
            const latency_s = stream?.latency_s ?? burst_latency_s;
            return latency_s === null ? "–" : span(latency_s);
        },
    },
    { title: "Sent", sort: "sent", text: ({ bytes_sent }) => bytes(bytes_sent) },
    {
        title: "Switched",
        sort: "latest-switch",
        text: ({ switches, latest_switch }, now_ns) =>
            latest_switch === null
                ? "never"
                : `${count(switches)} ×, ${while_((now_ns - latest_switch.at_ns) / 1e9)} ago`,
    },
];

/** Its scope, and what becomes of it where that is not being switched. */
export function scopeOf({ scope, treatment }: Connection): string {
    return treatment === "switched" ? (scope ?? "") : [scope, plain(treatment)].filter(Boolean).join(", ");
}

/** How many the agent is asked for at most. */
export const LISTED = 2_000;
/** Rows at first; on a telephone the timeline is not to be far below. */
const AT_FIRST = matchMedia("(max-width: 60rem)").matches ? 5 : 12;
const MORE = 100;

interface Row {
    element: HTMLTableRowElement;
    button: HTMLButtonElement;
    cells: HTMLTableCellElement[];
}

export class List {
    /** What the agent is asked to sort by. */
    sort = "latest-switch";
    private shown = AT_FIRST;
    private readonly rows = new Map<string, Row>();
    private readonly body = make("tbody");
    private readonly heads = new Map<string, HTMLTableCellElement>();
    private latest: [Connections, string | null] | null = null;
    private readonly filter = part<HTMLInputElement>("filter");
    private readonly sorts = part<HTMLSelectElement>("sort");
    private readonly more = part<HTMLButtonElement>("more");

    /** `again` asks the agent anew, `choose` is told which one was chosen. */
    constructor(private readonly again: () => void, private readonly choose: (key: string) => void) {
        const columns = [{ title: "Connection", sort: "ends" }, ...COLUMNS];
        const head = columns.map(({ title, sort }, index) => {
            const button = make("button", { type: "button", title: `Sort by ${title}` }, title);
            button.addEventListener("click", () => this.sortBy(sort));
            const cell = make("th", { scope: "col", ...(index < 3 ? { class: "words" } : {}) }, button);
            this.heads.set(sort, cell);
            return cell;
        });
        part("connections").append(make("thead", {}, make("tr", {}, ...head)), this.body);
        this.sorts.append(...columns.map(({ title, sort }) => make("option", { value: sort }, title)));
        this.sorts.addEventListener("change", () => this.sortBy(this.sorts.value));
        this.filter.addEventListener("input", () => this.again());
        this.more.addEventListener("click", () => {
            this.shown += MORE;
            this.render();
        });
        this.markSorted();
    }

    /** What the agent is to be asked. */
    query(): Record<string, string> {
        return { limit: String(LISTED), sort: this.sort, match: this.filter.value.trim() };
    }

    private sortBy(sort: string): void {
        this.sort = sort;
        this.markSorted();
        this.again();
    }

    private markSorted(): void {
        this.sorts.value = this.sort;
        for (const [name, cell] of this.heads) {
            const order = ["ends", "scope", "algorithm"].includes(name) ? "ascending" : "descending";
            cell.ariaSort = name === this.sort ? order : "none";
        }
    }

    show(answer: Connections, chosen: string | null): void {
        this.latest = [answer, chosen];
        this.render();
    }

    private render(): void {
        if (!this.latest) return;
        const [{ connections, matching, now_ns }, chosen] = this.latest;
        const focused = document.activeElement;
        const listed = connections.slice(0, this.shown);
        const keys = new Set(listed.map(keyOf));
        for (const [key, row] of this.rows) {
            if (keys.has(key)) continue;
            row.element.remove();
            this.rows.delete(key);
        }
        for (const [index, connection] of listed.entries()) {
            const key = keyOf(connection);
            let row = this.rows.get(key);
            if (!row) this.rows.set(key, (row = this.build(key, connection)));
            row.button.ariaPressed = String(key === chosen);
            row.element.classList.toggle("chosen", key === chosen);
            for (const [at, column] of COLUMNS.entries()) say(row.cells[at]!, column.text(connection, now_ns));
            const here = this.body.children[index];
            if (here !== row.element) this.body.insertBefore(row.element, here ?? null);
        }
        // A row that is moved loses the focus.
        if (focused instanceof HTMLElement && focused.isConnected && focused !== document.activeElement) {
            focused.focus({ preventScroll: true });
        }
        const hasFilter = this.filter.value.trim() !== "";
        const of = `${count(matching)} ${hasFilter ? "that match" : "connections"}`;
        say(part("listed"), listed.length < matching ? `${count(listed.length)} of ${of}` : of);
        this.more.hidden = listed.length >= connections.length;
        part("narrow").hidden = connections.length >= matching || !this.more.hidden;
    }

    private build(key: string, { local, remote }: Connection): Row {
        const button = make("button", { type: "button" }, remote);
        button.addEventListener("click", () => this.choose(key));
        const name = make("th", { scope: "row" }, button, make("small", {}, `from ${local}`));
        const cells = COLUMNS.map(({ title }, at) =>
            make("td", { "data-title": title, ...(at < 2 ? { class: "words" } : {}) }),
        );
        return { element: make("tr", {}, name, ...cells), button, cells };
    }
}
