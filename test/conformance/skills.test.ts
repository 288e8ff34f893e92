/** The official scenarios for skills over MCP (SEP-2640), against the product's own server and its own skills. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listen, type Listening } from '../../src/boot/listener.ts'
import { newAssistant, preRegistered } from '../support/assistant.ts'
import { proxyAdding, runSuite } from '../support/conformance-suite.ts'
import { makeOrganization } from '../support/make.ts'
import { freePort } from '../support/free-port.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let listening: Listening
let proxy: Server
let suiteUrl: string
beforeAll(async () => {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  system = await startSystem({ PORT: String(port), STOP_SECONDS: '0' })
  listening = await listen(system.system)
  const { owner } = await makeOrganization(system)
  const assistant = newAssistant({ ...system, origin }, await preRegistered(system))
  const { access } = await assistant.connect(owner, { resource: `${origin}/platform`, scope: 'data:read' })
  proxy = await proxyAdding(`Bearer ${access}`, new URL(origin))
  suiteUrl = `http://localhost:${(proxy.address() as AddressInfo).port}/platform`
})
afterAll(async () => {
  proxy?.closeAllConnections()
  proxy?.close()
  await listening?.stop()
  await system?.stop()
})

const SCENARIOS = ['enumeration', 'manifest', 'directory'].map((name) => `sep-2640-skills-${name}`)

test.each(SCENARIOS)('%s: every check passes, and none is skipped', async (scenario) => {
  const { code, output, found } = await runSuite(suiteUrl, ['--scenario', scenario])
  const checks = found.get(scenario) ?? []
  expect(checks.length).toBeGreaterThanOrEqual(6)
  expect(checks.filter(({ status }) => status !== 'SUCCESS')).toEqual([])
  expect(code, output).toBe(0)
})
