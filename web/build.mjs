// Makes of src/ what the agent brings along: node build.mjs DIRECTORY
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { build } from "esbuild";

const to = process.argv[2];
await mkdir(to, { recursive: true });
// Its licence goes where uPlot goes.
const licence = await readFile("node_modules/uplot/LICENSE", "utf8");
const banner = `/*!\nuPlot, which is part of this file:\n\n${licence.trim()}\n*/`;
await build({
    entryPoints: ["src/page.ts", "src/page.css"],
    outdir: to,
    bundle: true,
    minify: true,
    charset: "utf8",
    target: ["chrome123", "firefox120", "safari17.5"],
    legalComments: "none",
    banner: { js: banner, css: banner },
});
await copyFile("src/page.html", `${to}/page.html`);
