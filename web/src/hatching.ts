/** How algorithms are told apart: by a colour and, for whoever sees no colours, by a hatching. */

/** Okabe and Ito's colours, which differ for colour-blind readers, too. */
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800"];
const TILE = 8;

/** Strokes within a tile, from corner to corner: x, y, x, y. */
const HATCHINGS: [number, number, number, number][][] = [
    [],
    [[0, TILE, TILE, 0]],
    [[0, TILE / 2, TILE, TILE / 2]],
    [[0, 0, TILE, TILE]],
    [[TILE / 2, 0, TILE / 2, TILE]],
    [[0, TILE, TILE, 0], [0, 0, TILE, TILE]],
    [[0, TILE / 2, TILE, TILE / 2], [TILE / 2, 0, TILE / 2, TILE]],
];

function nth<T>(list: T[], index: number): T {
    return list[index % list.length]!;
}

/** The colour of an algorithm, by its number. */
export function colour(algorithm: number): string {
    return nth(COLOURS, algorithm);
}

/** What the area of an algorithm is filled with, faint enough to have curves upon it. */
export function hatching(context: CanvasRenderingContext2D, algorithm: number): CanvasPattern | string {
    const scale = devicePixelRatio;
    const tile = document.createElement("canvas");
    tile.width = tile.height = Math.round(TILE * scale);
    const inner = tile.getContext("2d")!;
    inner.scale(tile.width / TILE, tile.height / TILE);
    inner.globalAlpha = 0.16;
    inner.fillStyle = inner.strokeStyle = colour(algorithm);
    inner.fillRect(0, 0, TILE, TILE);
    inner.globalAlpha = 0.5;
    inner.lineCap = "square";
    for (const [x, y, toX, toY] of nth(HATCHINGS, algorithm)) {
        inner.beginPath();
        inner.moveTo(x, y);
        inner.lineTo(toX, toY);
        inner.stroke();
    }
    return context.createPattern(tile, "repeat") ?? colour(algorithm);
}

/** A small picture of it for a key. */
export function swatch(algorithm: number): HTMLCanvasElement {
    const [width, height] = [32, 16];
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    canvas.className = "swatch";
    canvas.setAttribute("aria-hidden", "true");
    const context = canvas.getContext("2d")!;
    context.fillStyle = hatching(context, algorithm);
    context.fillRect(0, 0, canvas.width, canvas.height);
    return canvas;
}
