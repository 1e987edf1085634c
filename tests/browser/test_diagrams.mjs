// Diagrams: what is read, how it is laid out, what is done with hostile text (without a browser, from the sources), and the
// blocks of a conversation that show them.
import fs from 'node:fs'
import path from 'node:path'
import * as esbuild from 'esbuild'
import { SRC_DIR, assert, before, eventually, startServer, test, tmpdir } from '../support/tap.mjs'
import { findings, phoneSwitch } from './axe.mjs'
import { answer, answered, demoEnv, newContext, said, send, soon, withPage, writeLog } from './browser.mjs'
import { MONSTERS, SAMPLES } from './diagram_samples.mjs'

const SHOTS = process.env.DIAGRAM_SHOTS // a directory for pictures
const CONVERSATION = 'conv_9000000000000001'
const MANY = 400
let parts, server

before(async () => {
    const out = path.join(tmpdir(), 'parts.mjs')
    const names = ['diagram', 'graph/flow_parse', 'graph/class_parse', 'graph/parts', 'graph/shapes', 'charts/sequence_parse', 'charts/gantt_parse', 'layout/routes', 'layout/simplex', 'base/limits', 'turns']
    await esbuild.build({
        stdin: { contents: names.map((name) => `export * from './${name}'`).join('\n'), resolveDir: path.join(SRC_DIR, 'web/src/diagram') },
        bundle: true,
        format: 'esm',
        outfile: out,
        loader: { '.css': 'empty' },
    })
    parts = await import(out)
    const workdir = tmpdir()
    const blocks = Object.values(SAMPLES).map(({ text }) => `\`\`\`mermaid\n${text}\n\`\`\`\n`)
    const monsters = ['ten thousand nodes', 'a dense net', 'subgraphs without end'].map((name) => `\`\`\`mermaid\n${MONSTERS[name][0]}\n\`\`\`\n`)
    const hostile = '```mermaid\ngraph TD\nA["<img src=x onerror=alert(1)>"]-->|"<script>alert(2)</script>"|B[x]\nclick A call alert(3)\n```\n'
    writeLog(workdir, CONVERSATION, [said(1, 'draw'), ...answer(2, 'run_1', blocks.join('\nText between them.\n\n'))])
    writeLog(workdir, 'conv_9000000000000002', [said(1, 'draw'), ...answer(2, 'run_1', [...monsters, hostile, '```mermaid\nnonsense\n```'].join('\n'))])
    const ids = (letter, n) => Array.from({ length: n }, (_, i) => letter + i).join('&')
    const nets = Array.from({ length: MANY }, (_, i) => `\`\`\`mermaid\ngraph TD\n${ids('a', 12)}-->|${i}|${ids('b', 12)}\n\`\`\`\n`)
    writeLog(workdir, 'conv_9000000000000003', [said(1, 'draw'), ...answer(2, 'run_1', nets.join('\n'))])
    server = await startServer({ env: demoEnv(), workdir })
})

/** Letters of one width. */
const measure = (text, size) => text.length * size * 0.55
/** The clock of a layout: with the real one, a busy or slow machine would give up what is drawn elsewhere. */
function withClock(now, fn) {
    const real = performance.now
    performance.now = now
    try {
        return fn()
    } finally {
        performance.now = real
    }
}

/** Its clock stands still: only the ceilings of size end a layout. */
const drawingOf = (text) => withClock(() => 0, () => parts.sceneOf(text, measure))
const sceneOf = (text) => drawingOf(text).scene
const STOPPED = { isLate: false }
const textsOf = ({ items }) => items.flatMap((item) => (item.type === 'text' ? [item.text] : []))
const flow = (body) => parts.parseFlow('TD', body)
const isUnreadable = (text) => assert.throws(() => sceneOf(text), parts.Unreadable, text)

test('flowcharts: shapes, and labels with quotes, brackets, line breaks, entities and marks', () => {
    const { nodes } = flow(`a[rect] --> b(round) --> c([stadium]) --> d[[sub]] --> e[(data)] --> f((circle)) --> g{choice}
        g --> h{{hex}} --> i[/lean/] --> j>flag] --> k(((double))) --> l[/trap\\] --> m[\\funnel/] --> n[\\back\\]
        o["quoted (with) [brackets] #quot;and#quot; &amp; #35;1"] --> p[a (b) c<br/>second<br>third] --> q["\`**bold** text\`"] --> r[fa:fa-car Car]
        s@{ shape: cyl, label: "By name" } --> t:::green`)
    const shapes = [...nodes.values()].map(({ shape }) => shape)
    assert.deepEqual(shapes.slice(0, 14), [
        'rect', 'round', 'stadium', 'subroutine', 'cylinder', 'circle', 'diamond', 'hexagon', 'lean-right', 'flag', 'double', 'trapezoid', 'funnel', 'lean-left',
    ])
    const label = (id) => nodes.get(id).label
    assert.equal(label('o'), 'quoted (with) [brackets] "and" & #1')
    assert.equal(label('p'), 'a (b) c\nsecond\nthird')
    assert.equal(label('q'), 'bold text')
    assert.equal(label('r'), 'Car')
    assert.deepEqual([label('s'), nodes.get('s').shape, label('t')], ['By name', 'cylinder', 't'])
})

test('flowcharts: edges of all kinds, their labels in both forms, chains and lists', () => {
    const kinds = (body) => flow(body).edges.map(({ from, to, line, tail, head, label }) => [from, to, line, tail, head, label].join(' ').trim())
    assert.deepEqual(kinds('A-->B---C-.->D==>E<-->F--oG--xH~~~I'), [
        'A B solid none arrow', 'B C solid none none', 'C D dotted none arrow', 'D E thick none arrow', 'E F solid arrow arrow', 'F G solid none circle', 'G H solid none cross', 'H I hidden none none',
    ])
    assert.deepEqual(kinds('A -- one two --> B\nA -->|three| C\nA -. four .-> D == five ==> E -- "six -- x" --- F'), [
        'A B solid none arrow one two', 'A C solid none arrow three', 'A D dotted none arrow four', 'D E thick none arrow five', 'E F solid none none six -- x',
    ])
    assert.deepEqual(kinds('A & B --> C & D;'), ['A C solid none arrow', 'A D solid none arrow', 'B C solid none arrow', 'B D solid none arrow'])
    assert.deepEqual(kinds('api-x-->my-node\nx-->o %% comment\no o--o x'), ['api-x my-node solid none arrow', 'x o solid none arrow', 'o x solid circle circle'])
    assert.deepEqual(flow('A---->B').edges[0].length, 3)
})

test('flowcharts: subgraphs, their titles and directions; an edge may lead to one of them', () => {
    const graph = flow('A-->two\nsubgraph one [First one]\ndirection LR\nA-->B\nend\nsubgraph two\nC\nsubgraph "In it"\nD\nend\nend\nsubgraph empty\nend')
    assert.deepEqual([...graph.groups.values()].map(({ id, label, parent, direction }) => [id, label, parent, direction]), [
        ['one', 'First one', null, 'LR'],
        ['two', 'two', null, null],
        ['In it', 'In it', 'two', null],
    ])
    assert.deepEqual([...graph.nodes].map(([id, { group }]) => [id, group]), [['A', 'one'], ['B', 'one'], ['C', 'two'], ['D', 'In it'], ['empty', null]])
})

test('every sample shows its texts; front matter, directives and comments are not among them', () => {
    for (const [name, { text, shows }] of Object.entries(SAMPLES)) {
        const texts = textsOf(sceneOf(`---\ntitle: Named\nconfig:\n  theme: dark\n---\n%%{init: {'theme': 'dark'}}%%\n%% a comment\n${text}\n`))
        for (const shown of [...shows, 'Named']) assert.ok(texts.includes(shown), `${name}: ${shown} in ${texts}`)
        assert.ok(!texts.some((line) => /a comment|theme|%%/.test(line)), name)
    }
})

test('a description of the author is the name of the picture', () => {
    const { name } = drawingOf('graph TD\naccTitle: Flow of money\naccDescr: From A to B\nA-->B')
    assert.equal(name, 'Flow of money. From A to B')
    assert.equal(drawingOf('graph TD\nA[One]-->B[Two]').name, 'One, Two')
})

test('what is not understood is not drawn', () => {
    for (const text of ['', 'hello', 'sankey-beta\na,b,1', 'graph TD\nsubgraph a\nb\nend\na-->b', 'graph TD', 'graph TD\nA->B', 'graph TD\nA[open', 'graph TD\nsubgraph a\nA', 'graph TD\nend', 'graph TD\nA --> ', 'sequenceDiagram', 'sequenceDiagram\nA says B', 'sequenceDiagram\nloop x\nA->>B: y'])
        isUnreadable(text)
    for (const text of ['stateDiagram-v2\nA -> B', 'classDiagram\nclass A {', 'classDiagram\nA <- B', 'erDiagram\nA --> B', 'erDiagram\nA {\n}\n}', 'pie', 'pie\n"a" : x', 'pie\n"a" : 0', 'gantt\nA : soon, 3d', 'gantt\nA : after b, 3d', 'mindmap', 'mindmap\na\nb', 'timeline', 'gitGraph', 'gitGraph\nmerge x', 'quadrantChart\nA: [2, 3]', 'xychart-beta\nbar [a]', 'journey\nTask'])
        isUnreadable(text)
})

test('classes: members, generics, relations with numbers; statements may follow a direction', () => {
    const { nodes, edges } = parts.parseClass('class A~T~ {\n~Map~String, List~int~~ all\n+find(List~T~ of)$ T\n}\nA "1" *-- "0..n" B : has\nB ..|> `C d`\nB : +size() int\n<<enum>> B')
    assert.deepEqual([...nodes.values()].map(({ label, above, sections }) => [label, above, sections.flat(2)]), [
        ['A<T>', '', ['~Map<String, List<int>> all', '+find(List<T> of)$ T']],
        ['B', '«enum»', ['+size() int']],
        ['C d', '', []],
    ])
    assert.deepEqual(edges.map(({ from, to, tail, head, line, tailLabel, headLabel, label }) => [from, to, tail, head, line, tailLabel, headLabel, label]), [
        ['A', 'B', 'filled', 'none', 'solid', '1', '0..n', 'has'],
        ['B', 'C d', 'none', 'open', 'dotted', '', '', ''],
    ])
    assert.deepEqual(textsOf(sceneOf('graph LR; A-->B; B-->C')), ['A', 'B', 'C'])
})

test('sequences: arrows, activations, notes, blocks and numbers', () => {
    const { people, steps } = parts.parseSequence('participant a-b as Long name\nactor C\na-b->>+C: one: two\nC--x-a-b: \nC-)D: x; y\nD->>D: self\nNote right of D: n\nautonumber 5\nrect rgb(1,2,3)\nC->a-b: y\nend')
    assert.deepEqual(people.map(({ id, label, isActor }) => [id, label, isActor]), [['a-b', 'Long name', false], ['C', 'C', true], ['D', 'D', false]])
    const messages = steps.filter(({ type }) => type === 'message').map(({ from, to, text, isDotted, head, number }) => [from, to, text, isDotted, head, number])
    assert.deepEqual(messages, [[0, 1, 'one: two', false, 'arrow', ''], [1, 0, '', true, 'cross', ''], [1, 2, 'x; y', false, 'open', ''], [2, 2, 'self', false, 'arrow', ''], [1, 0, 'y', false, 'none', '5']])
    assert.deepEqual(steps.filter(({ type }) => /activate|open|close/.test(type)).map(({ type }) => type), ['activate', 'deactivate', 'open', 'close'])
})

test('plans: dates, durations, dependencies and weekends', () => {
    const day = (text) => Date.parse(`${text}T00:00Z`)
    const { tasks } = parts.parseGantt('dateFormat DD.MM.YYYY\nexcludes weekends\nA : a1, 05.01.2024, 2d\nB : after a1, 1d\nC : 1w\nD : crit, done, 01.02.2024, 03.02.2024\nE : 05.02.2024, until f1\nF : f1, 07.02.2024, 1d')
    assert.deepEqual(tasks.map(({ start, end }) => [start, end]), [
        [day('2024-01-05'), day('2024-01-09')], // Friday and Monday
        [day('2024-01-09'), day('2024-01-10')],
        [day('2024-01-10'), day('2024-01-19')],
        [day('2024-02-01'), day('2024-02-03')],
        [day('2024-02-05'), day('2024-02-07')],
        [day('2024-02-07'), day('2024-02-08')],
    ])
    assert.deepEqual([tasks[3].isCritical, tasks[3].isDone], [true, true])
    const texts = textsOf(sceneOf('gantt\nA : 2020-03-10, 2023-09-01'))
    assert.deepEqual(texts, ['2020-07', '2021-01', '2021-07', '2022-01', '2022-07', '2023-01', '2023-07', 'A'])
})

// ---- the layout ----

let state = 1
const random = (n) => (state = (state * 48_271) % 2_147_483_647) % n

/** Nodes of random sizes, some of them in groups. */
function randomGraph(nodes, edges, groups, direction) {
    const lines = [`direction ${direction}`]
    for (let g = 0; g < groups; g++) {
        const isNested = g % 3 === 2
        lines.push(`subgraph g${g} [Group ${g}]`, ...(isNested ? [`subgraph h${g}`] : []))
        for (let i = 0; i < 3; i++) lines.push(`n${g * 3 + i}`)
        lines.push('end', ...(isNested ? ['end'] : []))
    }
    for (let i = 0; i < edges; i++) lines.push(`n${random(nodes)} -->${random(3) === 0 ? '|label|' : ''} n${random(nodes)}`)
    if (groups > 1) lines.push('g0 --> g1')
    return flow(lines.join('\n'))
}

const overlap = (a, b, gap = 0) => a.x < b.x + b.width + gap && b.x < a.x + a.width + gap && a.y < b.y + b.height + gap && b.y < a.y + a.height + gap
const contains = (outer, inner) => inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width && inner.y + inner.height <= outer.y + outer.height

test('nodes and groups never overlap, groups contain what is theirs, edges keep away from other nodes', () => {
    for (let round = 0; round < 60; round++) {
        const direction = ['TB', 'LR', 'BT', 'RL'][round % 4]
        const graph = randomGraph(6 + random(14), 4 + random(20), round % 3, direction)
        const sizes = new Map([...graph.nodes.keys()].map((id) => [id, { width: 40 + random(120), height: 30 + random(50) }]))
        const label = { lines: ['label'], width: 40, height: 16, size: 13, isBold: false }
        const placed = parts.arrange(
            graph,
            { node: (id) => ({ ...sizes.get(id), reach: () => 15 }), title: () => label, label: ({ label: text }) => (text ? label : { ...label, lines: [], width: 0, height: 0 }) },
            STOPPED,
        )
        const boxes = new Map([...placed.nodes].map(([id, { x, y }]) => [id, { x: x - sizes.get(id).width / 2, y: y - sizes.get(id).height / 2, ...sizes.get(id) }]))
        const all = [...boxes]
        all.forEach(([a, box], i) => all.slice(i + 1).forEach(([b, other]) => assert.ok(!overlap(box, other, 10), `${round}: ${a} and ${b}`)))
        for (const [group, box] of placed.groups) {
            for (const [id, inner] of [...boxes, ...placed.groups]) {
                if (id === group || graph.isIn(group, id)) continue
                if (graph.isIn(id, group)) assert.ok(contains(box, inner), `${round}: ${id} in ${group}`)
                else assert.ok(!overlap(box, inner), `${round}: ${id} beside ${group}`)
            }
        }
        for (const { edge, label: at } of placed.edges) {
            if (!at) continue
            const text = { x: at.x - 20, y: at.y - 8, width: 40, height: 16 }
            for (const [id, box] of boxes) assert.ok(!overlap(text, box), `${round}: the label of ${edge.from}-${edge.to} on ${id}`)
        }
    }
})

test('an edge between a group and something that has to be beside it', () => {
    const { items } = sceneOf('stateDiagram-v2\nstate Active {\na1 --> a2\n}\na1 --> Idle\nIdle --> a2\nActive --> Idle')
    assert.equal(items.filter(({ class: name }) => name === 'dg-head').length, 4)
    isUnreadable('stateDiagram-v2\nstate Active {\na1 --> a2\n}\nActive --> a1')
})

test('edges begin and end at the border of shapes', () => {
    for (const shape of ['[x]', '{x}', '((x))', '{{x}}', '[(x)]', '[/x/]', '([x])']) {
        const { items } = sceneOf(`graph TD\nA[above]-->B${shape}`)
        const head = items.find(({ class: name }) => name === 'dg-head')
        const [tipX, tipY] = head.d.match(/-?[\d.]+/g).map(Number)
        const middle = items.findLast(({ type, text }) => type === 'text' && text === 'x')
        const { lines, ...label } = { lines: ['x'], width: Math.ceil(14 * 0.55), height: 19, size: 14, isBold: false }
        const size = parts.sizeOf({ '[x]': 'rect', '{x}': 'diamond', '((x))': 'circle', '{{x}}': 'hexagon', '[(x)]': 'cylinder', '[/x/]': 'lean-right', '([x])': 'stadium' }[shape], { lines, ...label }, false)
        assert.ok(Math.abs(tipX - middle.x) < 1, shape)
        assert.ok(Math.abs(tipY - (middle.y - 5 - size.height / 2)) < 9, `${shape}: ${tipY} ${middle.y} ${size.height}`)
    }
})

test('ports keep their order and distance; the solver finds the least sum', () => {
    assert.deepEqual(parts.spreadOut([0, 0, 0], 50), [-14, 0, 14])
    assert.deepEqual(parts.spreadOut([-40, 40], 50), [-40, 40])
    assert.deepEqual(parts.spreadOut([49, 50], 50), [36, 50])
    const link = (from, to, length, weight) => ({ from, to, length, weight })
    // 0 → 1 → 2 and 0 → 3 → 2, where 1 → 2 is long: 3 is close to 0 because that edge is heavy.
    assert.deepEqual(parts.solve(4, [link(0, 1, 1, 1), link(1, 2, 5, 1), link(0, 3, 1, 9), link(3, 2, 1, 1)], STOPPED), [0, 1, 6, 1])
    assert.throws(() => parts.solve(2, [link(0, 1, 1, 1), link(1, 0, 1, 1)], STOPPED), parts.Unreadable)
})

test('hostile diagrams end soon, as a drawing or as their source', () => {
    for (const [name, [text, isDrawn]] of Object.entries(MONSTERS)) {
        const began = process.cpuUsage()
        let scene = null
        try {
            scene = sceneOf(text)
        } catch (error) {
            assert.ok(error instanceof parts.Unreadable, `${name}: ${error.stack}`)
        }
        assert.equal(scene !== null, isDrawn, name)
        const { user, system } = process.cpuUsage(began)
        assert.ok(user + system < 30e6, name) // microseconds; quadratic work would take minutes
    }
})

test('a description without end is not looked for from every line', () => {
    const described = (words) => `graph TD\naccDescr {\n${words}\n}\nA-->B`
    const lines = (n) => Array.from({ length: n }, () => 'nine words').join('\n')
    assert.match(drawingOf(described(lines(100))).name, /nine words/)
    isUnreadable(described(lines(300))) // it ends beyond the limit, so it is not one
})

/** A clock that only pauses and work move, and the order in which things were worked on. */
function turnsOf(msOf) {
    const done = []
    let now = 0
    const time = {
        now: () => now,
        pause: async (ms) => {
            now += ms
            await null
        },
    }
    const turns = new parts.Turns((key) => {
        now += msOf(key)
        done.push(key)
        if (key === 'broken') throw new Error(key)
    }, time)
    return { turns, done, now: () => now }
}

/** The pauses are over as soon as there is nothing else to do. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('however many diagrams there are, drawing them takes a fifth of the time, and unseen ones end', async () => {
    const { turns, done, now } = turnsOf(() => 500)
    for (let i = 0; i < 400; i++) turns.add(`far ${i}`)
    await settled()
    assert.equal(done.length, 6, 'three seconds of work for what nobody looks at')
    assert.equal(now(), 6 * 500 * 5)
    for (let i = 0; i < 10; i++) turns.add(`near ${i}`, true)
    turns.add('far again')
    await settled()
    assert.deepEqual(done.slice(6), Array.from({ length: 10 }, (_, i) => `near ${i}`))
    assert.equal(now(), 16 * 500 * 5)
})

test('diagrams near the window come first; one that fails or is not wanted any more does not hold up others', async () => {
    const { turns, done } = turnsOf(() => 10)
    for (const key of ['a', 'broken', 'b', 'c', 'd']) turns.add(key)
    turns.add('c', true)
    turns.drop('b')
    await settled()
    assert.deepEqual(done, ['c', 'a', 'broken', 'd'])
    turns.add('e')
    await settled()
    assert.deepEqual(done.slice(4), ['e'])
})

test('diagrams that are known are shown immediately, until their copies take too long', () => {
    const { turns, done } = turnsOf(() => 20)
    const shown = Array.from({ length: 400 }, (_, i) => turns.takeNow(i)).filter(Boolean).length
    assert.deepEqual([shown, done.length], [7, 7])
})

test('a layout that takes too long is not improved any more, and given up in the end', () => {
    const [text] = MONSTERS['fewer nodes, each with every other']
    /** How often the clock is looked at when each look finds it so many milliseconds later. */
    const looks = (ms) => {
        let n = 0
        withClock(() => ms * n++, () => parts.sceneOf(text, measure))
        return n
    }
    assert.ok(looks(5) < looks(0))
    assert.throws(() => looks(100), parts.Unreadable)
})

test('damaged diagrams are drawn or not, and have no places that are not numbers', () => {
    const texts = Object.values(SAMPLES).map(({ text }) => text)
    const pieces = ['-->', '"', '[', ']', '(', '{', '}', '|', '&', ':', ';', '\n', 'end', 'subgraph x', '<|--', '[*]', '~', '%%', '@{', ':::', '__proto__', 'loop', 'state A {']
    let drawn = 0
    for (let round = 0; round < 600; round++) {
        let text = texts[round % texts.length]
        for (let change = random(4); change >= 0; change--) {
            const at = random(text.length)
            const lines = text.split('\n')
            if (change % 2 === 0) text = text.slice(0, at) + pieces[random(pieces.length)] + text.slice(at + random(4))
            else text = lines.toSpliced(random(lines.length), random(2), lines[random(lines.length)]).join('\n')
        }
        try {
            const { items } = sceneOf(text)
            assert.doesNotMatch(JSON.stringify(items), /NaN|Infinity|null|undefined/, text)
            drawn++
        } catch (error) {
            assert.ok(error instanceof parts.Unreadable, `${text}\n${error.stack}`)
        }
    }
    assert.ok(drawn > 50, `${drawn} drawn`)
})

// ---- in the page ----

const figures = (page) => page.locator('figure.code')

test('the blocks of a conversation are pictures with names; axe finds nothing, on a phone either', () =>
    withPage(`${server.url}/#/c/${CONVERSATION}`, { hasSlowClock: true, reducedMotion: 'reduce' }, async (page) => {
        await answered(page, 1)
        const count = Object.keys(SAMPLES).length
        await soon(async () => assert.equal(await page.locator('figure.is-diagram svg[role=img]').count(), count))
        const names = await page.locator('svg[role=img]').evaluateAll((all) => all.map((svg) => svg.getAttribute('aria-label')))
        for (const name of names) assert.match(name, /^Diagram: \S/)
        assert.equal(await page.locator('.diagram [style]:not(svg)').count(), 0)
        const sizes = await page.locator('.diagram').evaluateAll((all) => all.map((e) => ({ box: e.clientWidth, column: e.closest('.md').clientWidth })))
        for (const { box, column } of sizes) assert.ok(box <= column, 'wide ones scroll in their own box')
        assert.deepEqual(await findings(page), [])
        await shoot(page, 'desktop')
        const phone = await phoneSwitch(page)
        await phone.on()
        assert.deepEqual(await findings(page), [], 'on a phone')
        await shoot(page, 'phone')
    }))

/** Every diagram as a picture, for people who look at them. */
async function shoot(page, place) {
    if (!SHOTS) return
    for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme })
        await page.locator(`html[data-theme=${colorScheme}]`).waitFor()
        for (const [i, name] of Object.keys(SAMPLES).entries()) await figures(page).nth(i).screenshot({ path: path.join(SHOTS, `${place}-${colorScheme}-${name}.png`) })
    }
}

test('source and diagram, copy, download, full size, print', () =>
    withPage(`${server.url}/#/c/${CONVERSATION}`, { hasSlowClock: true, reducedMotion: 'reduce', permissions: ['clipboard-read', 'clipboard-write'] }, async (page) => {
        await answered(page, 1)
        const figure = figures(page).first()
        await figure.locator('svg[role=img]').waitFor()
        assert.equal(await figure.locator('pre').isVisible(), false)
        const source = figure.getByRole('button', { name: 'Show source' })
        await source.click()
        assert.equal(await source.getAttribute('aria-pressed'), 'true')
        assert.match(await figure.locator('pre').innerText(), /Is it working\?/)
        assert.equal(await figure.locator('svg[role=img]').isVisible(), false)
        assert.equal(await figure.getByRole('button', { name: 'Download as SVG' }).isVisible(), false)
        await source.click()
        assert.equal(await figure.locator('svg[role=img]').isVisible(), true)
        await figure.getByRole('button', { name: 'Copy code' }).click()
        await soon(async () => assert.equal(await page.evaluate(() => navigator.clipboard.readText()), SAMPLES.decision.text))

        const downloading = page.waitForEvent('download')
        await figure.getByRole('button', { name: 'Download as SVG' }).click()
        const download = await downloading
        assert.equal(download.suggestedFilename(), 'diagram.svg')
        const saved = fs.readFileSync(await download.path(), 'utf8')
        assert.match(saved, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/)
        assert.match(saved, />Is it working\?<\/text>/)
        assert.doesNotMatch(saved, /class=|style=|color\(|var\(/, 'it needs nothing of the page')

        await figure.getByRole('button', { name: 'Show in full size' }).click()
        const dialog = page.getByRole('dialog', { name: 'Diagram' })
        const width = () => dialog.locator('svg[role=img]').evaluate((svg) => svg.clientWidth)
        await dialog.locator('svg[role=img]').waitFor()
        const before_ = await width()
        await dialog.getByRole('button', { name: 'Larger' }).click()
        await soon(async () => assert.ok((await width()) > before_))
        assert.deepEqual(await findings(page), [])
        await page.keyboard.press('Escape')
        await soon(async () => assert.equal(await dialog.count(), 0))
        await page.emulateMedia({ media: 'print' })
        assert.equal(await figure.locator('svg[role=img]').isVisible(), true)
    }))

test('a diagram in an answer that was just written', () =>
    withPage(server.url, { hasSlowClock: true }, async (page) => {
        await send(page, 'draw a diagram')
        await answered(page, 1)
        await page.getByRole('img', { name: /^Diagram: .*conversation and tools/ }).waitFor()
    }))

test('hostile diagrams in a conversation: what cannot be drawn is its source, and text stays text', () =>
    withPage(`${server.url}/#/c/conv_9000000000000002`, { hasSlowClock: true }, async (page) => {
        await answered(page, 1)
        await soon(async () => {
            const states = await figures(page).evaluateAll((all) => all.map((e) => e.classList.contains('is-diagram')))
            assert.deepEqual(states, [false, true, false, true, false])
        })
        const texts = await figures(page).nth(3).locator('svg text').allTextContents()
        assert.ok(texts.join(' ').includes('<img src=x onerror=alert(1)>'), texts.join(' '))
        assert.equal(await page.locator('.md img, .md script, svg a, svg foreignObject').count(), 0)
        assert.match(await figures(page).nth(4).locator('pre').innerText(), /nonsense/)
    }))

test('hundreds of slow diagrams: those in view are drawn, and those of a conversation that was left are not', async () => {
    const own = await newContext()
    const page = await own.newPage()
    await page.addInitScript(() => {
        globalThis.pictures = 0
        const { cloneNode } = Node.prototype
        Node.prototype.cloneNode = function (...args) {
            if (this.classList?.contains('dg')) globalThis.pictures++
            return cloneNode.apply(this, args)
        }
    })
    await page.goto(`${server.url}/#/c/conv_9000000000000003`)
    await answered(page, 1)
    await figures(page).last().locator('svg[role=img]').waitFor()
    assert.equal(await figures(page).count(), MANY)
    await page.getByRole('button', { name: 'New chat' }).first().click()
    await page.locator('.welcome').waitFor()
    await soon(async () => assert.equal(await figures(page).count(), 0))
    const before_ = await page.evaluate(() => globalThis.pictures)
    assert.ok(before_ > 0)
    for (const n of [1, 2, 3]) {
        await send(page, `say ${n}`)
        await answered(page, n)
    }
    assert.equal(await page.evaluate(() => globalThis.pictures), before_)
    await page.goto(`${server.url}/#/c/conv_9000000000000003`)
    await answered(page, 1)
    await figures(page).first().evaluate((figure) => figure.scrollIntoView())
    await figures(page).first().locator('svg[role=img]').waitFor()
    await own.close()
})

test('a block that still grows is source; it is drawn when it has ended, also in a list', async () => {
    const { outputFiles } = await esbuild.build({
        entryPoints: [path.join(SRC_DIR, 'web/src/markdown/view.ts')],
        bundle: true,
        write: false,
        format: 'iife',
        globalName: 'nbMarkdown',
        loader: { '.css': 'empty' },
        logOverride: { 'empty-import-meta': 'silent' },
    })
    const own = await newContext({ hasSlowClock: true })
    const page = await own.newPage()
    await page.goto(server.url)
    await page.locator('.welcome').waitFor()
    await page.evaluate(`${outputFiles[0].text}; globalThis.nbMarkdown = nbMarkdown`)
    const update = (text, isOpen) =>
        page.evaluate(
            ([t, open]) => {
                globalThis.view ??= new globalThis.nbMarkdown.MarkdownView()
                document.body.append(globalThis.view.element)
                globalThis.view.update(t, open)
                return globalThis.view.element.querySelectorAll('svg[role=img]').length
            },
            [text, isOpen],
        )
    const drawn = (n) => eventually(async () => (await page.evaluate(() => globalThis.view.element.querySelectorAll('svg[role=img]').length)) === n)
    const block = '```mermaid\ngraph TD\nA-->B\n'
    assert.equal(await update(block, true), 0)
    assert.equal(await update(`${block}B-->C\n\`\`\`\n`, true), 0, 'more may follow')
    await update(`${block}B-->C\n\`\`\`\n\nand`, true)
    await drawn(1)
    const list = `${block}B-->C\n\`\`\`\n\n1. a\n\n   \`\`\`mermaid\n   graph TD\n   C-->D\n   \`\`\`\n2. b`
    await update(list, true)
    await drawn(2)
    assert.equal(await update(`${list} and more`, true), 2, 'a list that grows is drawn again, with what is known immediately')
    assert.equal(await update(`${list} and more`, false), 2)
    await own.close()
})
