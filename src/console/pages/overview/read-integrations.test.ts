import { expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Call } from '../../../client/http-client.ts'
import { readIntegrations } from './read-integrations.ts'

const NEVER = { state: 'active', last_success_at: null, failing_since: null, last_failure: null }
const WORKING = {
  ...NEVER,
  last_success_at: '2026-11-18T00:00:00Z',
  last_24_hours: { sent: 1, failed: 0, unconfirmed: 0, retrying: 0, not_sent: 0 },
}

async function asked(answer: (days: number | undefined) => object[]) {
  const inputs: object[] = []
  const call = (async (_operation: unknown, input: { days?: number }) => {
    inputs.push(input)
    return { integrations: answer(input.days) }
  }) as unknown as Call
  return { integrations: await readIntegrations(call), inputs }
}

test('days before the last 24 hours are asked for only where one has never worked', async () => {
  expect((await asked(() => [WORKING])).inputs).toEqual([{ days: 2 }])
  expect((await asked(() => [WORKING, NEVER])).inputs).toEqual([{ days: 2 }, {}])
})

test('a gateway of the version before, which knows of no days, is asked as it was', async () => {
  const ofBefore = (days: number | undefined) => {
    if (days !== undefined) throw new ServiceError('INVALID_REQUEST')
    return [WORKING]
  }
  expect((await asked(ofBefore)).integrations).toEqual([WORKING])
  const away = () => {
    throw new ServiceError('UNAVAILABLE')
  }
  await expect(asked(away)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})
