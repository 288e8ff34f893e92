import { beforeEach, describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { SEEDED_PIPELINE } from '../../../../test/support/fake-app-overview.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

type Client = Awaited<ReturnType<typeof signedIn>>
let client: Client

beforeEach(async () => {
  client = await signedIn()
  seed(client.gateway)
})

const TAB = '/console/apps/shop/pipelines'
const PIPELINE = `${TAB}/${SEEDED_PIPELINE}`
const pipeline = () => client.gateway.appOverview.data.pipelines[0]!
const FORM = {
  cron: '30 4 * * *',
  timezone: 'Europe/Berlin',
  grace_minutes: '5',
  timeout_minutes: '90',
  concurrency: 'queue',
  enabled: 'true',
}

describe('the tab', () => {
  test('lists pipelines with their last runs in words, and workers with whether they are there', async () => {
    const page = await client.read(TAB)
    expect(page).toContain(`href="${PIPELINE}"`)
    expect(page).toContain(
      'aria-label="Last 7 runs: 1 queued, 1 running, 1 succeeded, 1 failed, 1 skipped, 1 missed, 1 no worker"',
    )
    expect(page).toMatch(/web-1[\s\S]*Connected[\s\S]*web-2[\s\S]*Offline/)
    expect(page).toContain('New pipeline')
  })

  test('gives the command when there is none, and offers nothing to whoever has no part', async () => {
    client.gateway.appOverview.data.pipelines = []
    client.gateway.pipelines.data.workers = []
    const page = await client.read(TAB)
    expect(page).toContain('svc apps pipelines add shop nightly --cron')
    client.gateway.apps.data.apps.find(({ alias }) => alias === 'shop')!.my_role = null
    expect(await client.read(TAB)).not.toMatch(/New pipeline|svc apps pipelines add/)
  })
})

describe('one pipeline', () => {
  test('shows its runs, filtered by state, and why they did not succeed', async () => {
    const page = await client.read(PIPELINE)
    expect(page).toContain('ENOENT: no such file or directory')
    expect(page).toContain('A worker was connected, but none claimed it within the grace')
    expect(page).toContain('14 min')
    const failed = await client.read(`${PIPELINE}?state=failed`)
    expect(failed).toContain('1 in total')
    client.gateway.pipelines.data.runs[0]!.message = 'x'.repeat(1_000)
    expect(await client.read(PIPELINE)).toContain(`<p>${'x'.repeat(1_000)}</p>`)
    client.gateway.pipelines.data.runs = []
    expect(await client.read(`${PIPELINE}?state=failed`)).toContain('No runs with this state')
    expect(await client.read(PIPELINE)).toContain('No runs yet')
  })

  test('is run now, changed and removed', async () => {
    const started = await client.post(`${PIPELINE}/run`, {})
    expect(started.headers.get('location')).toBe(PIPELINE)
    expect(client.gateway.pipelines.data.runs[0]).toMatchObject({ state: 'queued', scheduled: false })
    await client.post(`${PIPELINE}/edit`, { ...FORM, enabled: '' })
    expect(pipeline()).toMatchObject({
      cron: '30 4 * * *',
      grace_minutes: 5,
      concurrency: 'queue',
      enabled: false,
    })
    await client.post(`${PIPELINE}/edit`, { ...FORM, cron: ' ' })
    expect(pipeline()).toMatchObject({ cron: null, enabled: true })
    const removed = await client.post(`${PIPELINE}/remove`, {})
    expect(removed.headers.get('location')).toBe(TAB)
    expect((await client.get(PIPELINE)).status).toBe(404)
    // A refusal is a message, not a page of its own.
    expect((await client.post(`${PIPELINE}/remove`, {})).headers.get('location')).toBe(TAB)
    expect(await client.read(TAB)).toContain('svc apps pipelines add shop nightly')
  })

  test('nobody without a part in the app is offered to change it', async () => {
    client.gateway.apps.data.apps.find(({ alias }) => alias === 'shop')!.my_role = null
    const page = await client.read(PIPELINE)
    for (const label of ['Run now', 'Edit', 'Remove pipeline']) expect(page).not.toContain(label)
  })
})

test('a new one is made, and what was typed stays when it is refused', async () => {
  const refused = await client.post(`${TAB}/new`, { ...FORM, name: 'import', cron: 'never' })
  expect(refused.status).toBe(400)
  const page = await refused.text()
  expect(page).toContain('value="never"')
  expect(page).toContain('never comes due')
  expect(page).toContain('value="import"')
  const made = await client.post(`${TAB}/new`, { ...FORM, name: 'import' })
  const created = client.gateway.appOverview.data.pipelines.at(-1)!
  expect(created).toMatchObject({ name: 'import', timezone: 'Europe/Berlin', timeout_minutes: 90 })
  expect(made.headers.get('location')).toBe(`${TAB}/${created.id}`)
})
