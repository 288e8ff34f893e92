/** What an installation says of itself: the same to every member of every organization, and nothing to anybody else. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { showInstallation } from '../../src/contracts/installation.ts'
import { VERSION } from '../../src/boot/version.ts'
import { makeApiToken, makeMember, makeOrganization } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
beforeAll(async () => {
  system = await startSystem({
    SVC_SERVICES: 'api-gateway,auth-service',
    APP_URL: 'https://app.example.com',
    MCP_URL: 'https://mcp.example.com',
  })
})
afterAll(() => system.stop())

test('its version and its addresses, as they are configured', async () => {
  const [org, other] = [await makeOrganization(system), await makeOrganization(system)]
  const viewer = await makeMember(system, org, 'viewer')
  const scoped = await makeApiToken(system, other, other.owner, { scopes: ['data:read'] })
  const told = {
    version: VERSION,
    api_url: system.system.config.API_URL.origin,
    console_url: 'https://app.example.com/console',
    mcp_url: 'https://mcp.example.com/platform',
  }
  for (const { token } of [org.owner, viewer, scoped]) {
    expect(await system.as({ token })(showInstallation, {})).toMatchObject(told)
  }
  // Never by the Host of a request.
  const forged = await system.fetch('/api/v1/installation', {
    headers: { authorization: `Bearer ${org.owner.token}`, 'x-forwarded-host': 'evil.test' },
  })
  expect(await forged.text()).not.toContain('evil.test')
  await expect(system.as()(showInstallation, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
})
