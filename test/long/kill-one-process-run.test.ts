/** The whole program in one process on the embedded database, killed in the midst of a maintenance run and started again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { MAINTENANCE_LEASE_SECONDS } from '../../src/contracts/limits.ts'
import { showMaintenanceUsage } from '../../src/contracts/maintenance.ts'
import { listOrganizations } from '../../src/contracts/organizations.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { freePort } from '../support/free-port.ts'
import { makeMaintainedApp, QUIET_LINES } from '../support/maintained-app.ts'
import { startModelServer, type ModelServer, type ScriptedTurn } from '../support/model-server.ts'
import { firstWordsIn, migratedFolder, processes } from '../support/process.ts'
import type { TestSystem } from '../support/system.ts'

const own = processes()
let provider: ModelServer | undefined
afterAll(async () => {
  await own.cleanUp()
  await provider?.stop()
})

/** Looks at everything, and then finishes: there are no errors that it would have to tell of. */
const looking = (messages: unknown): ScriptedTurn => ({
  calls: JSON.stringify(messages).includes('tool_call_id')
    ? [{ name: 'finish', arguments: { conclusion: 'nothing_found' } }]
    : [
        { name: 'log_groups', arguments: {} },
        { name: 'check_history', arguments: {} },
      ],
  tokens: [900, 100],
})

test('the run is an agent error, what was reserved is charged, and the next one is done', async () => {
  let isSilent = true
  provider = await startModelServer(({ body }) =>
    isSilent ? { fault: 'silence' } : looking(body['messages']),
  )
  const model = { wire: 'openai-chat', url: `${provider.origin}/v1`, max_output_tokens: 1_000 }
  const env = {
    // Without the sample, which costs seconds.
    SVC_ORG: 'Home',
    SVC_DATA_DIR: await migratedFolder(own),
    // The same at every start: tokens name the address at which they were given.
    PORT: String(await freePort()),
    MAINTENANCE_MODELS: JSON.stringify({ scripted: model }),
  }
  const killed = await own.start({ env })
  const { email, password } = await firstWordsIn(killed)
  const { token } = await killed.as()(signInWithPassword, { email, password })
  const [home] = (await killed.as({ token })(listOrganizations, {})).organizations
  const call = killed.as({ token, organization: home!.id })
  const app = await makeMaintainedApp({ clock: { now: () => new Date() } } as TestSystem, {
    lines: QUIET_LINES,
    org: { ...home!, owner: { userId: '', email, name: '', token, call } },
  })
  const lost = await app.start()
  while (provider.received.length === 0) await sleep(50)
  await killed.stop('SIGKILL')

  isSilent = false
  await own.start({ env })
  const today = async () => (await call(showMaintenanceUsage, { org_id: home!.id })).today
  const { reserved } = await today()
  expect(reserved).toBeGreaterThan(0)
  const ended = async (id: string) => {
    for (let left = 4 * (MAINTENANCE_LEASE_SECONDS + 60); left > 0; left--) {
      const run = await app.show(id)
      if (run.status === 'ended') return run
      await sleep(250)
    }
    throw new Error('the run did not end')
  }
  expect(await ended(lost)).toMatchObject({ terminal_code: 'lease_lost', reason: 'RUNNER_LOST' })
  expect(await today()).toMatchObject({ reserved: 0, spent: reserved })
  expect(await ended(await app.start())).toMatchObject({ terminal_code: 'found_nothing', tokens: 2_000 })
  expect(await today()).toMatchObject({ reserved: 0, spent: reserved + 2_000 })
}, 600_000)
