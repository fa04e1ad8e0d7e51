/** Quantities and times as the page says them. */

function rounded(value: number, digits: number): string {
    return value.toLocaleString("en", { maximumSignificantDigits: digits, useGrouping: false });
}

/** A time span: "1.2 ms", "203 ms", "2.5 s". */
export function span(seconds: number): string {
    if (seconds < 1e-3) return `${rounded(seconds * 1e6, 2)} µs`;
    return seconds < 1 ? `${rounded(seconds * 1e3, 3)} ms` : `${rounded(seconds, 3)} s`;
}

/** How long something runs: "12 s", "3 min", "5 h 10 min", "2 d 4 h". */
export function while_(seconds: number): string {
    const whole = Math.max(0, Math.floor(seconds));
    const minutes = Math.floor(whole / 60);
    const hours = Math.floor(minutes / 60);
    if (whole < 60) return `${whole} s`;
    if (minutes < 60) return `${minutes} min`;
    if (hours < 24) return `${hours} h ${minutes % 60} min`;
    return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A share of 1: "0.12 %". */
export function percent(share: number): string {
    return share > 0 && share < 1e-4 ? "< 0.01 %" : `${rounded(Math.round(share * 1e4) / 1e2, 3)} %`;
}

function scaled(value: number, units: string[]): string {
    let unit = 0;
    while (value >= 1000 && unit + 1 < units.length) {
        value /= 1000;
        unit += 1;
    }
    return `${rounded(value, 3)} ${units[unit]}`;
}

/** "64.5 kB" */
export function bytes(value: number): string {
    return scaled(value, ["B", "kB", "MB", "GB", "TB"]);
}

/** A size that is a power of two or near it: "64 KiB". */
export function binary(value: number): string {
    if (value < 1024) return `${value} B`;
    const unit = value < 1024 ** 2 ? 1 : 2;
    return `${rounded(value / 1024 ** unit, 3)} ${["", "KiB", "MiB"][unit]}`;
}

/** "9.6 Mbit/s" */
export function rate(bits: number): string {
    return scaled(bits, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);
}

/** A whole number with its thousands apart. */
export function count(value: number): string {
    return value.toLocaleString("en");
}

/** A moment of today, seconds since 1970: "12:03:04". */
export function clock(seconds: number): string {
    const date = new Date(seconds * 1e3);
    return [date.getHours(), date.getMinutes(), date.getSeconds()]
        .map((part) => String(part).padStart(2, "0"))
        .join(":");
}

/** "predicted-latency" as words. */
export function plain(name: string): string {
    return name.replaceAll("-", " ");
}
