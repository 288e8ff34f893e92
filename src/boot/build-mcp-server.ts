/** The mcp-server of a process. */
import { createMcpServer } from '../../mcp/app.ts'
import { createServiceApp } from '../http/service-app.ts'
import { readPublishedSkills } from '../skills/read-published.ts'
import { accessTokens } from '../trust/access-token.ts'
import { asService, type Running } from './running.ts'
import type { Shared } from './shared.ts'
import { VERSION } from './version.ts'

export function buildMcpServer(shared: Shared): Running {
  const { config, observation } = shared
  const app = createMcpServer({
    ...observation,
    skills: readPublishedSkills(),
    auth: shared.auth,
    gateway: shared.gateway,
    mcpUrl: config.MCP_URL,
    appUrl: config.APP_URL,
    stepUp: config.MCP_STEP_UP,
    issuer: config.AUTH_URL,
    authMode: config.AUTH_MODE,
    enterpriseAuth: config.ENTERPRISE_AUTH,
    servedOrganizations: shared.servedOrganizations,
    // With hosted auth there is no such secret, and the MCP server verifies no such token.
    accessTokens: accessTokens(shared.secrets.JWT_SECRET ?? '', config.AUTH_URL.origin),
    actorAssertions: shared.assertions!,
    allowedOrigins: config.MCP_ALLOWED_ORIGINS,
    version: VERSION,
  })
  return asService(createServiceApp('mcp-server', observation).route('/', app))
}
