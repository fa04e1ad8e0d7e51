// Uses the page as a reader would, and notes what becomes of it: a line `name=value` each, in an element
// of the outermost page, which --dump-dom then shows.
const notes = top.document.createElement("pre");
notes.id = "notes";
top.document.body.append(notes);
const note = (name, value) => notes.append(`${name}=${value}\n`);
const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
const at = (id) => document.getElementById(id);

for (const fault of ["error", "unhandledrejection", "securitypolicyviolation"]) {
    addEventListener(fault, (it) => note("fault", it.message ?? it.reason ?? it.violatedDirective), true);
}

async function use() {
    await wait(5);
    note("width", innerWidth);
    note("beyond", document.documentElement.scrollWidth - document.documentElement.clientWidth);
    note("images", document.images.length);
    note("charts", document.querySelectorAll("canvas:not(.swatch)").length);
    note("chart", document.querySelector("[role=img]").ariaLabel);
    note("algorithms", [...at("bands").children].map((it) => it.textContent));
    note("first", document.querySelector("tbody button").textContent);

    document.querySelectorAll("tbody button")[1].focus();
    document.activeElement.click();
    await wait(2);
    note("chosen", at("chosen-name").textContent);
    note("focused", document.activeElement.textContent);

    at("filter").value = "held";
    at("filter").dispatchEvent(new Event("input"));
    await wait(2);
    note("filtered", at("listed").textContent);
    note("still-chosen", at("chosen-name").textContent);

    await fetch("/stop");
    await wait(3);
    note("trouble", at("trouble").hidden ? "" : at("trouble").textContent);
    note("state", at("state").textContent);
    note("done", "");
}
void use();
