// build-web.mjs WEB_DIR OUT_DIR DEPFILE [--gallery] - web/ → OUT_DIR/dist → OUT_DIR/assets.c
//
// --gallery adds src/gallery/gallery.html, for people who work on the page.
//
// Every web/*.html is a page. A reference to /src/... in it (script, stylesheet) is an entry
// point for esbuild and is replaced by the hashed name of the bundle, relative to the page,
// so that it can be hosted below a sub-path. Files of web/public/ are served as they are,
// under their own names, and the manual of docs/ below /docs. Nothing is inlined: the page's
// Content-Security-Policy allows no inline script or style.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { gzipSync, constants } from 'node:zlib'
import * as esbuild from 'esbuild'

const [webDir, outDir, depfile] = process.argv.slice(2, 5).map((p) => path.resolve(p))
const distDir = path.join(outDir, 'dist')
const publicDir = path.join(webDir, 'public')
const REFERENCE = /\b(src|href)="\/(src\/[^"]+)"/g
const GZIP_MIN_SAVING = 256 // bytes; below, the header costs more than it saves

const MIME = {
    '.css': 'text/css; charset=utf-8',
    '.gif': 'image/gif',
    '.html': 'text/html; charset=utf-8',
    '.ico': 'image/x-icon',
    '.jpg': 'image/jpeg',
    '.js': 'text/javascript; charset=utf-8',
    '.json': 'application/json',
    '.png': 'image/png',
    '.svg': 'image/svg+xml',
    '.txt': 'text/plain; charset=utf-8',
    '.webmanifest': 'application/manifest+json',
    '.webp': 'image/webp',
    '.woff2': 'font/woff2',
}

const inputs = new Set([webDir]) // a new file in a listed directory changes the directory
const pages = fs.readdirSync(webDir).filter((name) => name.endsWith('.html'))
if (pages.length === 0) fail(`${webDir} has no .html page`)

const sources = new Map(pages.map((name) => [name, read(path.join(webDir, name))]))
if (process.argv[5] === '--gallery') sources.set('gallery.html', read(path.join(webDir, 'src/gallery/gallery.html')))
fs.rmSync(distDir, { recursive: true, force: true })
fs.mkdirSync(distDir, { recursive: true })
// Each page alone: code that two of them share would be cut out into a file that both load.
const bundles = new Map()
for (const html of sources.values()) for (const [entry, file] of await bundle(entryPoints(html))) bundles.set(entry, file)
for (const [name, html] of sources) {
    const page = html.replace(REFERENCE, (_, attribute, entry) => `${attribute}=".${bundles.get(entry)}"`)
    fs.writeFileSync(path.join(distDir, name), page)
}
copyPublic(publicDir)
addManual()
fs.writeFileSync(path.join(outDir, 'assets.c'), source(list(distDir).map(describe)))
fs.writeFileSync(depfile, dependencies())

function fail(message) {
    console.error(`build-web: ${message}`)
    process.exit(1)
}

function read(file) {
    inputs.add(file)
    return fs.readFileSync(file, 'utf8')
}

function entryPoints(html) {
    return [...html.matchAll(REFERENCE)].map((match) => match[2])
}

// A stylesheet that is loaded later is one file with all that it imports; what imports it gets its address.
function lazyStyles() {
    const load = async ({ path: file }) => {
        const { outputFiles, metafile } = await esbuild.build({
            absWorkingDir: webDir,
            entryPoints: [file],
            bundle: true,
            minify: true,
            write: false,
            metafile: true,
            target: 'es2022',
        })
        for (const input of Object.keys(metafile.inputs)) inputs.add(path.resolve(webDir, input))
        return { contents: outputFiles[0].contents, loader: 'file' }
    }
    return { name: 'lazy styles', setup: ({ onLoad }) => onLoad({ filter: /\.lazy\.css$/ }, load) }
}

// Returns the map from entry point to the path it is served under.
async function bundle(entries) {
    const result = await esbuild
        .build({
            absWorkingDir: webDir,
            entryPoints: [...new Set(entries)],
            outdir: path.join(distDir, 'assets'),
            entryNames: '[name]-[hash]',
            chunkNames: '[name]-[hash]',
            assetNames: '[name]-[hash]',
            bundle: true,
            minify: true,
            splitting: true,
            format: 'esm',
            target: 'es2022',
            legalComments: 'none',
            metafile: true,
            loader: { '.svg': 'file', '.png': 'file', '.woff2': 'file' },
            plugins: [lazyStyles()],
        })
        .catch(() => process.exit(1)) // esbuild has printed where and why
    for (const input of Object.keys(result.metafile.inputs)) inputs.add(path.resolve(webDir, input))

    const bundles = new Map()
    for (const [output, { entryPoint }] of Object.entries(result.metafile.outputs)) {
        if (entryPoint) bundles.set(entryPoint, '/' + path.relative(distDir, path.resolve(webDir, output)))
    }
    return bundles
}

function copyPublic(dir) {
    if (!fs.existsSync(dir)) return
    fs.cpSync(dir, distDir, { recursive: true })
    inputs.add(dir)
    for (const entry of fs.readdirSync(dir, { recursive: true })) inputs.add(path.join(dir, entry))
}

// The manual at /docs, from the same pages as `make site`.
function addManual() {
    const root = path.resolve(webDir, '..')
    const site = path.join(root, 'scripts/site.mjs')
    execFileSync(process.execPath, [site, path.join(distDir, 'docs'), '--embedded'], { stdio: 'inherit' })
    const documents = fs.readdirSync(path.join(root, 'docs')).filter((name) => /\.(md|svg)$/.test(name)).map((name) => `docs/${name}`)
    for (const name of [site, 'docs', ...documents, 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'examples/README.md']) inputs.add(path.resolve(root, name))
}

function list(dir) {
    return fs
        .readdirSync(dir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name))
}

function describe(file) {
    const servedAs = '/' + path.relative(distDir, file)
    const mime = MIME[path.extname(file)]
    if (!mime) fail(`${servedAs}: no MIME type for this extension; add it to scripts/build-web.mjs`)

    const bytes = fs.readFileSync(file)
    const gzip = gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION })
    const gzipFile = gzip.length + GZIP_MIN_SAVING <= bytes.length ? `${file}.gz` : null
    if (gzipFile) fs.writeFileSync(gzipFile, gzip)
    return {
        path: servedAs,
        mime,
        etag: createHash('sha256').update(bytes).digest('hex').slice(0, 16),
        file,
        size: bytes.length,
        gzipFile,
        gzipSize: gzip.length,
        isImmutable: servedAs.startsWith('/assets/'),
    }
}

// One C file: the bytes by .incbin, so that the compiler never reads them, and the table.
function source(assets) {
    assets.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
    const declarations = []
    const embed = (symbol, file) =>
        declarations.push(
            `__asm__(".pushsection .rodata\\n.balign 16\\n${symbol}:\\n.incbin " ${quote(quote(file))} "\\n.popsection");`,
            `extern const char ${symbol}[];`,
        )
    const rows = assets.map((asset, i) => {
        embed(`asset_${i}`, asset.file)
        if (asset.gzipFile) embed(`asset_${i}_gz`, asset.gzipFile)
        const gzip = asset.gzipFile ? `{asset_${i}_gz, ${asset.gzipSize}}` : '{NULL, 0}'
        return (
            `    {STR_INIT(${quote(asset.path)}), STR_INIT(${quote(asset.mime)}), ` +
            `STR_INIT(${quote(`"${asset.etag}"`)}),\n     {asset_${i}, ${asset.size}}, ${gzip}, ${asset.isImmutable}},`
        )
    })
    return [
        '#include "http/assets.h"',
        ...declarations,
        'static const struct asset items[] = {',
        ...rows,
        '};',
        'extern const struct asset_table assets_embedded;',
        `const struct asset_table assets_embedded = {items, ${assets.length}};`,
        '',
    ].join('\n')
}

function quote(text) {
    return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function dependencies() {
    const escape = (file) => file.replace(/[ #$\\]/g, '\\$&')
    // ninja knows its output by the path relative to the build directory, where it runs us.
    const target = path.relative(process.cwd(), path.join(outDir, 'assets.c'))
    return `${escape(target)}: ${[...inputs, import.meta.filename].sort().map(escape).join(' ')}\n`
}
