import { beforeEach, describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'

type Client = Awaited<ReturnType<typeof signedIn>>
let client: Client
let data: Client['gateway']['appSource']['data']

beforeEach(async () => {
  client = await signedIn()
  seed(client.gateway)
  data = client.gateway.appSource.data
})

const TAB = '/console/apps/shop/deployments'
const pathOf = (at: number) => `${TAB}/${data.deployments[at]!.id}`
const work = (role: 'builder' | null) => {
  client.gateway.apps.data.apps.find(({ alias }) => alias === 'shop')!.my_role = role
}

describe('the tab', () => {
  test('lists deployments with their state and reason, filters them, and offers to deploy and to roll back', async () => {
    const page = await client.read(TAB)
    for (const { id } of data.deployments) expect(page).toContain(`${TAB}/${id}`)
    expect(page).toContain('BUILD_FAILED')
    expect(page).toContain('Roll back')
    expect(page).toContain(`value="${data.revisions[0]!.id}" selected`)
    const failed = await client.read(`${TAB}?state=failed`)
    expect(failed).toContain(data.deployments[1]!.id)
    expect(failed).not.toContain(data.deployments[0]!.id)
    expect(await client.read(`${TAB}?state=queued`)).toContain('No deployments in this state')
  })

  test('says how to begin when there are none, and offers nothing to those who may not', async () => {
    data.deployments.length = 0
    expect(await client.read(TAB)).toContain('svc apps push shop --deploy')
    work(null)
    const page = await client.read(TAB)
    expect(page).not.toContain('Roll back')
    expect(page).not.toContain('name="revision"')
  })

  test('deploying and rolling back lead to the new deployment', async () => {
    const made = await client.post(TAB, { revision: data.revisions[1]!.id })
    expect(made.headers.get('location')).toBe(pathOf(0))
    expect(data.deployments[0]).toMatchObject({ state: 'queued', revision_id: data.revisions[1]!.id })
    const back = await client.post(`${TAB}/roll-back`, {})
    expect(back.headers.get('location')).toBe(pathOf(0))
    const refused = await client.post(TAB, { revision: 'rev_nothing' })
    expect(refused.headers.get('location')).toBe(TAB)
  })
})

describe('a deployment', () => {
  test('shows what it is, why it failed, and its output as text', async () => {
    data.output = '<script>alert(1)</script>\n'
    const page = await client.read(pathOf(1))
    expect(page).toContain('The deploy command ended with an error')
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page).not.toContain('data-live')
    expect(page).toContain('Deploy again')
  })

  test('of which more may come is followed from where the page ends', async () => {
    Object.assign(data.deployments[0]!, { state: 'running', ended_at: null })
    const page = await client.read(pathOf(0))
    expect(page).toContain(`data-live="${pathOf(0)}/output?after=${data.output.length}"`)
    expect(page).toContain('Cancel deployment')
    const more = await client.get(`${pathOf(0)}/output?after=0`)
    expect(await more.json()).toEqual({
      text: data.output,
      more: `${pathOf(0)}/output?after=${data.output.length}`,
      ended: false,
    })
    await client.post(`${pathOf(0)}/cancel`, {})
    expect(await client.read(pathOf(0))).toContain('Stopping')
  })

  test('whose runner was lost says that the next one waits, and lets people confirm', async () => {
    Object.assign(data.deployments[0]!, { state: 'failed', code: 'RUNNER_LOST', blocks_next: true })
    expect(await client.read(TAB)).toContain('was lost')
    expect(await client.read(pathOf(0))).toContain('Confirm that it has ended')
    await client.post(`${pathOf(0)}/confirm-ended`, {})
    expect(await client.read(pathOf(0))).not.toContain('Confirm that it has ended')
  })

  test('that succeeded within a day can be reported as broken', async () => {
    expect(await client.read(pathOf(0))).not.toContain('Report as broken')
    data.deployments[0]!.ended_at = client.gateway.appSource.daysAgo(0.5)
    expect(await client.read(pathOf(0))).toContain('Report as broken')
    await client.post(`${pathOf(0)}/broken`, {})
    expect(await client.read(pathOf(0))).toContain('ROLLOUT_FAILED')
  })

  test('has no actions and no output for viewers who do not work on the app', async () => {
    work(null)
    client.gateway.org.role = 'viewer'
    const page = await client.read(pathOf(0))
    expect(page).not.toContain('Deploy again')
    expect(page).not.toContain('Output of the command')
  })

  test('of another shape of id is not there', async () => {
    expect((await client.get(`${TAB}/nothing`)).status).toBe(404)
  })
})
