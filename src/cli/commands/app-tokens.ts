/** `svc apps tokens …`. */
import type { Output } from '../../contracts/operations.ts'
import type { AppScope } from '../../contracts/scopes.ts'
import type { Run } from '../command.ts'
import { tableOf } from '../format-output.ts'
import { argument, textOption } from '../options.ts'
import { confirm } from '../prompt.ts'
import { readPages } from '../read-pages.ts'
import { usageError } from '../usage-error.ts'

type AppToken = Output<'listAppTokens'>['tokens'][number]

export const listAppTokens: Run = async (ctx, input) => {
  const found = await readPages(ctx, input, 'listAppTokens', 'tokens', { alias: argument(input, 'app') })
  ctx.print(found, table(found.tokens))
}

export const createAppToken: Run = async (ctx, input) => {
  const scope = textOption(input, 'scope') as AppScope | undefined
  if (scope === undefined) {
    throw usageError('Missing option --scope', 'Use apps:report for logs and workers, apps:run for a runner')
  }
  const created = await ctx.callOperation('createAppToken', {
    alias: argument(input, 'app'),
    name: textOption(input, 'name') ?? (scope === 'apps:run' ? 'runner' : 'reporting'),
    scope,
  })
  const { id, name, token } = created
  ctx.print(created, { fields: { id, name, scope, token } })
  ctx.info('Store the token now: it is not shown again.')
}

export const revokeAppToken: Run = async (ctx, input) => {
  const [alias, id] = [argument(input, 'app'), argument(input, 'token_id')]
  await confirm(ctx, input, `This revokes ${id}. Whatever uses it stops reporting.`)
  await ctx.callOperation('revokeAppToken', { alias, token_id: id })
  ctx.info(`Revoked ${id}`)
}

const table = (tokens: readonly AppToken[]) =>
  tableOf(tokens, {
    TOKEN: 'id',
    NAME: 'name',
    SCOPE: 'scope',
    'STARTS WITH': 'starts_with',
    'CREATED BY': 'created_by',
    'LAST USED': 'last_used_at',
  })
