/** `svc apps tokens create`: what a token is called where nobody says, and what is said where its scope is missing. */
import { expect, test } from 'vitest'
import { svcWith } from '../../../test/support/fake-api.ts'

const TOKEN = { id: 'apt_1', name: 'reporting', scope: 'apps:report', token: 'svca_secret' }
const create = (...options: string[]) =>
  svcWith({ createAppToken: TOKEN }, ['apps', 'tokens', 'create', 'shop', ...options], { cwd: '/' })

test.each([
  [['--scope', 'apps:report'], { name: 'reporting', scope: 'apps:report' }],
  [['--scope', 'apps:run'], { name: 'runner', scope: 'apps:run' }],
  [['--scope', 'apps:run', '--name', 'ci'], { name: 'ci', scope: 'apps:run' }],
])('%j', async (options, body) => {
  const { exit, out, err, sent } = await create(...options)
  expect([exit, sent.createAppToken!.body]).toEqual([0, body])
  expect(out).toMatch(/name: +reporting\nscope: +apps:report\ntoken: +svca_secret\n/)
  expect(err).toBe('Store the token now: it is not shown again.\n')
})

test('without a scope it says which there are, and makes nothing', async () => {
  const { exit, err, sent } = await create('--name', 'ci')
  expect([exit, sent]).toEqual([5, {}])
  expect(err).toContain('Missing option --scope')
  expect(err).toContain('Use apps:report for logs and workers, apps:run for a runner')
})
