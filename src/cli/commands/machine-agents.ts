/** `svc agents machines …`: agents without a person, and how they prove themselves. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Output } from '../../contracts/operations.ts'
import type { GrantableRole } from '../../contracts/roles.ts'
import type { MachineAgentScope } from '../../contracts/scopes.ts'
import type { CommandContext } from '../command-context.ts'
import type { CommandInput, Run } from '../command.ts'
import { tableOf } from '../format-output.ts'
import { argument, listOption, textOption, timeOption } from '../options.ts'
import { confirm, readStdin } from '../prompt.ts'
import { readPages } from '../read-pages.ts'
import { usageError } from '../usage-error.ts'

type MachineAgent = Output<'showMachineAgent'>
type PublicKey = { kty: 'EC' | 'OKP' | 'RSA' } & Record<string, unknown>

export const listMachineAgents: Run = async (ctx, input) => {
  const search = textOption(input, 'search')
  const found = await readPages(ctx, input, 'listMachineAgents', 'machine_agents', { search })
  ctx.print(found, table(found.machine_agents))
}

export const createMachineAgent: Run = async (ctx, input) => {
  // The parser has checked them against their choices.
  const [scopes, sources] = [listOption(input, 'scope') as MachineAgentScope[], listOption(input, 'source')]
  const public_key = await publicKeyOf(ctx, input)
  const created = await ctx.callOperation('createMachineAgent', {
    name: argument(input, 'name'),
    role: textOption(input, 'role') as GrantableRole | undefined,
    owner_id: textOption(input, 'owner'),
    expires_at: timeOption(input, 'expires-at'),
    ...(scopes.length > 0 && { scopes }),
    ...(sources.length > 0 && { sources: [...sources] }),
    public_key,
  })
  const { id, name, client_id, secret, expires_at } = created
  ctx.print(created, { fields: { id, name, client_id, ...(secret && { secret }), expires_at } })
  if (secret !== null) ctx.info('Store the secret now: it is not shown again.')
}

export const showMachineAgent: Run = async (ctx, input) => {
  const shown = await ctx.callOperation('showMachineAgent', agentOf(input))
  const { id, name, client_id, role, current_role, state, grant_id, expires_at, last_used_at } = shown
  const fields = {
    id,
    name,
    client_id,
    state,
    role,
    current_role,
    owner: shown.owner.email,
    scopes: shown.scopes.join(' '),
    sources: sourcesOf(shown),
    grant_id,
    credentials: shown.credentials.map((one) => `${one.id} (${one.kind}, ${one.starts_with}…)`).join(', '),
    expires_at,
    last_used_at,
  }
  ctx.print(shown, { fields })
}

export const updateMachineAgent: Run = async (ctx, input) => {
  const changes = {
    name: textOption(input, 'name'),
    owner_id: textOption(input, 'owner'),
    expires_at: timeOption(input, 'expires-at'),
  }
  if (Object.values(changes).every((value) => value === undefined))
    throw usageError('Nothing to change', 'Add --name, --owner or --expires-at')
  const updated = await ctx.callOperation('updateMachineAgent', { ...agentOf(input), ...changes })
  ctx.print(updated, table([updated]))
}

export const addMachineAgentCredential: Run = async (ctx, input) => {
  const public_key = await publicKeyOf(ctx, input)
  const added = await ctx.callOperation('addMachineAgentCredential', { ...agentOf(input), public_key })
  const { id, kind, secret } = added
  ctx.print(added, { fields: { id, kind, ...(secret && { secret }) } })
  if (secret !== null) ctx.info('Store the secret now: it is not shown again.')
}

export const revokeMachineAgentCredential: Run = async (ctx, input) => {
  const credential_id = argument(input, 'credential_id')
  await confirm(
    ctx,
    input,
    `This revokes ${credential_id}, and all tokens of the agent. With another credential it gets new ones.`,
  )
  await ctx.callOperation('revokeMachineAgentCredential', { ...agentOf(input), credential_id })
  ctx.info(`Revoked ${credential_id}`)
}

export const removeMachineAgent: Run = async (ctx, input) => {
  const { machine_agent_id } = agentOf(input)
  await confirm(ctx, input, `This removes ${machine_agent_id}. It loses access on its next call.`)
  await ctx.callOperation('removeMachineAgent', { machine_agent_id })
  ctx.info(`Removed ${machine_agent_id}`)
}

const agentOf = (input: CommandInput) => ({ machine_agent_id: argument(input, 'machine_agent_id') })

/** A file with the JWK, or `-` for stdin; the server checks what is in it. */
async function publicKeyOf(ctx: CommandContext, input: CommandInput): Promise<PublicKey | undefined> {
  const file = textOption(input, 'public-key')
  if (file === undefined) return undefined
  const text = file === '-' ? await readStdin(ctx, 'the public key') : readText(ctx, file)
  try {
    const key: unknown = JSON.parse(text)
    if (typeof key === 'object' && key !== null && !Array.isArray(key)) return key as PublicKey
  } catch {
    // Falls through to the same error.
  }
  throw usageError('The public key is not a JSON object', 'It must be a public key as JWK')
}

function readText({ environment }: CommandContext, file: string): string {
  try {
    return readFileSync(resolve(environment.cwd, file), 'utf8')
  } catch {
    throw usageError(`Cannot read ${file}`, 'Use - to read it from stdin')
  }
}

const sourcesOf = ({ sources }: MachineAgent): string =>
  sources === null ? 'all' : sources.map(({ source_id }) => source_id).join(' ') || 'none'

const table = (agents: readonly MachineAgent[]) =>
  tableOf(agents, {
    AGENT: 'id',
    NAME: 'name',
    STATE: 'state',
    ROLE: 'role',
    OWNER: ({ owner }) => owner.email,
    SCOPES: ({ scopes }) => scopes.join(' '),
    SOURCES: sourcesOf,
    EXPIRES: 'expires_at',
    'LAST USED': 'last_used_at',
  })
