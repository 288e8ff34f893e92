/** The console of a process. */
import { createConsole } from '../console/app.ts'
import { createServiceApp } from '../http/service-app.ts'
import { asService, type Running } from './running.ts'
import type { Shared } from './shared.ts'
import { signInUrlOf } from './sign-in-settings.ts'
import { VERSION } from './version.ts'

export function buildConsole({ config, limits, observation, gateway, runs }: Shared): Running {
  const app = createConsole({
    ...observation,
    gateway,
    appUrl: config.APP_URL,
    apiUrl: config.API_URL,
    mcpUrl: config.MCP_URL,
    authUrl: config.AUTH_URL,
    authMode: config.AUTH_MODE,
    isAuthHere: runs('auth-service'),
    signInUrl: signInUrlOf(config),
    deliveryDays: limits.deliveryDays,
    version: VERSION,
  })
  return asService(createServiceApp('console', observation).route('/', app))
}
