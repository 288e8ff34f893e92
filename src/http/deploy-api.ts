/** The deploy-api: apps, their members, tokens, logs, checks and tickets. The gateway relays to it. */
import { cors } from 'hono/cors'
import { httpClient } from '../client/http-client.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { Verbs } from '../contracts/operations.ts'
import { showServiceAccount } from '../contracts/workloads.ts'
import * as appTokens from '../cores/app-tokens/index.ts'
import type * as checks from '../cores/checks/index.ts'
import type { Storage } from '../cores/dependencies.ts'
import type { WithDirectory } from '../cores/directory/index.ts'
import type * as revisions from '../cores/revisions/index.ts'
import type * as logs from '../cores/logs/index.ts'
import type { AppEventDeps } from '../cores/notifications/index.ts'
import type * as maintenance from '../cores/maintenance/index.ts'
import type * as remotes from '../cores/remotes/index.ts'
import { mountAgentCalls, type AgentCallDeps } from './agent-calls.ts'
import type * as workloads from '../cores/workloads/index.ts'
import { readServiceAccountToken } from '../trust/service-account-token.ts'
import { bearerOfPrincipal, type Validate } from './authenticate.ts'
import { VERBS } from './deploy-verbs.ts'
import { mount } from './mount.ts'
import type { WithOldReads } from './old-reads.ts'
import { createServiceApp, type Observation, type ServiceApp } from './service-app.ts'
import { validateRemotely, withTrace, type ValidateDeps } from './validate-remotely.ts'

export type DeployDeps = Observation &
  WithOldReads &
  Storage &
  WithDirectory &
  ValidateDeps &
  revisions.WithSourceThread &
  revisions.SourceLimits &
  checks.ChecksDeps &
  maintenance.WithMaintenanceModels &
  AgentCallDeps &
  logs.LogDeps &
  logs.ReadDeps &
  remotes.RemoteDeps &
  remotes.WithGitHosts &
  Pick<AppEventDeps, 'appUrl' | 'appEventsPerDay'> &
  Pick<workloads.BindingDeps, 'workloadAudience'>

const DEPLOY_VERBS: Verbs<'deploy-api', DeployDeps & workloads.BindingDeps> = VERBS

export function createDeployApi(deps: DeployDeps): ServiceApp {
  const app = createServiceApp('deploy-api', deps)
  app.use('/api/*', cors({ origin: '*', exposeHeaders: ['x-request-id', 'retry-after'], maxAge: 600 }))
  mount(
    app,
    DEPLOY_VERBS,
    { ...deps, findServiceAccount: findServiceAccount(deps) },
    {
      validate: refusingWorkloads(deps, validateRemotely(deps)),
      validateAppToken: appTokens.validateAppToken({
        ...deps,
        servedOrganizations: deps.hosted?.servedOrganizations,
      }),
      operatorToken: undefined,
      oldReads: deps.oldReads,
    },
  )
  mountAgentCalls(app, deps)
  return app
}

/** In the name of whoever binds it: the auth-service checks their role itself. */
const findServiceAccount =
  (deps: DeployDeps): workloads.BindingDeps['findServiceAccount'] =>
  (principal, account) => {
    const { requestId, address, orgId } = principal
    const as = { token: bearerOfPrincipal(principal), organization: orgId ?? undefined, requestId, address }
    return httpClient(withTrace(deps, deps.auth), as)(showServiceAccount, account)
  }

/** contract, Authentication 9: tokens for any audience but ours, and all of them where SVC_WORKLOAD_AUDIENCE is empty. */
const refusingWorkloads =
  ({ workloadAudience }: DeployDeps, validate: Validate): Validate =>
  (presented) => {
    const claims = readServiceAccountToken(presented.token)
    const isForUs = !claims || (workloadAudience !== undefined && claims.audiences.includes(workloadAudience))
    return isForUs ? validate(presented) : Promise.reject(new ServiceError('UNAUTHENTICATED'))
  }
