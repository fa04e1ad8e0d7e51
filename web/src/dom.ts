/** Making elements. Whatever is shown gets into the page as text, never as markup. */

export type Content = Node | string;

/** An element with attributes and content. */
export function make<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    attributes: Record<string, string> = {},
    ...content: Content[]
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...content);
    return element;
}

/** The element that page.html has under this id. */
export function part<T extends HTMLElement = HTMLElement>(id: string): T {
    const element = document.getElementById(id);
    if (!element) throw new Error(`page.html has no ${id}`);
    return element as T;
}

/** Sets a text, and touches nothing where it is that already. */
export function say(element: Element, text: string): void {
    if (element.textContent !== text) element.textContent = text;
}

const shown = new WeakMap<Element, string>();

/** Fills an element anew, but only where `of`, what it is made of, has changed: so that what a reader
 *  has marked in it stays marked. */
export function fill(element: Element, of: unknown, content: () => Content[]): void {
    const made = JSON.stringify(of);
    if (shown.get(element) === made) return;
    shown.set(element, made);
    element.replaceChildren(...content());
}

/** A table with a heading for each column; columns after the first `words` are numbers. `name` is what
 *  screen readers call it. */
export function table(name: string, words: number, columns: string[], rows: Content[][]): HTMLElement {
    const kind = (column: number) => (column < words ? { class: "words" } : {});
    const head = columns.map((title, column) => make("th", { scope: "col", ...kind(column) }, title));
    const body = rows.map((row) =>
        make("tr", {}, ...row.map((cell, column) => make("td", kind(column), cell))),
    );
    const made = make(
        "table",
        {},
        make("thead", {}, make("tr", {}, ...head)),
        make("tbody", {}, ...body),
    );
    return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": name }, made);
}
