import { beforeEach, describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { SEEDED_CHECK } from '../../../../test/support/fake-checks.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

type Client = Awaited<ReturnType<typeof signedIn>>
let client: Client
let fake: Client['gateway']['checks']

beforeEach(async () => {
  client = await signedIn()
  seed(client.gateway)
  fake = client.gateway.checks
})

const CHECKS = '/console/apps/shop/checks'
const CHECK = `${CHECKS}/${SEEDED_CHECK}`
const check = () => fake.shown.checks.find(({ id }) => id === SEEDED_CHECK)!
const HTTP = {
  kind: 'http',
  name: 'Health',
  url: 'https://shop.example/health',
  method: 'GET',
  timeout_ms: '5000',
  conditions: '[STATUS] == 200\r\n\r\n  [BODY].status == UP',
  headers: 'Authorization: Bearer abc:def\r\nAccept: text/plain',
  body: '',
  interval_seconds: '300',
  failure_threshold: '2',
  success_threshold: '1',
}

describe('the tab', () => {
  test('lists each check with its state and the strip of its last results', async () => {
    const page = await client.read(CHECKS)
    expect(page).toContain(`href="${CHECK}"`)
    expect(page).toContain('aria-label="Last 30 results: 29 passed, 1 could not run"')
    expect(page).toContain('Failing')
    expect(page).toContain(`href="${CHECKS}/new?kind=http"`)
  })

  test('empty, it gives the one command that fills it', async () => {
    fake.shown.checks = []
    expect(await client.read(CHECKS)).toContain('svc apps checks add shop Health --url')
  })

  test('whoever does not work on the app reads, and is offered nothing to change', async () => {
    client.gateway.apps.data.apps.find(({ alias }) => alias === 'shop')!.my_role = null
    expect(await client.read(CHECKS)).not.toContain('New check')
    const page = await client.read(CHECK)
    for (const offer of ['Run now', 'Edit', 'Turn off', 'Add window']) expect(page).not.toContain(offer)
  })
})

describe('the editor', () => {
  test('makes a check of lines and numbers, and leads to it', async () => {
    const made = await client.post(`${CHECKS}/new`, HTTP)
    const created = fake.shown.checks.at(-1)!
    expect(made.headers.get('location')).toBe(`${CHECKS}/${created.id}`)
    expect(created).toMatchObject({
      name: 'Health',
      interval_seconds: 300,
      failure_threshold: 2,
      definition: {
        kind: 'http',
        timeout_ms: 5000,
        conditions: ['[STATUS] == 200', '[BODY].status == UP'],
        headers: { Authorization: '[hidden]', Accept: '[hidden]' },
      },
    })
  })

  const COMMON = { name: 'Another', interval_seconds: '60', failure_threshold: '3', success_threshold: '1' }

  test('has a form for log lines', async () => {
    const fields = { kind: 'logs', pattern: '/panic/', level: 'error', window_minutes: '5', max_count: '0' }
    const page = await client.read(`${CHECKS}/new?kind=logs`)
    for (const name of Object.keys(fields)) expect(page).toContain(`name="${name}"`)
    expect((await client.post(`${CHECKS}/new`, { ...COMMON, ...fields })).status).toBe(303)
    expect(fake.shown.checks.at(-1)!.definition).toMatchObject({ kind: 'logs' })
    expect(await client.read(CHECKS)).toContain('Its first run starts now')
  })

  test.each([
    ['no model', {}],
    ['the built-in rules', { enabled: true, model: 'rules' }],
    ['a model that is turned off', { enabled: false, model: 'scripted' }],
    ['a model that is gone', { enabled: true, model: 'gone' }],
  ])('with %s it offers no question, but edits one that was made by the API', async (_what, settings) => {
    Object.assign((fake.data.maintenance = { ...fake.data.maintenance }), settings)
    const definition = {
      kind: 'judge' as const,
      question: 'Is all well?',
      window_minutes: 60,
      max_tokens: 5000,
    }
    for (const path of [`${CHECKS}/new`, `${CHECKS}/new?kind=judge`]) {
      const page = await client.read(path)
      for (const words of ['kind=judge', 'name="question"']) expect(page).not.toContain(words)
    }
    const judge = { kind: 'judge', question: 'Is all well?', window_minutes: '60', max_tokens: '5000' }
    expect((await client.post(`${CHECKS}/new`, { ...COMMON, ...judge })).status).toBe(400)
    Object.assign(check(), { definition, paused: 'no_maintenance_model' })
    expect(await client.read(CHECK)).toContain(
      '<span title="The organization has no maintenance model, or has turned it off"><span class="badge badge-off">No model<',
    )
    await client.post(`${CHECK}/edit`, { ...COMMON, ...judge, question: 'Is it quiet?' })
    expect(check().definition).toMatchObject({ question: 'Is it quiet?' })
  })

  test('with a language model turned on it offers a question to it', async () => {
    fake.data.maintenance = { ...fake.data.maintenance, enabled: true, model: 'scripted' }
    expect(await client.read(`${CHECKS}/new`)).toContain('kind=judge')
    expect(await client.read(`${CHECKS}/new?kind=judge`)).toContain('name="question"')
    const judge = { kind: 'judge', question: 'Is all well?', window_minutes: '60', max_tokens: '5000' }
    await client.post(`${CHECKS}/new`, { ...COMMON, ...judge, name: 'Asked' })
    expect(fake.shown.checks.at(-1)!.definition).toMatchObject({ kind: 'judge', question: 'Is all well?' })
  })

  test('says every problem beside its field, and keeps what was typed', async () => {
    const refused = await client.post(`${CHECKS}/new`, {
      ...HTTP,
      url: 'ftp://kept.example',
      conditions: 'nonsense',
      timeout_ms: 'soon',
      interval_seconds: '1',
      name: '<b>kept</b>',
    })
    expect(refused.status).toBe(400)
    const page = await refused.text()
    expect(page).toContain('value="ftp://kept.example"')
    expect(page).toContain('&lt;b&gt;kept&lt;/b&gt;')
    expect(page).not.toContain('<b>kept</b>')
    for (const field of ['url', 'conditions', 'timeout_ms', 'interval_seconds']) {
      expect(page, field).toMatch(new RegExp(`id="${field}-about"[^]{0,80}field-problem`))
    }
  })

  test('edits one: headers are kept by their placeholder, and a taken name is refused', async () => {
    const page = await client.read(`${CHECK}/edit`)
    expect(page).toContain('value="https://shop.example/"')
    expect((await client.post(`${CHECK}/edit`, { ...HTTP, name: 'Renamed' })).headers.get('location')).toBe(
      CHECK,
    )
    expect(check()).toMatchObject({ name: 'Renamed', interval_seconds: 300 })
    expect(await client.read(`${CHECK}/edit`)).toContain('Authorization: [hidden]')
    const taken = await client.post(`${CHECKS}/new`, { ...HTTP, name: 'Renamed' })
    expect([taken.status, await taken.text()]).toEqual([
      409,
      expect.stringContaining('already has a check') as string,
    ])
  })
})

describe('one check', () => {
  test('shows its status, and its runs by result', async () => {
    const page = await client.read(CHECK)
    for (const text of [
      '[STATUS] &lt; 400',
      'A condition does not hold',
      'The name could not be looked up',
      '42 ms',
      '503',
    ])
      expect(page).toContain(text)
    const failed = await client.read(`${CHECK}?result=fail`)
    expect(failed).toContain('A condition does not hold')
    expect(failed).not.toContain('The name could not be looked up')
    expect((await client.get(`${CHECKS}/chk_${'1'.repeat(25)}`)).status).toBe(404)
  })

  test('runs now, is turned off and on, and is removed', async () => {
    await client.post(`${CHECK}/run`)
    expect(fake.data.requested).toEqual([SEEDED_CHECK])
    await client.post(`${CHECK}/switch`, { enabled: 'no' })
    expect(check().enabled).toBe(false)
    const off = await client.read(CHECK)
    expect(off).toContain('Turned off')
    expect(off).not.toContain('Run now')
    await client.post(`${CHECK}/switch`, { enabled: 'yes' })
    expect(check().enabled).toBe(true)
    const gone = await client.post(`${CHECK}/remove`)
    expect(gone.headers.get('location')).toBe(CHECKS)
    expect(check()).toBeUndefined()
  })

  test('has maintenance windows that are added and removed', async () => {
    await client.post(`${CHECK}/windows`, { from: '2026-12-01T22:00', until: '2026-12-01T23:00' })
    const window = { from: '2026-12-01T22:00:00.000Z', until: '2026-12-01T23:00:00.000Z' }
    expect(check().maintenance_windows).toEqual([window])
    await client.post(`${CHECK}/windows`, { from: '2026-12-02T23:00', until: '2026-12-02T22:00' })
    expect(check().maintenance_windows).toHaveLength(1)
    expect(await client.read(CHECK)).toContain('must end after it begins')
    // Another person adds one between this page and its form: neither is lost.
    const other = { from: '2026-12-03T22:00:00.000Z', until: '2026-12-03T23:00:00.000Z' }
    check().maintenance_windows = [window, other]
    client.gateway.data.seen.length = 0
    await client.post(`${CHECK}/windows/remove`, window)
    expect(check().maintenance_windows).toEqual([other])
    expect(client.gateway.data.seen).toContain('updateCheck')
    expect(client.gateway.data.seen).not.toContain('showCheck')
  })
})
