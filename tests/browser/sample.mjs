// sample.mjs - a workspace with some life in it, for screenshots and for looking at the page.
import { answer, at, said, writeLog as write } from './browser.mjs'

export const SAMPLE_ID = 'conv_5a00000000000001'
export const SHARED_ID = 'conv_5a00000000000002'
export const RTL_ID = 'conv_5a00000000000003'
export const PEOPLE = ['usr_default', 'usr_ada', 'usr_grace', 'usr_linus']

const REPORT = `Here is how the three regions did. **North** grew most, and its margin held.

| Region | Revenue | Growth | Margin |
|---|--:|--:|--:|
| North | 4.20 M | +18 % | 31 % |
| South | 3.10 M | +4 % | 27 % |
| West | 2.70 M | −2 % | 29 % |

The query behind it:

\`\`\`sql
SELECT region, sum(revenue) AS revenue
FROM sales
WHERE quarter = '2026-Q3'  -- the last complete one
GROUP BY region ORDER BY revenue DESC;
\`\`\`

Two things are worth a look:

1. West lost two large accounts in August.
2. South's growth is all from one reseller.

> Numbers are preliminary until the books close on the 12th.
`

function toolTurn(minute, runId) {
    const calls = [
        [
            'db__query',
            { sql: "SELECT region, sum(revenue) FROM sales WHERE quarter = '2026-Q3' GROUP BY region" },
            182,
        ],
        [
            'db__query',
            { sql: "SELECT region, sum(revenue) FROM sales WHERE quarter = '2025-Q3' GROUP BY region" },
            164,
        ],
        ['files__read', { path: 'finance/margins-2026.csv' }, 12],
    ].map(([name, input, ms], i) => ({ id: `call_${runId}_${i}`, name, input, ms }))
    const parts = [
        { type: 'text', text: 'I look at both years and the margins together.' },
        ...calls.map(({ id, name, input }) => ({ type: 'tool-call', toolCallId: id, toolName: name, input })),
    ]
    const done = calls.map(({ id, name, ms }) => ({
        ts: at(minute),
        type: 'tool.done',
        runId,
        id,
        name,
        ok: true,
        ms,
        result: { content: [{ type: 'text', text: '[{"region":"North","revenue":4200000}]' }] },
    }))
    const last = {
        ts: at(minute),
        type: 'llm.response',
        runId,
        model: 'anthropic:claude-sonnet-4-5',
        content: [{ type: 'text', text: REPORT }],
        inputTokens: 5120,
        outputTokens: 412,
        cacheReadTokens: 4096,
    }
    const events = answer(minute, runId, parts, [...done, last])
    for (const event of events) if (event.model) event.model = 'anthropic:claude-sonnet-4-5'
    return events
}

const TITLES = [
    'Release notes for 2.4',
    'Why the nightly job is slow',
    'Draft: answer to the auditors',
    'Regex for order numbers',
    'Onboarding plan for Mira',
    'Compare three vector stores',
    'Translate the menu',
    'Invoice 10442',
    'Postmortem of the outage',
]

/** As if it had happened within the last hour. */
function writeLog(workdir, id, events, header) {
    const shift = Date.now() - 3_600_000 - Date.parse(at(0))
    const recent = (ts) =>
        Date.parse(ts) > Date.parse(at(60)) ? ts : new Date(Date.parse(ts) + shift).toISOString()
    write(
        workdir,
        id,
        events.map((event) => ({ ...event, ts: recent(event.ts) })),
        header,
    )
}

export function writeSample(workdir) {
    writeLog(workdir, SAMPLE_ID, [
        said(1, 'How did the regions do last quarter, compared to the year before?'),
        ...toolTurn(2, 'run_s1'),
        said(4, 'Nice. Put the two open points into a mail to the sales leads, friendly but short.'),
        ...answer(
            5,
            'run_s2',
            'Subject: **Two things from Q3**\n\nHi all,\n\ngood quarter overall, thank you! Two points I would like to understand better before Friday:\n\n- West: what happened with the two accounts we lost in August?\n- South: how much do we depend on the one reseller?\n\nA few lines each are plenty.',
        ),
        { ts: at(6), type: 'metadata.title', title: 'Third quarter by region' },
        {
            ts: at(7),
            type: 'note',
            author: 'usr_default',
            content: 'Books close on the **12th**. Ask again then.',
        },
    ])
    writeLog(
        workdir,
        SHARED_ID,
        [
            said(11, 'We need a name for the new importer. It reads CSV, Excel and Google Sheets.'),
            ...answer(
                12,
                'run_p1',
                'A few that are free as package names: **Sluice**, **Gather**, **Rowboat**, **Inlet**.',
            ),
            said(13, 'Rowboat! Easy to say, easy to draw.', 'usr_ada'),
            said(14, 'And it does not promise too much.', 'usr_ada'),
            said(15, 'I would avoid Gather, there is a product with that name already.', 'usr_grace'),
            said(16, 'Rowboat it is, then. Can you draft two lines for the changelog?'),
            ...answer(
                17,
                'run_p2',
                '> **Rowboat**, the new importer, takes CSV, Excel and Google Sheets.\n> It shows what it will change before it changes anything.',
            ),
            { ts: at(18), type: 'metadata.title', title: 'A name for the importer' },
        ],
        { visibility: 'shared', participants: PEOPLE },
    )
    writeLog(workdir, RTL_ID, [
        said(21, 'اكتب لي قائمة قصيرة بما أحتاجه لرحلة إلى القاهرة.'),
        ...answer(
            22,
            'run_a1',
            'هذه قائمة قصيرة:\n\n1. جواز السفر، صالح ستة أشهر على الأقل\n2. ملابس خفيفة وقبعة\n3. واقي الشمس\n\nللطقس اليوم: `curl wttr.in/Cairo`',
        ),
        { ts: at(23), type: 'metadata.title', title: 'رحلة إلى القاهرة' },
    ])
    TITLES.forEach((title, i) => {
        writeLog(workdir, `conv_5b${String(i).padStart(14, '0')}`, [
            { ...said(0, title), ts: daysAgo(i * 1.4) },
            ...answer(0, `run_t${i}`, 'Done.').map((event) => weigh({ ...event, ts: daysAgo(i * 1.4) }, i)),
            { ts: daysAgo(i * 1.4), type: 'metadata.title', title },
        ])
    })
}

/** As much as real work takes, more on some days than on others. */
function weigh(event, i) {
    if (event.type !== 'llm.response') return event
    const inputTokens = 3200 + ((i * 2711) % 9000)
    return { ...event, inputTokens, outputTokens: 300 + ((i * 457) % 1400), cacheReadTokens: inputTokens >> 1 }
}

function daysAgo(days) {
    return new Date(Date.now() - days * 86_400_000).toISOString()
}
