/** `svc apps bind …`, `svc apps bindings …`, `svc apps bindings remove …`. */
import type { Output } from '../../contracts/operations.ts'
import type { Run } from '../command.ts'
import { tableOf } from '../format-output.ts'
import { argument, textOption } from '../options.ts'
import { confirm } from '../prompt.ts'
import { readPages } from '../read-pages.ts'
import { usageError } from '../usage-error.ts'

type Binding = Output<'listServiceAccounts'>['service_accounts'][number]

export const bindServiceAccount: Run = async (ctx, input) => {
  const [namespace, account] = [textOption(input, 'namespace'), textOption(input, 'service-account')]
  if (namespace === undefined || account === undefined) {
    const missing = namespace === undefined ? '--namespace' : '--service-account'
    throw usageError(
      `Missing option ${missing}`,
      'Name a service account: --namespace shop --service-account worker',
    )
  }
  const bound = await ctx.callOperation('bindServiceAccount', {
    alias: argument(input, 'app'),
    namespace,
    service_account: account,
  })
  const { id, uid } = bound
  ctx.print(bound, { fields: { id, namespace, service_account: account, uid } })
}

export const listServiceAccounts: Run = async (ctx, input) => {
  const found = await readPages(ctx, input, 'listServiceAccounts', 'service_accounts', {
    alias: argument(input, 'app'),
  })
  ctx.print(found, table(found.service_accounts))
}

export const unbindServiceAccount: Run = async (ctx, input) => {
  const [alias, id] = [argument(input, 'app'), argument(input, 'binding_id')]
  await confirm(ctx, input, `This removes ${id}. Its pods stop reporting.`)
  await ctx.callOperation('unbindServiceAccount', { alias, binding_id: id })
  ctx.info(`Removed ${id}`)
}

const table = (bindings: readonly Binding[]) =>
  tableOf(bindings, {
    BINDING: 'id',
    NAMESPACE: 'namespace',
    'SERVICE ACCOUNT': 'service_account',
    'BOUND BY': 'created_by',
    'LAST USED': 'last_used_at',
    PODS: ({ pods }) => pods.map(({ name }) => name).join(', '),
  })
