/** `svc agents …`: grants of connected assistants, their clients, and the switch for all of them. */
import type { Output } from '../../contracts/operations.ts'
import type { Scope } from '../../contracts/scopes.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { tableOf } from '../format-output.ts'
import { argument, isSet, listOption, textOption } from '../options.ts'
import { confirm } from '../prompt.ts'
import { readPages } from '../read-pages.ts'
import { usageError } from '../usage-error.ts'

type Grant = Output<'narrowGrant'>

export const listGrants: Run = async (ctx, input) => {
  const all = isSet(input, 'everyone') ? 'true' : undefined
  const client_id = textOption(input, 'client')
  const found = await readPages(ctx, input, 'listGrants', 'grants', { all, client_id })
  ctx.print(found, table(found.grants))
}

export const narrowGrant: Run = async (ctx, input) => {
  const narrowed = await ctx.callOperation('narrowGrant', {
    grant_id: argument(input, 'grant_id'),
    ...scopesAndSources(input),
  })
  ctx.print(narrowed, table([narrowed]))
}

export const revokeGrant: Run = async (ctx, input) => {
  const id = argument(input, 'grant_id')
  await confirm(ctx, input, `This revokes ${id}. Its assistant must be approved again to reconnect.`)
  await ctx.callOperation('revokeGrant', { grant_id: id })
  ctx.info(`Revoked ${id}`)
}

export const listOauthClients: Run = async (ctx, input) => {
  const found = await readPages(ctx, input, 'listOauthClients', 'oauth_clients', {})
  const view = tableOf(found.oauth_clients, {
    CLIENT: 'client_id',
    KIND: 'kind',
    HOST: 'host',
    NAME: 'name',
    GRANTS: 'live_grants',
    BLOCKED: 'blocked',
    'LAST USED': 'last_used_at',
  })
  ctx.print(found, view)
}

export const blockClient: Run = async (ctx, input) => {
  const id = argument(input, 'client_id')
  await confirm(ctx, input, `This blocks ${id} for all members of this organization.`)
  await ctx.callOperation('blockOauthClient', { client_id: id, blocked: true })
  ctx.info(`Blocked ${id}`)
}

export const unblockClient: Run = async (ctx, input) => {
  const id = argument(input, 'client_id')
  await ctx.callOperation('blockOauthClient', { client_id: id, blocked: false })
  ctx.info(`Unblocked ${id}. Grants that were revoked must be approved again.`)
}

export const switchAgentsOff: Run = async (ctx, input) => {
  await confirm(ctx, input, 'This turns off access for all assistants until you run `svc agents on`.')
  await switchAgents(ctx, false)
}

export const switchAgentsOn: Run = (ctx) => switchAgents(ctx, true)

async function switchAgents(ctx: CommandContext, enabled: boolean): Promise<void> {
  const { organization } = await ctx.callOperation('whoAmI', {})
  if (!organization) throw usageError('You are not a member of an organization', 'Ask an owner to invite you')
  const change = { org_id: organization.id, agents_enabled: enabled }
  const updated = await ctx.callOperation('updateOrganization', change)
  const fields = { organization: updated.name, assistants: updated.agents_enabled ? 'on' : 'off' }
  ctx.print(updated, { fields })
}

function scopesAndSources(input: CommandInput) {
  // The parser has checked them against their choices.
  const scopes = listOption(input, 'scope') as Scope[]
  const sources = [...listOption(input, 'source')]
  const none = isSet(input, 'no-sources')
  if (none && sources.length > 0)
    throw usageError('--no-sources conflicts with --source', 'Remove one of them')
  if (scopes.length === 0 && sources.length === 0 && !none) {
    throw usageError(
      'Nothing to narrow to',
      'Add --scope or --source for what the grant keeps, or --no-sources',
    )
  }
  return {
    ...(scopes.length > 0 && { scopes }),
    ...((sources.length > 0 || none) && { sources }),
  }
}

const table = (grants: readonly Grant[]) =>
  tableOf(grants, {
    GRANT: 'id',
    HOST: 'host',
    NAME: 'client_name',
    USER: ({ user }) => user.email ?? user.name,
    ENDPOINT: 'resource',
    SCOPES: ({ scopes }) => scopes.join(' '),
    SOURCES: ({ sources }) =>
      sources === null ? 'all' : sources.map(({ source_id }) => source_id).join(' ') || 'none',
    'LAST USED': 'last_used_at',
  })
