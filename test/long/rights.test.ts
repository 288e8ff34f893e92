/** As test/walks/rights.test.ts, for everything that changes anything, with more inputs. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ABOUT_RIGHTS, CHANGING, makeRightsWorld, walkRights } from '../support/rights.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api' })
})
afterAll(() => system.stop())

test('every operation about rights, with more inputs', async () => {
  const world = await makeRightsWorld(system, ['admin', 'developer', 'viewer'])
  const problems: string[] = []
  const walked = await walkRights(system, world, ABOUT_RIGHTS, { seed: 28, each: 4 }, (each) =>
    problems.push(each),
  )
  expect(problems).toEqual([])
  expect(ABOUT_RIGHTS.length).toBeGreaterThan(25)
  expect(walked.done).toBeGreaterThan(ABOUT_RIGHTS.length)
  expect(Math.min(walked.took, walked.gave)).toBeGreaterThan(0)
}, 1_200_000)

test.each([1])(
  'every operation that changes something, with the inputs of seed %i',
  async (seed) => {
    const world = await makeRightsWorld(system)
    const problems: string[] = []
    const walked = await walkRights(system, world, CHANGING, { seed, each: 1 }, (each) => problems.push(each))
    expect(problems).toEqual([])
    expect(walked.took).toBeGreaterThan(0)
  },
  1_200_000,
)
