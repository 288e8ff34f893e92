/** A service that was built, and what the process does with it. */
import type { NodeHandler } from '../../oauth/connector/connector-handler.ts'
import type { ConnectorDeps } from '../../oauth/connector/dependencies.ts'
import type { AuthDeps } from '../../oauth/dependencies.ts'
import type { Service } from '../client/service.ts'
import type { GatewayDeps } from '../http/gateway.ts'
import type { InProcessCalls } from '../http/in-process.ts'
import type { Managed } from './managed-databases.ts'

/** `nodeHandler`: for paths whose library needs Node's own request and response. */
export type Running = {
  readonly service?: Service
  readonly nodeHandler?: NodeHandler
  /** What it does by itself, begun once the port is open: a start must not wait for it. */
  readonly startJobs?: () => { stop(): Promise<void> }
  /** Of what does not keep it from being ready. */
  readonly warnings?: () => readonly string[]
  /** Of the api-gateway, for the sample. */
  readonly gateway?: GatewayDeps
  readonly managed?: Managed
  /** Of the auth service, for the first run. */
  readonly auth?: AuthDeps & ConnectorDeps
}

export const asService = (app: {
  fetch(request: Request): Response | Promise<Response>
  readonly inProcess?: InProcessCalls
}): Running => ({
  service: Object.assign(async (request: Request) => app.fetch(request), {
    callInProcess: app.inProcess?.call,
  }),
})
