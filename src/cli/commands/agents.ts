/** `svc agents …`: the assistants that people connected, and how they are narrowed, ended and kept out. */
import { confirm } from '../ask-person.ts'
import type { Call, Run } from '../command.ts'
import type { Operations } from '../requests.ts'
import type * as z from 'zod'
import { argument, isSet, listOption, textOption } from '../options.ts'
import { readPages } from '../read-pages.ts'
import { usage } from '../usage.ts'
import type { World } from '../world.ts'

type Grant = z.output<Operations['grants.narrow']['output']>
type ScopeName = NonNullable<z.input<Operations['grants.narrow']['input']>['scopes']>[number]

export const listAgents: Run = async (world, call) => {
  const all = isSet(call, 'everyone') ? 'true' : undefined
  const client_id = textOption(call, 'client')
  const found = await readPages(world, call, 'grants', (page) =>
    world.ask('grants.list', { ...page, all, client_id }),
  )
  world.print(found, table(found.grants))
}

export const narrowAgent: Run = async (world, call) => {
  const narrowed = await world.ask('grants.narrow', {
    grant_id: argument(call, 'grant_id'),
    ...whatIsKept(call),
  })
  world.print(narrowed, table([narrowed]))
}

export const revokeAgent: Run = async (world, call) => {
  const id = argument(call, 'grant_id')
  await confirm(world, call, `The assistant with ${id} is disconnected and has to be approved anew.`)
  await world.ask('grants.revoke', { grant_id: id })
  world.say(`Disconnected ${id}`)
}

export const listClients: Run = async (world, call) => {
  const found = await readPages(world, call, 'oauth_clients', (page) => world.ask('oauthClients.list', page))
  world.print(found, {
    columns: ['CLIENT', 'KIND', 'HOST', 'NAME', 'CONNECTIONS', 'BLOCKED', 'LAST USED'],
    rows: found.oauth_clients.map((client) => [
      client.client_id,
      client.kind,
      client.host,
      client.name,
      client.live_grants,
      client.blocked ? 'yes' : 'no',
      client.last_used_at,
    ]),
  })
}

export const blockClient: Run = async (world, call) => {
  const id = argument(call, 'client_id')
  await confirm(world, call, `${id} loses its way into this organization, for everybody in it.`)
  await world.ask('oauthClients.block', { client_id: id, blocked: true })
  world.say('Blocked')
}

export const unblockClient: Run = async (world, call) => {
  await world.ask('oauthClients.block', { client_id: argument(call, 'client_id'), blocked: false })
  world.say('Let in again; whoever used it has to approve it anew if its connections ended')
}

export const switchAgentsOff: Run = async (world, call) => {
  await confirm(world, call, 'No assistant gets into this organization until `svc agents on`.')
  await switchAgents(world, false)
}

export const switchAgentsOn: Run = (world) => switchAgents(world, true)

async function switchAgents(world: World, enabled: boolean): Promise<void> {
  const { organization } = await world.ask('me.show', {})
  if (!organization) throw usage('You do not belong to an organization', 'Ask an owner to invite you')
  const now = await world.ask('organizations.update', { org_id: organization.id, agents_enabled: enabled })
  world.print(now, { fields: { organization: now.name, assistants: now.agents_enabled ? 'on' : 'off' } })
}

function whatIsKept(call: Call) {
  // The server checks the names, and says which there are.
  const scopes = listOption(call, 'scope') as ScopeName[]
  const sources = [...listOption(call, 'source')]
  const none = isSet(call, 'no-sources')
  if (none && sources.length > 0) throw usage('--no-sources contradicts --source', 'Leave one of them out')
  if (scopes.length === 0 && sources.length === 0 && !none) {
    throw usage(
      'Nothing says what the assistant keeps',
      'Add --scope or --source for everything it keeps, or --no-sources',
    )
  }
  return {
    ...(scopes.length > 0 && { scopes }),
    ...((sources.length > 0 || none) && { sources }),
  }
}

const table = (grants: readonly Grant[]) => ({
  columns: ['GRANT', 'HOST', 'NAME', 'PERSON', 'ENDPOINT', 'SCOPES', 'SOURCES', 'LAST USED'],
  rows: grants.map((grant) => [
    grant.id,
    grant.host,
    grant.client_name,
    grant.user.email,
    grant.resource,
    grant.scopes.join(' '),
    grant.sources === null ? 'all' : grant.sources.map(({ source_id }) => source_id).join(' ') || 'none',
    grant.last_used_at,
  ]),
})
