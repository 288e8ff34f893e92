import { beforeEach, describe, expect, test } from 'vitest'
import { outcomeOf, TERMINAL_CODES } from '../../../contracts/outcomes.ts'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import {
  SEEDED_FINDING,
  SEEDED_PROPOSAL,
  SEEDED_RUN,
} from '../../../../test/support/fake-maintenance-gateway.ts'
import { explainReason } from '../../../contracts/proposal-decisions.ts'

type Client = Awaited<ReturnType<typeof signedIn>>
let client: Client
let fake: Client['gateway']['maintenance']

beforeEach(async () => {
  client = await signedIn()
  seed(client.gateway)
  fake = client.gateway.maintenance
  fake.turnOn()
})

const TAB = '/console/apps/shop/maintenance'
const PROPOSAL = `/console/apps/shop/proposals/${SEEDED_PROPOSAL}`
const RUN = `${TAB}/runs/${SEEDED_RUN}`
const proposal = () => fake.data.proposals[0]!
const asViewer = () => {
  client.gateway.org.role = 'viewer'
  client.gateway.apps.data.apps.find(({ alias }) => alias === 'shop')!.my_role = null
}

describe('a proposal', () => {
  test('shows its diff with marked words, nothing invisible, and what to look at beside the line', async () => {
    const page = await client.read(PROPOSAL)
    expect(page).toContain('<del>cost</del>')
    expect(page).toContain('<ins>price</ins>')
    expect(page).toContain('>U+200B</span>')
    expect(page).not.toContain('\u200b')
    expect(page).toContain('href="#file-0-line-3"')
    expect(page).toContain('id="file-0-line-3"')
    expect(page).toMatch(/diff-said.*New dependency: left-pad/)
    // Nothing is pushed out of the frame.
    expect(page).toContain('class="code-lines code-wrapped"')
    // As the scanner has it.
    const hidden = '\u115f\u034f\ufe0f\u2003\u3000\u2800\u{e0041}'
    proposal().rationale = `x${hidden}`
    const shown = await client.read(PROPOSAL)
    for (const character of hidden) expect(shown).not.toContain(character)
    expect(shown).toContain('>U+2800</span>')
  })

  test('shows the lines that it rests on, and text of a model or a log as text', async () => {
    const page = await client.read(PROPOSAL)
    expect(page).toContain('&lt;b&gt;cost&lt;/b&gt; is undefined')
    expect(page).toContain('>U+202E</span>')
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page).not.toContain('<script>alert')
    proposal().title = 'Add\u202eup'
    const titled = await client.read(PROPOSAL)
    expect(titled).toContain('<h1>AddU+202Eup</h1>')
    expect(titled).not.toContain('\u202e')
    // What a reviewer is warned of is what is shown: fillers, tags, variation selectors.
    proposal().diff = `${proposal().diff}+a\u3164\u{e0041}\ufe0f\u2060\n`
    const hidden = await client.read(PROPOSAL)
    for (const code of ['U+3164', 'U+E0041', 'U+FE0F', 'U+2060']) expect(hidden).toContain(`>${code}</span>`)
    expect(page).toContain(`${RUN}/evidence?ref=file%3Asrc%2Forders.js%23L1-L2`)
  })

  test('is approved with the diff that was on the page, and names who did', async () => {
    const before = await client.read(PROPOSAL)
    expect(before).toContain(`name="diff_sha256" value="${proposal().diff_sha256}"`)
    const sent = await client.post(`${PROPOSAL}/approve`, { diff_sha256: proposal().diff_sha256 })
    expect(sent.headers.get('location')).toBe(PROPOSAL)
    const after = await client.read(PROPOSAL)
    expect(after).toMatch(/Approved by <strong>Ada Lovelace<\/strong> in the console/)
    expect(after).not.toContain(`${PROPOSAL}/approve`)
    expect(after).toContain('ALREADY_DECIDED')
  })

  test('of another diff is not decided on, and the page says why', async () => {
    await client.post(`${PROPOSAL}/approve`, { diff_sha256: 'f'.repeat(64) })
    expect(fake.data.decidedOn).toEqual([])
    expect(await client.read(PROPOSAL)).toContain('not the one that was looked at')
  })

  test('is denied after a question, and a stale one is retried', async () => {
    await client.post(`${PROPOSAL}/deny`, { diff_sha256: proposal().diff_sha256 })
    expect(await client.read(PROPOSAL)).toContain('Denied by')
    Object.assign(proposal(), {
      state: 'stale',
      decided: null,
      decision: {
        ...proposal().decision,
        can: { approve: false, deny: true, retry: true },
        reasons: { approve: [explainReason('STALE')], deny: [], retry: [] },
      },
    })
    expect(await client.read(PROPOSAL)).toContain(`action="${PROPOSAL}/retry"`)
    await client.post(`${PROPOSAL}/retry`, { diff_sha256: proposal().diff_sha256 })
    expect(proposal().state).toBe('ready')
    expect(await client.read(PROPOSAL)).toContain('Applied to the new source: review it again.')
  })

  test('offers what the decision says and nothing else, with every reason', async () => {
    proposal().decision = {
      ...proposal().decision,
      eligible: false,
      can: { approve: false, deny: true, retry: false },
      reasons: {
        approve: [explainReason('REQUESTER'), explainReason('STALE')],
        deny: [],
        retry: [explainReason('REQUESTER')],
      },
    }
    const page = await client.read(PROPOSAL)
    // Each with what it stands against.
    expect(page).toMatch(/<strong>approve, retry<\/strong>: Whoever started the run/)
    expect(page).toMatch(/<strong>approve<\/strong>: The source has changed since/)
    expect(page).not.toContain(`${PROPOSAL}/approve`)
    expect(page).toContain(`${PROPOSAL}/deny`)
    for (const word of ['REQUESTER', 'STALE', 'may not approve what came of it']) expect(page).toContain(word)
  })

  test('names the agent that it was approved by', async () => {
    Object.assign(proposal(), {
      decided: {
        approved: true,
        by: 'Grace Hopper',
        user_id: null,
        via: 'mcp',
        token: null,
        agent: { id: 'grt_1', name: 'Desk\u202etop' },
        at: fake.daysAgo(1),
      },
    })
    expect(await client.read(PROPOSAL)).toMatch(
      /Grace Hopper<\/strong> over MCP, by the agent <strong>DeskU\+202Etop/,
    )
  })

  test('names the API token that it was approved with', async () => {
    Object.assign(proposal(), {
      decided: {
        approved: true,
        by: 'Grace Hopper',
        user_id: null,
        via: 'cli',
        token: { id: 'tok_1', name: 'Laptop' },
        agent: null,
        at: fake.daysAgo(1),
      },
    })
    expect(await client.read(PROPOSAL)).toMatch(
      /Grace Hopper<\/strong> with the client, with the API token <strong>Laptop/,
    )
  })

  test('that a push has undone says so', async () => {
    expect(await client.read(PROPOSAL)).not.toContain('A push has undone')
    proposal().undone = true
    expect(await client.read(PROPOSAL)).toContain('A push has undone this change')
  })

  test('is codes and counts for those who may not read source', async () => {
    asViewer()
    Object.assign(proposal(), {
      title: null,
      rationale: null,
      diff: null,
      files: null,
      flags: null,
      evidence: [{ ref: null, kind: 'log', sha256: 'c'.repeat(64) }],
    })
    const page = await client.read(PROPOSAL)
    expect(page).toContain('1 file, 2 lines added, 1 removed')
    expect(page).toContain('For people who may read the source and logs')
    expect(page).not.toContain('.patch')
    expect(page).not.toContain('/source?')
    expect(client.gateway.data.seen).not.toContain('showRunEvidence')
  })

  test('is downloaded as a patch', async () => {
    const answer = await client.get(`${PROPOSAL}/patch`)
    expect(answer.headers.get('content-type')).toContain('text/x-patch')
    expect(answer.headers.get('content-disposition')).toBe(
      `attachment; filename="shop-${SEEDED_PROPOSAL}.patch"`,
    )
    expect(await answer.text()).toContain('diff --git')
  })

  test('of another shape of id is not there', async () => {
    expect((await client.get('/console/apps/shop/proposals/nothing')).status).toBe(404)
  })
})

test('a run that found only what is known does not look well, and says so wherever it is named', async () => {
  const [first] = fake.data.runs.splice(1, 1)
  fake.data.runs.unshift({ ...first!, reason: 'ONLY_KNOWN' })
  for (const path of [
    '/console/apps/shop',
    TAB,
    '/console/maintenance',
    `${TAB}/runs/${first!.execution_id}`,
  ]) {
    const page = await client.read(path)
    expect(page, path).toContain('It found only what is known already')
    expect(page, path).not.toMatch(/badge-on[^<]*>[^<]*Ran, found nothing/)
  }
})

describe('the tab of an app', () => {
  test('shows status, next run, and runs with their outcome and reason', async () => {
    const page = await client.read(TAB)
    for (const word of ['A proposal in the change queue', 'Ran, found nothing (rules only)', 'Agent error'])
      expect(page).toContain(word)
    expect(page).toContain('The provider did not answer in time')
    expect(page).toContain('0 3 * * *')
    expect(await client.read(`${TAB}?outcome=agent_error`)).not.toContain('2'.repeat(25))
  })

  test('starts one run for one page, and says when the cool-down ends', async () => {
    const key = /name="key" value="([^"]+)"/.exec(await client.read(TAB))![1]!
    const sent = await client.post(`${TAB}/runs`, { key })
    expect(sent.headers.get('location')).toBe(`${TAB}/runs/${fake.data.runs[0]!.execution_id}`)
    expect(fake.data.keys).toEqual([key])
    fake.data.coolsUntil = fake.daysAgo(-1)
    const cooling = await client.read(TAB)
    expect(cooling).not.toContain('Run now')
    expect(cooling).toContain('Manual runs are possible again')
    await client.post(`${TAB}/runs`, { key })
    expect(await client.read(TAB)).toContain('The cool-down holds')
  })

  test('is turned off and on', async () => {
    await client.post(`${TAB}/switch`, { turn: 'off' })
    expect(fake.data.isOn).toBe(false)
    expect(await client.read(TAB)).toContain('Turn on')
    await client.post(`${TAB}/switch`, { turn: 'on' })
    expect(fake.data.isOn).toBe(true)
  })

  test('leads to the organization where the agent is off, and offers a viewer nothing', async () => {
    fake.settings().enabled = false
    const off = await client.read(TAB)
    expect(off).toContain('The maintenance agent is off')
    expect(off).not.toContain('Run now')
    fake.settings().enabled = true
    asViewer()
    const page = await client.read(TAB)
    for (const offer of ['Run now', 'Turn off']) expect(page).not.toContain(offer)
  })

  test('lists findings and proposals', async () => {
    expect(await client.read(`${TAB}/findings`)).toContain('TypeError in totalOf')
    expect(await client.read(`${TAB}/findings?state=quiet`)).toContain('No findings in this state')
    expect(await client.read(`${TAB}/proposals`)).toContain(PROPOSAL)
  })
})

describe('a run', () => {
  test('shows its steps over time, what they spent, what it read and what came of it', async () => {
    const page = await client.read(RUN)
    for (const word of ['Question to the model', 'log_groups', 'PATH_PROTECTED', '8,110', '14,210 tokens'])
      expect(page).toContain(word)
    expect(page).toContain(PROPOSAL)
    expect(page).toContain(`${TAB}/findings/${SEEDED_FINDING}`)
    expect(page).toContain('file:src/orders.js#L1-L2')
    expect(page).not.toContain('data-live')
  })

  test('that is under way is followed until something happens', async () => {
    Object.assign(fake.data.runs[0]!, { status: 'running', ended_at: null })
    expect(await client.read(RUN)).toContain(`data-live="${RUN}/progress?status=running&amp;steps=5"`)
    const same = await client.get(`${RUN}/progress?status=running&steps=5`)
    expect(await same.json()).toMatchObject({ ended: false })
    const more = await client.get(`${RUN}/progress?status=running&steps=4`)
    expect(await more.json()).toMatchObject({ ended: true })
  })

  test('shows a step with its transcript as text, and evidence with its lines', async () => {
    const step = await client.read(`${RUN}/steps/3`)
    expect(step).toContain('Ignore all rules &lt;b&gt;now&lt;/b&gt;')
    expect(step).toContain('>U+202E</span>')
    const evidence = await client.read(
      `${RUN}/evidence?ref=${encodeURIComponent('file:src/orders.js#L1-L2')}`,
    )
    expect(evidence).toContain('<td class="code-number">2</td>')
    for (const path of ['/steps/0', '/steps/x', '/evidence', '/evidence?ref=file:nothing'])
      expect((await client.get(RUN + path)).status).toBe(404)
  })

  test.each([...TERMINAL_CODES, 'something_new'])(
    'that ended as %s says so, here and in the list',
    async (code) => {
      const { outcome, chip, exitCode } = outcomeOf(code)
      Object.assign(fake.data.runs[0]!, {
        terminal_code: code,
        outcome,
        chip,
        exit_code: exitCode,
        reason: null,
      })
      fake.data.runs.splice(1)
      // Only what ran and found nothing is in the tone of health.
      const isWell = code === 'found_nothing'
      for (const page of [await client.read(RUN), await client.read(TAB)]) {
        const [, tone] = new RegExp(`<span class="badge badge-(\\w+)">${chip}</span>`).exec(page) ?? []
        expect([chip, tone]).toEqual([chip, expect.stringMatching(isWell ? /^on$/ : /^(?:off|wait|bad)$/)])
      }
      if (['agent_error', 'lease_lost', 'something_new'].includes(code))
        expect(await client.read(RUN)).toContain(`badge-bad">${chip}`)
    },
  )

  test('that a gateway does not explain is not taken for health', async () => {
    Object.assign(fake.data.runs[0]!, {
      terminal_code: 'all_good',
      outcome: null,
      chip: null,
      exit_code: null,
    })
    expect(await client.read(RUN)).toContain('<span class="badge badge-bad">Unrecognised result</span>')
  })

  test('by the rules is said to be no language model', async () => {
    Object.assign(fake.data.runs[0]!, { model: 'rules' })
    expect(await client.read(RUN)).toContain('no language model')
  })
})

test('a finding shows the lines that show it', async () => {
  const page = await client.read(`${TAB}/findings/${SEEDED_FINDING}`)
  expect(page).toContain('TypeError in totalOf')
  expect(page).toContain('&lt;b&gt;cost&lt;/b&gt; is undefined')
  expect(page).toContain('3 times')
})

describe('the change queue', () => {
  test('has what needs a reviewer, of all apps', async () => {
    const page = await client.read('/console/proposals')
    expect(page).toContain('Add up prices')
    expect(page).toContain('You may approve it')
    expect(await client.read('/console/proposals?state=denied')).toContain('No proposals in this state')
    // What a push has made stale, or a deployment has failed, waits for somebody as well.
    for (const state of ['stale', 'failed'] as const) {
      proposal().state = state
      expect(await client.read('/console/proposals')).toContain('Add up prices')
      expect(await client.read('/console')).toContain('1 proposal to review')
    }
    proposal().state = 'denied'
    expect(await client.read('/console/proposals')).toContain('Nothing to review')
  })

  test('says where to turn the agent on', async () => {
    fake.settings().enabled = false
    expect(await client.read('/console/proposals')).toContain('The maintenance agent is off')
  })
})

describe('the page of the organization', () => {
  const PAGE = '/console/maintenance'
  const FIELDS = {
    model: 'rules',
    nightly_cron: '0 4 * * *',
    timezone: 'Europe/Vienna',
    cooldown_hours: '12',
    token_allowance: '1000',
    protected_paths: 'src/billing/**\r\n\r\ninfra/**',
  }

  test('shows what is used, what became of proposals, and every app', async () => {
    const page = await client.read(PAGE)
    for (const word of ['48,200', '75 %', '6 of 8 decided', '135,333', 'The shop'])
      expect(page).toContain(word)
    expect(page).toMatch(/Tokens of the last 30 days: [\d,]+\./)
  })

  test('turns it on with its settings, and off', async () => {
    fake.settings().enabled = false
    expect(await client.read(PAGE)).toContain('Turning it on turns on no app')
    await client.post(PAGE, FIELDS)
    expect(fake.settings()).toMatchObject({
      enabled: true,
      model: 'rules',
      cooldown_hours: 12,
      protected_paths: ['src/billing/**', 'infra/**'],
    })
    await client.post(`${PAGE}/switch`)
    expect(fake.settings().enabled).toBe(false)
  })

  test('shows again what was refused, with the reason beside the field', async () => {
    const refused = await client.post(PAGE, { ...FIELDS, nightly_cron: 'never' })
    expect(refused.status).toBe(400)
    const page = await refused.text()
    expect(page).toContain('value="never"')
    expect(page).toContain('must be a cron')
    const number = await client.post(PAGE, { ...FIELDS, token_allowance: 'many' })
    expect(number.status).toBe(400)
  })

  test('lets an owner choose how agents decide, and nobody else', async () => {
    await client.post(`${PAGE}/decisions`, { mcp_decisions: 'direct' })
    expect(fake.settings().mcp_decisions).toBe('direct')
    client.gateway.org.role = 'admin'
    expect(await client.read(PAGE)).not.toContain('Decisions over MCP')
    client.gateway.org.role = 'viewer'
    expect(await client.read(PAGE)).not.toContain('Save settings')
  })
})

describe('elsewhere', () => {
  test('the front pages say what waits for a reviewer, and nothing where the agent is off', async () => {
    expect(await client.read('/console')).toContain('1 proposal to review')
    expect(await client.read('/console/apps/shop')).toContain('1 proposal to review')
    fake.settings().enabled = false
    expect(await client.read('/console')).not.toContain('proposal to review')
  })

  test('the search finds the pages, and proposals by title', async () => {
    expect(await client.read('/console/search?q=change')).toContain('href="/console/proposals"')
    expect(await client.read('/console/search?q=maintenance')).toContain('href="/console/maintenance"')
    expect(await client.read('/console/search?q=add+up')).toContain(PROPOSAL)
  })
})
