/** Workload identity: service accounts of the cluster whose pods report about an app, without a stored token. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { field } from './field.ts'
import { Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { creating, reading, removing } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

/** RFC 1123, as the cluster names things. */
const Namespace = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be up to 63 of a-z, 0-9 and -')
const ServiceAccountName = z
  .string()
  .max(253)
  .regex(
    /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/,
    'must be up to 253 of a-z, 0-9, - and .',
  )
const missing = { hint: 'Name a service account: --namespace shop --service-account worker' }
const account = {
  namespace: field(Namespace, {
    maxLength: 63,
    client: { value: 'name', summary: 'Namespace of the service account', missing },
  }),
  service_account: field(ServiceAccountName, {
    client: { value: 'name', summary: 'Name of the service account', missing },
  }),
}

const Binding = z.object({
  id: z.string(),
  namespace: z.string(),
  service_account: z.string(),
  uid: z.string().describe('Of the service account: another one of the same name is not bound.'),
  created_by: z.string().describe('Name of whoever bound it.'),
  created_at: Time,
  last_used_at: Time.nullable(),
  pods: z
    .array(z.object({ name: z.string(), first_seen_at: Time, last_seen_at: Time }))
    .describe('The pods that came in by it, newest first.'),
})

/** Closed to support staff: what is bound outlasts their session. */
const workloads = { service: 'deploy-api', errors: ['NOT_FOUND'], closedToSupport: true } as const

export const bindServiceAccount = creating({
  ...workloads,
  name: 'bindServiceAccount',
  summary: 'Bind a service account of the cluster to an app: its pods may then report about it.',
  input: z.object({ ...appAlias, ...account }),
  output: Binding,
  access: 'admin',
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED', 'CLUSTER_UNAVAILABLE'],
  closedToCliSessions: true,
  command: {
    path: 'apps bind',
    summary: 'Let pods of a service account report about an app, without a token',
    fields: 'id, namespace, service_account, uid',
    examples: ['svc apps bind billing --namespace billing --service-account worker'],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/service-accounts', success: 201 },
})

export const listServiceAccounts = reading({
  ...workloads,
  name: 'listServiceAccounts',
  summary: 'List the service accounts that are bound to an app, and the pods that came in by them.',
  input: z.object({ ...appAlias, ...pageInput }),
  output: z.object({
    audience: z
      .string()
      .nullable()
      .describe('What the projected token of a pod must be for; null: workload identity is off.'),
    service_accounts: z.array(Binding),
    ...pageOutput,
  }),
  access: 'viewer',
  command: {
    path: 'apps bindings',
    summary: 'List the service accounts of an app, and the pods that came in by them',
    table: 'BINDING=id, namespace, service_account, BOUND BY=created_by, last_used_at, pods.name:list',
    examples: ['svc apps bindings billing'],
  },
  http: { method: 'get', path: '/api/deploy/apps/{alias}/service-accounts' },
})

export const unbindServiceAccount = removing({
  ...workloads,
  name: 'unbindServiceAccount',
  summary: 'Remove a service account from an app. Its pods are refused from the next call on.',
  input: z.object({ ...appAlias, binding_id: Id('wlb') }),
  output: Nothing,
  access: 'admin',
  command: {
    path: 'apps bindings remove',
    summary: 'Remove a service account from an app',
    confirm: 'This removes {binding_id}. Its pods stop reporting.',
    done: 'Removed {binding_id}',
    examples: ['svc apps bindings remove billing wlb_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'delete', path: '/api/deploy/apps/{alias}/service-accounts/{binding_id}', success: 204 },
})

/** The deploy-api asks it for whoever binds: only the auth-service may ask the cluster. */
export const showServiceAccount = reading({
  name: 'showServiceAccount',
  summary: 'Retrieve a service account of the cluster that your organization may bind to its apps.',
  service: 'auth-service',
  input: z.object(account),
  output: z.object({ ...account, uid: z.string() }),
  access: 'admin',
  errors: ['NOT_FOUND', 'CONFLICT', 'RATE_LIMITED', 'CLUSTER_UNAVAILABLE'],
  closedToSupport: true,
  http: { method: 'get', path: '/api/v1/service-accounts/{namespace}/{service_account}' },
})
