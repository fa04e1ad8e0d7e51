/** Round trip, losses and window of one connection over time, above each other, with the algorithm in
 *  use behind them. */

import uPlot from "uplot";

import type { Band } from "./bands";
import { make, say } from "./dom";
import { hatching } from "./hatching";
import type { Column, Series } from "./history";
import { clock, percent, span } from "./words";

interface Curve {
    column: Column;
    name: string;
}

interface Plot {
    title: string;
    curves: [Curve, ...Curve[]];
    say: (value: number) => string;
    /** Upper end of the axis, where all values are below it. */
    atLeast: number;
}

const PLOTS: Plot[] = [
    {
        title: "Round trip",
        curves: [{ column: "srtt_s", name: "smoothed" }, { column: "rtt_s", name: "lowest of late" }],
        say: span,
        atLeast: 0.001,
    },
    {
        title: "Losses",
        curves: [{ column: "isolated_loss", name: "isolated" }, { column: "burst_loss", name: "in bursts" }],
        say: percent,
        atLeast: 0.001,
    },
    {
        title: "Congestion window",
        curves: [{ column: "cwnd", name: "segments" }],
        say: (value) => value.toLocaleString("en", { maximumFractionDigits: 0 }),
        atLeast: 10,
    },
];

const HEIGHT = 150;
/** The first has the names of the bands above it. */
const NAMES_HEIGHT = 22;
const AXIS_WIDTH = 64;
/** Seconds that are shown at least. */
const SHORTEST = 60;
const DASHES = [[], [6, 4]];

/** What is drawn on each plot. Times in seconds since 1970. */
export interface Drawn {
    series: (column: Column) => Series;
    bands: Band[];
    names: string[];
    /** Switches by their number in the list beside the plots. */
    marks: { number: number; at_s: number; observed: boolean }[];
    now_s: number;
}

export class Charts {
    private readonly plots: uPlot[];
    private drawn: Drawn | null = null;

    constructor(private readonly place: HTMLElement) {
        this.plots = PLOTS.map((plot, index) => this.build(plot, index));
        new ResizeObserver(() => {
            for (const [index, plot] of this.plots.entries()) plot.setSize(this.size(index));
        }).observe(place);
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
            for (const plot of this.plots) plot.redraw(false);
        });
    }

    draw(drawn: Drawn): void {
        this.drawn = drawn;
        for (const [index, plot] of this.plots.entries()) {
            const series = PLOTS[index]!.curves.map((curve) => drawn.series(curve.column));
            plot.setData([series[0]!.times, ...series.map((it) => it.values)]);
        }
    }

    private size(index: number): { width: number; height: number } {
        const width = Math.max(200, this.place.clientWidth);
        return { width, height: HEIGHT + (index === 0 ? NAMES_HEIGHT : 0) };
    }

    private build(plot: Plot, index: number): uPlot {
        const values = plot.curves.map(() => make("b"));
        const key = plot.curves.map((curve, at) =>
            make("span", {}, make("i", { class: at === 0 ? "solid" : "dashed" }), `${curve.name} `, values[at]!),
        );
        const picture = make("div", { role: "img" });
        this.place.append(make("figure", {}, make("figcaption", {}, make("strong", {}, plot.title), ...key), picture));

        // What is under the cursor, or else the latest.
        const tell = (chart: uPlot) => {
            const said = plot.curves.map((_, at) => {
                const data = chart.data[at + 1] ?? [];
                const value = chart.cursor.idx == null ? latest(data) : data[chart.cursor.idx];
                return value == null ? "–" : plot.say(value);
            });
            for (const [at, text] of said.entries()) say(values[at]!, text);
            const named = plot.curves.map((curve, at) => `${curve.name} ${said[at]}`);
            picture.setAttribute("aria-label", `${plot.title} over time; ${named.join(", ")}`);
        };
        const ink = () => style("--faint");
        const axis = { stroke: ink, grid: { stroke: () => style("--line"), width: 1 }, ticks: { show: false } };
        const options: uPlot.Options = {
            ...this.size(index),
            padding: [index === 0 ? NAMES_HEIGHT : 6, 28, 0, 0],
            legend: { show: false },
            cursor: { sync: { key: "connection" }, drag: { x: false, y: false }, y: false },
            scales: {
                x: {
                    range: (_, from) => {
                        const now = this.drawn?.now_s ?? 0;
                        return [Math.min(from ?? now, now - SHORTEST), now];
                    },
                },
                y: { range: (_, __, to) => [0, Math.max(plot.atLeast, (to ?? 0) * 1.1)] },
            },
            axes: [
                { ...axis, size: 30, space: 90, values: (_, times) => times.map(clock) },
                { ...axis, size: AXIS_WIDTH, space: 34, values: (_, numbers) => numbers.map(plot.say) },
            ],
            series: [
                {},
                ...plot.curves.map((curve, at) => ({
                    label: curve.name,
                    stroke: () => style(at === 0 ? "--first" : "--second"),
                    width: 2,
                    dash: DASHES[at]!,
                    points: { show: false },
                })),
            ],
            hooks: {
                drawClear: [(chart) => this.drawBands(chart, index === 0)],
                draw: [(chart) => this.drawMarks(chart)],
                setCursor: [tell],
                setData: [tell],
            },
        };
        return new uPlot(options, [[], ...plot.curves.map(() => [])], picture);
    }

    /** The algorithms in use, below everything else; where there is room for it, with their names. */
    private drawBands(chart: uPlot, isNamed: boolean): void {
        const { ctx, bbox } = chart;
        const scale = devicePixelRatio;
        ctx.save();
        ctx.font = `${12 * scale}px system-ui, sans-serif`;
        ctx.textAlign = "left";
        ctx.textBaseline = "bottom";
        for (const band of this.drawn?.bands ?? []) {
            const from = Math.max(bbox.left, chart.valToPos(band.from_s, "x", true));
            const to = Math.min(bbox.left + bbox.width, chart.valToPos(band.to_s, "x", true));
            if (to <= from) continue;
            ctx.fillStyle = hatching(ctx, band.algorithm);
            ctx.fillRect(from, bbox.top, to - from, bbox.height);
            const name = this.drawn?.names[band.algorithm] ?? "";
            if (isNamed && ctx.measureText(name).width < to - from) {
                ctx.fillStyle = style("--ink");
                ctx.fillText(name, from, bbox.top - 3 * scale);
            }
        }
        ctx.restore();
    }

    /** Switches, above everything else: a line, dashed where the switch was only observed. */
    private drawMarks(chart: uPlot): void {
        const { ctx, bbox } = chart;
        const scale = devicePixelRatio;
        ctx.save();
        ctx.font = `600 ${11 * scale}px system-ui, sans-serif`;
        ctx.textAlign = "center";
        ctx.textBaseline = "middle";
        ctx.lineWidth = 1.5 * scale;
        for (const { number, at_s, observed } of this.drawn?.marks ?? []) {
            const x = chart.valToPos(at_s, "x", true);
            if (x < bbox.left || x > bbox.left + bbox.width) continue;
            ctx.strokeStyle = style("--ink");
            ctx.setLineDash(observed ? [3 * scale, 3 * scale] : []);
            ctx.beginPath();
            ctx.moveTo(x, bbox.top);
            ctx.lineTo(x, bbox.top + bbox.height);
            ctx.stroke();
            const width = ctx.measureText(String(number)).width + 8 * scale;
            const left = Math.min(x, bbox.left + bbox.width - width);
            ctx.fillStyle = style("--ink");
            ctx.fillRect(left, bbox.top, width, 16 * scale);
            ctx.fillStyle = style("--paper");
            ctx.fillText(String(number), left + width / 2, bbox.top + 8 * scale);
        }
        ctx.restore();
    }
}

function latest(values: ArrayLike<number | null | undefined>): number | null {
    return values[values.length - 1] ?? null;
}

/** A colour of page.css, for the scheme in use. */
function style(name: string): string {
    const probe = probes.get(name) ?? probeOf(name);
    return getComputedStyle(probe).color;
}

const probes = new Map<string, HTMLElement>();

/** light-dark() is resolved on elements only. */
function probeOf(name: string): HTMLElement {
    const probe = make("span", { hidden: "" });
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    probes.set(name, probe);
    return probe;
}
